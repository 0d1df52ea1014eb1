"""A message becomes a row of a local queue, in the caller's transaction. Nothing here knows of names or triggers.

`mqlite.reports.internal_put` puts by name and does the triggering; `mqlite.calls.put` is the application's own put.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mqlite.attributes import custom_cap
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.objects.definitions import Attributes
from mqlite.storage import sql
from mqlite.storage.rows import NewMessage
from mqlite.storage.store import Store
from mqwire import constants as c

ZERO_24 = bytes(24)
HIGHEST = 9  # priority: MaxPriority of the queue manager
LOWEST = HIGHEST  # rank of priority 0


@dataclass(slots=True, kw_only=True)  # not frozen, which costs a microsecond for each message
class QueuedMessage:
    """A message that now stands on a queue: the queue's number and name, the message's number if it is known.

    Attributes: `rows` how many rows it is, as segments; `stays` even if its unit of work is backed out (T10a); `caused`
    the messages that came with it: a report, a trigger message.
    """

    queue: int
    name: str
    persistent: bool
    seq: int = 0
    rows: int = 1
    stays: bool = False
    caused: tuple[QueuedMessage, ...] = ()


def numbers(message: QueuedMessage) -> Iterator[int]:
    """The numbers of a message and of all that it has caused."""
    yield message.seq
    for caused in message.caused:
        yield from numbers(caused)


def rank_of(local: Attributes, priority: int) -> int:
    """Where a message of this priority stands on a queue; with MSGDLVSQ(FIFO) that is the queue's default (T14)."""
    if local["MSGDLVSQ"] == c.MQMDS_FIFO:
        priority = int(str(local["DEFPRTY"]))
    return LOWEST - min(priority, HIGHEST)


def cap_of(definitions: Iterable[Attributes]) -> int:
    """The lowest CAPEXPRY of the definitions on the way to a queue, in tenths of a second; 0 for none.

    It is the attribute of that name, or stands in CUSTOM (IBM MQ, "CAPEXPRY: Limit message expiry time").
    """
    caps = []
    for definition in definitions:
        caps.append(int(str(definition.get("CAPEXPRY", -1))))
        caps.append(custom_cap(str(definition.get("CUSTOM", ""))) or 0)
    return min((cap for cap in caps if cap > 0), default=0)


def cap_expiry(md: bytearray, cap: int) -> None:
    """No longer than that, where there is a cap."""
    if cap and not 0 < d.expiry_of(md) <= cap:
        d.set_expiry(md, cap)


def row_of(
    queue: int, local: Attributes, md: bytes | bytearray, body: bytes, *, owner: int, state: int = sql.PUT_IN_UNIT
) -> NewMessage:
    """A message as it is to be stored.

    Parameters: `owner` the connection in whose unit of work it is put, 0 for none; `state` it then has.
    """
    _, _, expiry, _, _, _, priority, persistent, msg_id, correl_id, group_id, sequence, offset, _ = d.for_put(md)
    now = int(time.time() * 10)
    return NewMessage(
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


def add_message(store: Store, name: str, local: Attributes, row: NewMessage) -> int:
    """Store a row where the queue has a place for it; returns the message's number.

    Raises Failure (MQRC_MSG_TOO_BIG_FOR_Q, MQRC_Q_FULL).
    """
    if len(row.body) > int(str(local["MAXMSGL"])):
        raise Failure(c.MQRC_MSG_TOO_BIG_FOR_Q, name)
    if not store.execute(sql.RAISE_DEPTH_BELOW, (1, row.queue, local["MAXDEPTH"])).rowcount:
        raise Failure(c.MQRC_Q_FULL, name)
    return int(store.execute(sql.PUT, row).lastrowid or 0)
