"""A message becomes a row: what a put, a report and a dead letter have in common. All within the caller's transaction.

On the way to another queue manager it is wrapped for its channel first.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from mqlite import descriptor as d
from mqlite import sql
from mqlite.attributes import Kind
from mqlite.connection import Connection
from mqlite.events import message_available
from mqlite.failure import Failure
from mqlite.objects import Attributes
from mqlite.resolve import resolve
from mqlite.transmission import transmit
from mqlite.unit_of_work import enter
from mqwire import constants as c

ZERO_24 = bytes(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A message that now stands on a queue: the queue's number and name, the message's number if it is known."""

    queue: int
    name: str
    persistent: bool
    seq: int = 0

    def announce(self, connection: Connection, *, syncpoint: bool) -> None:
        """After the transaction: part of the unit of work, or there for everybody."""
        if syncpoint:
            enter(connection, self.queue, self.name, puts=1, persistent=self.persistent)
        else:
            message_available(connection, self.name)


def row_of(
    connection: Connection, queue: int, local: Attributes, md: bytes | bytearray, body: bytes, *, syncpoint: bool
) -> tuple[object, ...]:
    """The values of `sql.PUT`. CAPEXPRY caps what the putter asked for."""
    _, _, expiry, _, _, _, priority, persistent, msg_id, correl_id, group_id, sequence, offset, _ = d.for_put(md)
    now = int(time.time() * 10)
    rank = 0 if local["MSGDLVSQ"] == c.MQMDS_FIFO else 9 - priority
    cap = local.get("CAPEXPRY", -1)
    if isinstance(cap, int) and cap > 0 and (expiry == c.MQEI_UNLIMITED or expiry > cap):
        expiry = cap
    return (
        queue,
        1 if syncpoint else 0,
        rank,
        connection.id if syncpoint else 0,
        sql.NEVER if expiry == c.MQEI_UNLIMITED else now + expiry,
        persistent,
        msg_id,
        correl_id if correl_id != ZERO_24 else None,
        group_id if group_id != ZERO_24 else None,
        sequence,
        offset,
        now,
        bytes(md),
        body,
    )


def place(
    connection: Connection, queue: str, queue_manager: str, md: bytearray, body: bytes, *, syncpoint: bool = False
) -> Placed:
    """Put what the queue manager itself has made (a report, a dead letter) on a queue, by name.

    Raises Failure with the reason why it cannot stand there.
    """
    resolved = resolve(connection.objects, connection.manager.name, queue, queue_manager)
    name = resolved.queue
    row = connection.store.one(sql.QUEUE, (name,))
    local = connection.objects.get(Kind.QLOCAL, name)
    if row is None or row[5] or local is None:
        raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, name)
    definitions = (local, resolved.attributes, *resolved.through)
    if any(definition.get("PUT") == c.MQQA_PUT_INHIBITED for definition in definitions):
        raise Failure(c.MQRC_PUT_INHIBITED, name)
    if resolved.remote_queue_manager:
        md, body = transmit(connection, resolved, md, body, msg_id=connection.new_msg_id())
    if len(body) > int(str(local["MAXMSGL"])):
        raise Failure(c.MQRC_MSG_TOO_BIG_FOR_Q, name)
    if not connection.store.execute(sql.RAISE_DEPTH_BELOW, (row[0], local["MAXDEPTH"])).rowcount:
        raise Failure(c.MQRC_Q_FULL, name)
    values = row_of(connection, row[0], local, md, body, syncpoint=syncpoint)
    seq = connection.store.execute(sql.PUT, values).lastrowid or 0
    return Placed(queue=row[0], name=name, persistent=bool(values[5]), seq=seq)
