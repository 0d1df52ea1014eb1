"""MQGET: find the message, browse or take it, wait for it. Expired messages met on the way are discarded (E03, E04).

1. A browse takes no message. It writes only to lock or mark one, and to discard expired ones. A destructive get is one
   transaction.
2. What was got in a unit of work stays as a hidden row until the unit ends.
3. A message too long for the buffer stays where it is (2080) unless truncation was accepted (2079).
4. A waiting get looks again when a process has written to the store, or has ended. A waiting browse of unmarked
   messages also looks again from time to time, because marks end by themselves (MARKINT).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

from mqlite.calls import browse as browsing
from mqlite.calls import marks
from mqlite.calls.grouping import check_same_unit, follow
from mqlite.calls.opening import INPUT, OpenObject
from mqlite.calls.retrieval import (
    BROWSES,
    PROPERTIES,
    GetRequest,
    GetResult,
    check_gets,
    check_match,
    returned,
    statement,
    with_rest,
)
from mqlite.connections.connection import Connection, MarkedGet
from mqlite.expiry.discard import discard_expired
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages import events
from mqlite.messages.message_rows import QueuedMessage, numbers
from mqlite.platform import Platform
from mqlite.reports.reports import confirm_delivery
from mqlite.storage import sql
from mqlite.storage.rows import FoundMessage
from mqwire import constants as c

__all__ = ["GetRequest", "GetResult", "get"]

UNDER_CURSOR = c.MQGMO_MSG_UNDER_CURSOR | c.MQGMO_BROWSE_MSG_UNDER_CURSOR
SYNCPOINTS = c.MQGMO_SYNCPOINT | c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_NO_SYNCPOINT
KNOWN = (
    BROWSES | PROPERTIES | marks.OPTIONS | SYNCPOINTS | c.MQGMO_WAIT
    | c.MQGMO_MSG_UNDER_CURSOR | c.MQGMO_LOCK | c.MQGMO_UNLOCK | c.MQGMO_ACCEPT_TRUNCATED_MSG
    | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_CONVERT | c.MQGMO_LOGICAL_ORDER | c.MQGMO_MARK_SKIP_BACKOUT
)  # fmt: skip
SHORTEST, LONGEST = 0.001, 0.05  # seconds between two looks of a waiting get


def get(connection: Connection, opened: OpenObject, request: GetRequest) -> GetResult | None:
    """Get or browse one message; None where only a lock was released (MQGMO_UNLOCK).

    Raises Failure (MQRC_NO_MSG_AVAILABLE ...).
    """
    options = request.options
    check(options, request.match, request.version, opened.options)
    if options & c.MQGMO_WAIT and request.wait < c.MQWI_UNLIMITED:
        raise Failure(c.MQRC_WAIT_INTERVAL_ERROR)
    if options & c.MQGMO_MARK_SKIP_BACKOUT:
        check_mark(connection, options)
    if options & c.MQGMO_UNLOCK:
        browsing.unlock_asked(connection, opened)
        return None
    connection.look_often_enough()
    deadline = time.monotonic() + request.wait / 1000 if request.wait >= 0 else None
    waiting = bool(options & c.MQGMO_WAIT)
    marks_end = bool(options & c.MQGMO_UNMARKED_BROWSE_MSG)
    seen = connection.store.changes if waiting else 0
    while True:
        connection.check_quiescing(options & c.MQGMO_FAIL_IF_QUIESCING)
        found = attempt(connection, opened, request)
        if found is not None:
            return found
        if options & UNDER_CURSOR:
            raise Failure(c.MQRC_NO_MSG_UNDER_CURSOR)
        if connection.look_for_dead():
            continue
        if not waiting:
            raise Failure(c.MQRC_NO_MSG_AVAILABLE, opened.name)
        seen = wait(connection, opened, seen, deadline, marks_end=marks_end)


def wait(connection: Connection, opened: OpenObject, seen: int, deadline: float | None, *, marks_end: bool) -> int:
    """Wait until somebody has written to the store after it had the number `seen`; returns its new number.

    Parameters: `deadline` on the monotonic clock, None for ever; `marks_end` whether to return now and then besides,
    because marks end and nobody writes that.
    Raises Failure (MQRC_NO_MSG_AVAILABLE) at the deadline.
    """
    pause = SHORTEST
    while True:
        left = LONGEST if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise Failure(c.MQRC_NO_MSG_AVAILABLE, opened.name)
        with connection.outside():
            events.wait(min(pause, left))
        now = connection.store.changes
        if now != seen:
            return now
        if pause == LONGEST and (connection.look_for_dead() or marks_end or connection.is_quiescing()):
            return now
        pause = min(pause * 1.5, LONGEST)


@lru_cache(maxsize=256)
def check(options: int, match: int, version: int, opened: int) -> None:
    """Raises Failure for options that do not go together or that the handle was not opened for.

    Parameters: `version` of the descriptor; `opened` the options of MQOPEN.
    """
    if options & ~KNOWN:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    check_match(match, version)
    if options & c.MQGMO_LOGICAL_ORDER and version < 2:
        raise Failure(c.MQRC_WRONG_MD_VERSION)
    for exclusive in (BROWSES, SYNCPOINTS, PROPERTIES):
        if (options & exclusive).bit_count() > 1:
            raise Failure(c.MQRC_OPTIONS_ERROR)
    browse = options & BROWSES
    if browse and options & (c.MQGMO_SYNCPOINT | c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_MSG_UNDER_CURSOR):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & c.MQGMO_LOCK and not browse:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & c.MQGMO_UNLOCK and options & ~(c.MQGMO_UNLOCK | c.MQGMO_NO_SYNCPOINT):
        raise Failure(c.MQRC_OPTIONS_ERROR)
    marks.check(options)
    if match & c.MQMO_MATCH_MSG_TOKEN and options & c.MQGMO_WAIT and not options & UNDER_CURSOR:
        raise Failure(c.MQRC_MSG_TOKEN_ERROR)
    if (browse or options & (c.MQGMO_UNLOCK | c.MQGMO_MSG_UNDER_CURSOR)) and not opened & c.MQOO_BROWSE:
        raise Failure(c.MQRC_NOT_OPEN_FOR_BROWSE)
    marks.check_handle(options, opened)
    if not browse and not options & c.MQGMO_UNLOCK and not opened & INPUT:
        raise Failure(c.MQRC_NOT_OPEN_FOR_INPUT)


def check_mark(connection: Connection, options: int) -> None:
    """MQGMO_MARK_SKIP_BACKOUT: on z/OS only (K07), under syncpoint that is asked for (K05), one a unit of work (K04).

    Raises Failure (MQRC_OPTIONS_ERROR, MQRC_SECOND_MARK_NOT_ALLOWED).
    """
    if connection.manager.platform != Platform.ZOS or not options & c.MQGMO_SYNCPOINT:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if connection.unit.marked is not None:
        raise Failure(c.MQRC_SECOND_MARK_NOT_ALLOWED)


def attempt(connection: Connection, opened: OpenObject, request: GetRequest) -> GetResult | None:
    """One look at the queue; None where it has no message that fits."""
    if request.options & BROWSES:
        return browsing.browse(connection, opened, request)
    if request.options & c.MQGMO_MSG_UNDER_CURSOR:
        return take_under_cursor(connection, opened, request)
    return take(connection, opened, request)


def take(connection: Connection, opened: OpenObject, request: GetRequest) -> GetResult | None:
    """A destructive get, in one transaction."""
    text, values = statement(connection, opened, request)
    text += sql.IN_ORDER
    while True:
        row, got = attempt_take(connection, opened, request, text, values)
        if got is not None or row is None:
            return got
        discard_expired(connection, row.seq)


def take_under_cursor(connection: Connection, opened: OpenObject, request: GetRequest) -> GetResult | None:
    """MQGMO_MSG_UNDER_CURSOR: the message that the browse cursor is on, if it is still there (E10)."""
    there = browsing.under_cursor(connection, opened)
    if there is None:
        check_gets(connection, opened)
        return None
    text = sql.HELD_MESSAGE if opened.cursor.locked == there.seq else sql.NEXT + sql.BY_SEQ
    row, got = attempt_take(connection, opened, request, text, [opened.queue, there.seq])
    if got is not None:
        if got.reason != c.MQRC_TRUNCATED_MSG_FAILED:
            opened.cursor.locked = 0
        return got
    if row is not None:
        browsing.unlock(connection, opened)
        discard_expired(connection, row.seq)
    return None


def attempt_take(
    connection: Connection, opened: OpenObject, request: GetRequest, text: str, values: list[Any]
) -> tuple[FoundMessage | None, GetResult | None]:
    """Find a row and take it in one transaction. Returns the row and the result.

    A row without a result: the message has expired, and the caller discards it. No row: no message fits.
    """
    store, got, taken, confirmed, syncpoint = connection.store, None, False, None, False
    store.begin()
    try:
        check_gets(connection, opened)  # here, because by itself it would be a transaction of its own
        row = store.row(FoundMessage, text, values)
        if row is not None and row.expires > time.time() * 10:
            syncpoint = syncpoint_of(connection, request.options, row.persistent)
            if request.options & c.MQGMO_LOGICAL_ORDER:
                check_same_unit(opened.getting, syncpoint=syncpoint)
            got = returned(connection, opened, request, row)
            taken = got.reason != c.MQRC_TRUNCATED_MSG_FAILED
            if taken:
                confirmed = remove(connection, opened, row, syncpoint=syncpoint)
    except BaseException:
        store.undo()
        raise
    if row is None or not taken:
        store.undo()
        return row, got
    store.end(durable=bool(row.persistent) and not syncpoint)
    if syncpoint:
        connection.unit.enter(opened.queue, gets=1, persistent=bool(row.persistent))
    if confirmed is not None:
        connection.announce(confirmed, syncpoint=syncpoint)
    logical = bool(request.options & c.MQGMO_LOGICAL_ORDER)
    moves = logical or bool(opened.getting.group)
    warning = follow(connection, opened.getting, row.md, len(row.body), logical=logical, syncpoint=syncpoint)
    if request.options & c.MQGMO_MARK_SKIP_BACKOUT:
        mark(connection, opened, row, confirmed, moves=moves)
    if got is not None:
        got.warn(warning)
        if opened.options & c.MQOO_SAVE_ALL_CONTEXT:
            opened.saved = bytes(got.md)
    return row, got


def mark(
    connection: Connection, opened: OpenObject, row: FoundMessage, confirmed: QueuedMessage | None, *, moves: bool
) -> None:
    """The get just done in the unit of work skips back-out (K02), with its COD report and its place in a group.

    Parameters: `moves` whether it moved the handle's place in a group, so that the last entry of the unit's `undo` is
    its own.
    """

    def begin() -> None:
        connection.unit.enter(opened.queue, gets=1, persistent=bool(row.persistent))
        if confirmed is not None:
            connection.announce(confirmed, syncpoint=True)
        if undo is not None:
            connection.unit.undo.append(undo)

    undo = connection.unit.undo[-1] if moves else None
    rows = (row.seq, *(numbers(confirmed) if confirmed is not None else ()))
    connection.unit.marked = MarkedGet(rows=rows, undo=undo, begin=begin)


def syncpoint_of(connection: Connection, options: int, persistent: int) -> bool:
    """Whether a get belongs to the unit of work; said by no option, the platform decides."""
    if options & c.MQGMO_SYNCPOINT_IF_PERSISTENT:
        return bool(persistent)
    if options & SYNCPOINTS:
        return bool(options & c.MQGMO_SYNCPOINT)
    return connection.manager.platform == Platform.ZOS


def remove(connection: Connection, opened: OpenObject, row: FoundMessage, *, syncpoint: bool) -> QueuedMessage | None:
    """Take a row off the queue in the caller's transaction; returns the report that confirms it, if one was made."""
    store = connection.store
    confirms = d.report_of(row.md) & c.MQRO_COD
    if syncpoint:
        if connection.unit.messages >= opened.limits.uncommitted:
            raise Failure(c.MQRC_SYNCPOINT_LIMIT_REACHED)
        store.execute(sql.TAKE, (connection.id, row.seq))
    else:
        store.execute(sql.DELETE, (row.seq,))
    store.execute(sql.LOWER_DEPTH, (opened.queue,))
    if not confirms:
        return None
    return confirm_delivery(connection, with_rest(row.md, row.expires), row.body, syncpoint=syncpoint)
