"""Marks of a browse: which messages were marked as browsed, by whom, and until when.

1. A handle marks a message for itself (MQGMO_MARK_BROWSE_HANDLE), or for the cooperating handles
   (MQGMO_MARK_BROWSE_CO_OP): all that have the queue open with MQOO_CO_OP, whatever programs they belong to.
2. A handle's own mark ends with MQGMO_UNMARK_BROWSE_HANDLE, or as the handle is closed.
3. A mark of the cooperating handles ends with MQGMO_UNMARK_BROWSE_CO_OP, after MARKINT, or as the last of these handles
   is closed.
4. A get that takes the message ends its marks, and backing it out does not bring them back. A get that fails for its
   buffer (2080) takes nothing and leaves them.
5. A program that dies closes its handles.

The store's triggers do what 2 to 5 say of handles and messages that go (`mqlite.storage.sql`). The rules are those of
IBM MQ, "Avoiding repeated delivery of browsed messages", "MQGMO options" and "MsgMarkBrowseInterval".
"""

from __future__ import annotations

import time
from typing import Any

from mqlite.calls.opening import OpenObject
from mqlite.calls.retrieval import BROWSES
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.storage import sql
from mqwire import constants as c

UNLIMITED = -1  # MARKINT(NOLIMIT)
MARKS = c.MQGMO_MARK_BROWSE_HANDLE | c.MQGMO_MARK_BROWSE_CO_OP
UNMARKS = c.MQGMO_UNMARK_BROWSE_HANDLE | c.MQGMO_UNMARK_BROWSE_CO_OP
CHANGES = MARKS | UNMARKS
OPTIONS = CHANGES | c.MQGMO_UNMARKED_BROWSE_MSG
NOT_WITH_MARKS = c.MQGMO_LOCK | c.MQGMO_UNLOCK | c.MQGMO_LOGICAL_ORDER
NOT_WITH_UNMARKS = c.MQGMO_MARK_BROWSE_CO_OP | c.MQGMO_UNMARKED_BROWSE_MSG
CONTRADICTION = c.MQGMO_MARK_BROWSE_HANDLE | c.MQGMO_UNMARK_BROWSE_HANDLE


def check(options: int) -> None:
    """Raises Failure (MQRC_OPTIONS_ERROR) for options that do not go with each other.

    IBM MQ's page leaves open whether MQGMO_UNMARKED_BROWSE_MSG may stand in a get that is not a browse, and whether one
    call may mark and unmark for its handle. Both are refused.
    """
    if not options & OPTIONS:
        return
    if not options & BROWSES or options & NOT_WITH_MARKS:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & UNMARKS and options & NOT_WITH_UNMARKS:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & CONTRADICTION == CONTRADICTION:
        raise Failure(c.MQRC_OPTIONS_ERROR)


def check_handle(options: int, opened: int) -> None:
    """Raises Failure (MQRC_OPTIONS_ERROR) where a handle that is not a cooperating one asks for what those do.

    Parameters: `opened` the options of MQOPEN.
    """
    if options & (c.MQGMO_MARK_BROWSE_CO_OP | c.MQGMO_UNMARK_BROWSE_CO_OP) and not opened & c.MQOO_CO_OP:
        raise Failure(c.MQRC_OPTIONS_ERROR)


def unmarked(
    connection: Connection, opened: OpenObject, options: int, text: str, values: list[Any]
) -> tuple[str, list[Any]]:  # fmt: skip
    """A search for messages, without those that are marked for the handle if MQGMO_UNMARKED_BROWSE_MSG asks for that.

    Parameters: `text` and `values` of the statement.
    """
    if not options & c.MQGMO_UNMARKED_BROWSE_MSG:
        return text, values
    text, values = text + sql.UNMARKED, [*values, connection.id, opened.handle]
    if opened.options & c.MQOO_CO_OP:
        text, values = text + sql.UNMARKED_BY_COOPERATING, [*values, ended(opened)]
    return text, values


def is_marked(connection: Connection, opened: OpenObject, seq: int, options: int) -> bool:
    """Whether MQGMO_UNMARKED_BROWSE_MSG keeps a message from the handle."""
    if not options & c.MQGMO_UNMARKED_BROWSE_MSG:
        return False
    text, values = unmarked(connection, opened, options, sql.IS_BROWSABLE, [seq])
    return connection.store.one(text, values) is None


def change(connection: Connection, opened: OpenObject, seq: int, options: int) -> bool:
    """Mark or unmark a message as the options say, in one transaction.

    Returns False, and changes nothing, where the message has gone meanwhile, or where another cooperating handle was
    faster and unmarked messages are asked for.

    Raises Failure (MQRC_MSG_MARKED_BROWSE_CO_OP).
    """
    store, now = connection.store, milliseconds()
    with store.write():
        if store.one(sql.IS_BROWSABLE, (seq,)) is None:
            return False
        if options & c.MQGMO_MARK_BROWSE_CO_OP:
            values = (seq, opened.queue, now, ended(opened))
            if not store.execute(sql.MARK_FOR_COOPERATING, values).rowcount:
                if options & c.MQGMO_UNMARKED_BROWSE_MSG:
                    return False
                raise Failure(c.MQRC_MSG_MARKED_BROWSE_CO_OP)
        if options & c.MQGMO_MARK_BROWSE_HANDLE:
            store.execute(sql.MARK, (seq, connection.id, opened.handle, opened.queue, now))
        if options & c.MQGMO_UNMARK_BROWSE_CO_OP:
            store.execute(sql.UNMARK, (seq, 0, 0))
        if options & c.MQGMO_UNMARK_BROWSE_HANDLE:
            store.execute(sql.UNMARK, (seq, connection.id, opened.handle))
    return True


def milliseconds() -> int:
    """Now, in milliseconds since 1970."""
    return int(time.time() * 1000)


def ended(opened: OpenObject) -> int:
    """The time until which marks of the cooperating handles were made that have ended by now (MARKINT)."""
    return -1 if opened.limits.marked == UNLIMITED else milliseconds() - opened.limits.marked
