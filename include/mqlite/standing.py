"""A message becomes a row of a local queue, in the caller's transaction. Nothing here knows of names or triggers.

`placing` puts by name and sees to triggering; `put` is the application's own put.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mqlite import descriptor as d
from mqlite import sql
from mqlite.events import message_available
from mqlite.failure import Failure
from mqlite.objects import Attributes
from mqlite.store import Store
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.connection import Connection

ZERO_24 = bytes(24)
LOWEST = 9  # rank of priority 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A message that now stands on a queue: the queue's number and name, the message's number if it is known.

    Attributes: `stays` even if its unit of work is backed out (T10a); `caused` the trigger messages it has caused.
    """

    queue: int
    name: str
    persistent: bool
    seq: int = 0
    stays: bool = False
    caused: tuple[Placed, ...] = ()

    def announce(self, connection: Connection, *, syncpoint: bool) -> None:
        """After the transaction: part of the unit of work, or there for everybody."""
        if not syncpoint:
            message_available(connection, self.name)
        elif self.stays:
            connection.unit.keep(self.queue, self.name)
        else:
            connection.unit.enter(self.queue, self.name, puts=1, persistent=self.persistent)
        for message in self.caused:
            message.announce(connection, syncpoint=syncpoint)


def rank_of(local: Attributes, priority: int) -> int:
    """Where a message of this priority stands on a queue; with MSGDLVSQ(FIFO) that is the queue's default (T14)."""
    if local["MSGDLVSQ"] == c.MQMDS_FIFO:
        priority = int(str(local["DEFPRTY"]))
    return LOWEST - priority


def row_of(
    queue: int, local: Attributes, md: bytes | bytearray, body: bytes, *, owner: int, state: int = sql.PUT_IN_UNIT
) -> tuple[Any, ...]:
    """The values of `sql.PUT`. CAPEXPRY caps what the putter asked for.

    Parameters: `owner` the connection in whose unit of work it is put, 0 for none; `state` it then has.
    """
    _, _, expiry, _, _, _, priority, persistent, msg_id, correl_id, group_id, sequence, offset, _ = d.for_put(md)
    now = int(time.time() * 10)
    cap = local.get("CAPEXPRY", -1)
    if isinstance(cap, int) and cap > 0 and (expiry == c.MQEI_UNLIMITED or expiry > cap):
        expiry = cap
    return (
        queue,
        state if owner else 0,
        rank_of(local, priority),
        owner,
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


def stand(store: Store, name: str, local: Attributes, row: tuple[Any, ...]) -> int:
    """Store a row where the queue has a place for it; returns the message's number.

    Raises Failure (MQRC_MSG_TOO_BIG_FOR_Q, MQRC_Q_FULL).
    """
    if len(row[13]) > int(str(local["MAXMSGL"])):
        raise Failure(c.MQRC_MSG_TOO_BIG_FOR_Q, name)
    if not store.execute(sql.RAISE_DEPTH_BELOW, (row[0], local["MAXDEPTH"])).rowcount:
        raise Failure(c.MQRC_Q_FULL, name)
    return int(store.execute(sql.PUT, row).lastrowid or 0)
