"""Expired messages are discarded, when a get or a scan finds them (E03-E07, E13, E16)."""

from __future__ import annotations

import time

from mqlite.connections.connection import Connection
from mqlite.messages import descriptor as d
from mqlite.messages.transmission import BEGINNING, EMBEDDED, XQH_LENGTH
from mqlite.reports.reports import report_expiration
from mqlite.storage import sql
from mqlite.storage.rows import ExpiredMessage
from mqwire.structures import MQMD

INNER = EMBEDDED + MQMD.LAYOUT.offset("Expiry")


def inner_counted_down(md: bytearray, body: bytes, stored: int) -> bytes:
    """The data of a message for transmission with the Expiry in its MQXQH counted down as well (E13).

    Parameters: `stored` when the message was put, tenths of a second since 1970. Data that do not begin with an MQXQH
    stay as they are, whatever Format says: on any other queue than a transmission queue nobody looks at them.
    """
    if not d.is_transmitted(md) or len(body) < XQH_LENGTH or body[:8] != BEGINNING:
        return body
    inner = int.from_bytes(body[INNER : INNER + 4], "little", signed=True)
    if inner <= 0:
        return body
    left = max(0, inner - int(time.time() * 10 - stored))
    return body[:INNER] + left.to_bytes(4, "little", signed=True) + body[INNER + 4 :]


def discard_expired(connection: Connection, seq: int) -> bool:
    """Discard one expired message, with its report; False where it is gone already.

    Never part of a unit of work (E07). A message that somebody holds is left alone.
    """
    store = connection.store
    with store.write():
        row = store.row(ExpiredMessage, sql.STILL_EXPIRED, (seq, int(time.time() * 10)))
        if row is None:
            return False
        store.execute(sql.DELETE, (seq,))
        store.execute(sql.CHANGE_DEPTH, (-1, row.queue))
        placed = report_expiration(connection, row.md, row.body)
    if placed is not None:
        connection.announce(placed, syncpoint=False)
    return True
