"""Browsing: the cursor of a handle, the message it is on, the lock it may hold.

1. A cursor moves when a message was returned, truncated by consent or not; it stays where the call failed or the buffer
   was too small (2080).
2. A lock makes a message invisible to all other handles. The next browse of the handle that finds a message or the end
   of the queue releases it; so do MQGMO_UNLOCK, MQCLOSE and taking the message.
3. What is under the cursor is found there whatever the match options say.
4. A message is marked as it is returned (`marks`); where it was not returned, its marks stay as they were.
5. A scan is in logical or in physical order as it was begun; MQGMO_BROWSE_FIRST begins another one.
6. The attributes of the queue are those of the moment in which the message is found: both come by one statement.
"""

from __future__ import annotations

import time
from typing import Any

from mqlite.calls import marks
from mqlite.calls.grouping import follow
from mqlite.calls.opening import Cursor, OpenObject
from mqlite.calls.retrieval import GetRequest, GetResult, check_gets, returned, statement
from mqlite.connections.connection import Connection
from mqlite.expiry.discard import discard_expired
from mqlite.failure import Failure
from mqlite.platform import Platform
from mqlite.storage import sql
from mqlite.storage.rows import FoundMessage
from mqwire import constants as c


def browse(connection: Connection, opened: OpenObject, request: GetRequest) -> GetResult | None:
    """Return the message that the browse options name and move the cursor to it; None if there is none.

    Raises Failure (MQRC_GET_INHIBITED, MQRC_INCONSISTENT_BROWSE, MQRC_MSG_MARKED_BROWSE_CO_OP ...).
    """
    if request.options & c.MQGMO_BROWSE_MSG_UNDER_CURSOR:
        return look_again(connection, opened, request)
    logical = bool(request.options & c.MQGMO_LOGICAL_ORDER)
    if request.options & c.MQGMO_BROWSE_FIRST:
        opened.browsing.move(b"", 1, 0)
    else:
        check_order(connection, opened.cursor, logical=logical)
    in_group = logical and opened.browsing.group  # its next message may be anywhere on the queue
    start = Cursor() if request.options & c.MQGMO_BROWSE_FIRST or in_group else opened.cursor
    if opened.cursor.locked or request.options & marks.OPTIONS:
        check_gets(connection, opened)  # a call that is refused releases nothing; MARKINT ends marks
    text, values = marks.unmarked(connection, opened, request.options, *statement(connection, opened, request))
    locked, opened.cursor.locked = opened.cursor.locked, 0
    release(connection, locked)  # a lock of this handle must not hide the message from its own search
    while True:
        row = following(connection, text, values, start)
        check_gets(connection, opened, row)
        if row is None:
            if request.options & c.MQGMO_BROWSE_FIRST:
                opened.cursor = Cursor()
            return None
        if row.expires <= time.time() * 10:
            discard_expired(connection, row.seq)
            continue
        got = returned(connection, opened, request, row)
        if got.reason == c.MQRC_TRUNCATED_MSG_FAILED:
            return got
        if request.options & c.MQGMO_LOCK and not lock(connection, opened, row.seq):
            continue
        if request.options & marks.CHANGES and not marks.change(connection, opened, row.seq, request.options):
            continue
        opened.cursor.rank, opened.cursor.seq, opened.cursor.logical = row.rank, row.seq, logical
        got.warn(follow(connection, opened.browsing, row.md, len(row.body), logical=logical, syncpoint=False))
        return got


def check_order(connection: Connection, cursor: Cursor, *, logical: bool) -> None:
    """The next browse is in logical order if and only if the one before it was; z/OS does not ask for that (IBM MQ,
    "2259 MQRC_INCONSISTENT_BROWSE").

    Raises Failure (MQRC_INCONSISTENT_BROWSE).
    """
    if connection.manager.platform != Platform.ZOS and cursor.logical not in (None, logical):
        raise Failure(c.MQRC_INCONSISTENT_BROWSE)


def following(connection: Connection, text: str, values: list[Any], start: Cursor) -> FoundMessage | None:
    """The first row of a search behind a cursor, in the order of delivery, or None."""
    row = connection.store.row(FoundMessage, text + sql.AFTER_IN_RANK + sql.IN_ORDER, [*values, start.rank, start.seq])
    return row or connection.store.row(FoundMessage, text + sql.IN_LATER_RANK + sql.IN_ORDER, [*values, start.rank])


def look_again(connection: Connection, opened: OpenObject, request: GetRequest) -> GetResult | None:
    """The message under the cursor once more, if it is still there for this handle."""
    cursor = opened.cursor
    check_gets(connection, opened)
    row = under_cursor(connection, opened)
    if row is None or marks.is_marked(connection, opened, row.seq, request.options):
        return None
    if row.expires <= time.time() * 10:
        unlock(connection, opened)
        discard_expired(connection, row.seq)
        return None
    got = returned(connection, opened, request, row)
    if request.options & c.MQGMO_LOCK and cursor.locked != cursor.seq and not lock(connection, opened, row.seq):
        return None
    if got.reason == c.MQRC_TRUNCATED_MSG_FAILED or not request.options & marks.CHANGES:
        return got
    return got if marks.change(connection, opened, row.seq, request.options) else None


def under_cursor(connection: Connection, opened: OpenObject) -> FoundMessage | None:
    """The row that the cursor is on, None where it is gone, taken, or locked by another handle."""
    cursor = opened.cursor
    if not cursor.seq:
        return None
    row = connection.store.row(FoundMessage, sql.UNDER_CURSOR, (cursor.seq, opened.queue))
    if row is None or row.state not in (sql.AVAILABLE, sql.LOCKED):
        return None
    return row if row.state == sql.AVAILABLE or cursor.locked == cursor.seq else None


def lock(connection: Connection, opened: OpenObject, seq: int) -> bool:
    """Lock an available message for this handle; False if another handle locked or got it first."""
    with connection.store.write():
        if not connection.store.execute(sql.LOCK, (connection.id, seq)).rowcount:
            return False
    opened.cursor.locked = seq
    return True


def release(connection: Connection, locked: int) -> None:
    """Make a message that was locked visible again."""
    if locked:
        with connection.store.write():
            connection.store.execute(sql.UNLOCK, (locked, connection.id))


def unlock(connection: Connection, opened: OpenObject) -> None:
    """MQGMO_UNLOCK."""
    release(connection, opened.cursor.locked)
    opened.cursor.locked = 0


def unlock_asked(connection: Connection, opened: OpenObject) -> None:
    """MQGMO_UNLOCK where an application asks for it. Raises Failure (MQRC_NO_MSG_LOCKED, a warning)."""
    if not opened.cursor.locked:
        raise Failure(c.MQRC_NO_MSG_LOCKED, comp=c.MQCC_WARNING)
    unlock(connection, opened)
