"""MQPUT and MQPUT1: check the descriptor and the options, give identifiers and context, store.

The steps, in order; each may end the call with its reason code:
1. options and descriptor (2046, 2013, 2050, 2047, 2029, 2027);
2. the queue: inhibited, length, persistence (2051, 2030, 2031, 2048);
3. identifiers and context;
4. the headers (`mqlite.messages.header_chain`); on a transmission queue, its own (MQXQH);
5. one transaction: a place on the queue (2053) and the row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from mqlite.calls.grouping import (
    advance,
    check_like_the_others,
    in_physical_order,
    next_in_logical_order,
    set_place_in_group,
)
from mqlite.calls.opening import OpenObject, queue_of, refresh
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages.header_chain import unfold_extension, with_actual_ccsids, with_extension_behind_dlh
from mqlite.messages.message_rows import HIGHEST, QueuedMessage, cap_expiry, row_of
from mqlite.messages.properties import Property, fold
from mqlite.messages.segmentation import may_split, split
from mqlite.messages.transmission import check_transmitted, transmit
from mqlite.objects.engine import LocalQueue
from mqlite.objects.resolve import resolve_reply
from mqlite.platform import Platform
from mqlite.reports.reports import confirm_arrival
from mqlite.reports.reports import valid as valid_reports
from mqlite.storage import sql
from mqlite.storage.rows import NewMessage
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c
from mqwire.fields import text

ZERO_24 = bytes(24)
CONTEXTS = (
    c.MQPMO_PASS_IDENTITY_CONTEXT | c.MQPMO_PASS_ALL_CONTEXT | c.MQPMO_SET_IDENTITY_CONTEXT
    | c.MQPMO_SET_ALL_CONTEXT | c.MQPMO_NO_CONTEXT | c.MQPMO_DEFAULT_CONTEXT
)  # fmt: skip
KNOWN = (
    CONTEXTS | c.MQPMO_SYNCPOINT | c.MQPMO_NO_SYNCPOINT | c.MQPMO_NEW_MSG_ID | c.MQPMO_NEW_CORREL_ID
    | c.MQPMO_ALTERNATE_USER_AUTHORITY | c.MQPMO_FAIL_IF_QUIESCING | c.MQPMO_ASYNC_RESPONSE | c.MQPMO_SYNC_RESPONSE
    | c.MQPMO_RESOLVE_LOCAL_Q | c.MQPMO_MD_FOR_OUTPUT_ONLY | c.MQPMO_LOGICAL_ORDER
)  # fmt: skip
SYNCPOINTS = c.MQPMO_SYNCPOINT | c.MQPMO_NO_SYNCPOINT
NEEDS_OPEN = {
    c.MQPMO_PASS_IDENTITY_CONTEXT: c.MQOO_PASS_IDENTITY_CONTEXT | c.MQOO_PASS_ALL_CONTEXT,
    c.MQPMO_PASS_ALL_CONTEXT: c.MQOO_PASS_ALL_CONTEXT,
    c.MQPMO_SET_IDENTITY_CONTEXT: c.MQOO_SET_IDENTITY_CONTEXT | c.MQOO_SET_ALL_CONTEXT,
    c.MQPMO_SET_ALL_CONTEXT: c.MQOO_SET_ALL_CONTEXT,
}
REPORTS_NEED_REPLY = c.MQRO_EXCEPTION | c.MQRO_EXPIRATION | c.MQRO_COA | c.MQRO_COD | c.MQRO_PAN | c.MQRO_NAN
KNOWN_REPORTS = (
    c.MQRO_EXCEPTION_WITH_FULL_DATA | c.MQRO_EXPIRATION_WITH_FULL_DATA | c.MQRO_COA_WITH_FULL_DATA
    | c.MQRO_COD_WITH_FULL_DATA | c.MQRO_PAN | c.MQRO_NAN | c.MQRO_PASS_CORREL_ID
    | c.MQRO_PASS_MSG_ID | c.MQRO_PASS_DISCARD_AND_EXPIRY | c.MQRO_DISCARD_MSG
)  # fmt: skip
MESSAGE_TYPES = frozenset({c.MQMT_REQUEST, c.MQMT_REPLY, c.MQMT_REPORT, c.MQMT_DATAGRAM})
APPLICATION_TYPES = range(c.MQMT_APPL_FIRST, c.MQMT_APPL_LAST + 1)
APPL_TYPES: Mapping[str, int] = {Platform.UNIX: c.MQAT_UNIX, Platform.ZOS: c.MQAT_ZOS}


@dataclass(slots=True, kw_only=True)  # not frozen, which costs a microsecond for each message
class PutRequest:
    """What an application asks of one put.

    Parameters: `md` the descriptor in version 2 form and the `version` it came in; `options` MQPMO_*; `context` handle
    whose message's context is passed.
    Attributes: `warning` the reason to warn of after a put that was done, 0 for none.
    """

    md: bytearray
    options: int
    context: int
    body: bytes
    version: int = 2
    properties: dict[str, Property] = field(default_factory=dict)
    warning: int = 0


def in_syncpoint(connection: Connection, options: int) -> bool:
    """Whether a put belongs to the unit of work; said by neither option, the platform decides."""
    if options & SYNCPOINTS == SYNCPOINTS:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if options & SYNCPOINTS:
        return bool(options & c.MQPMO_SYNCPOINT)
    return connection.manager.platform == Platform.ZOS


def put(connection: Connection, opened: OpenObject, request: PutRequest) -> bytearray:
    """Put one message; returns the descriptor with what the queue manager filled in.

    Raises Failure.
    """
    options, md = request.options, request.md
    check_put_options(options, opened.options)
    syncpoint = in_syncpoint(connection, options)
    refresh_all(connection, opened)
    stored, body = describe(connection, opened, request)
    place = opened.putting
    if options & c.MQPMO_LOGICAL_ORDER:
        check_like_the_others(place, stored, syncpoint=syncpoint)
    store_message(connection, opened, stored, body, syncpoint=syncpoint)
    if options & c.MQPMO_LOGICAL_ORDER:
        advance(connection, place, md, len(body), syncpoint=syncpoint)
    elif place.group:
        request.warning = in_physical_order(connection, place, md, len(body), syncpoint=syncpoint)
    return md


@lru_cache(maxsize=256)
def check_put_options(options: int, opened: int) -> None:
    """Raises Failure for put options that do not go together or that the handle was not opened for.

    Parameters: `opened` the options of MQOPEN.
    """
    if options & ~KNOWN or (options & CONTEXTS).bit_count() > 1:
        raise Failure(c.MQRC_OPTIONS_ERROR)
    if not opened & c.MQOO_OUTPUT:
        raise Failure(c.MQRC_NOT_OPEN_FOR_OUTPUT)
    context = options & CONTEXTS
    if context in NEEDS_OPEN and not opened & NEEDS_OPEN[context]:
        raise Failure(c.MQRC_NOT_OPEN_FOR_PASS_ALL if context == c.MQPMO_PASS_ALL_CONTEXT else REFUSALS[context])


def describe(connection: Connection, opened: OpenObject, request: PutRequest) -> tuple[bytearray, bytes]:
    """Fill the request's descriptor in; returns the descriptor and the data to be stored.

    Raises Failure.
    """
    options, md, body = request.options, request.md, request.body
    if options & c.MQPMO_MD_FOR_OUTPUT_ONLY:
        md[:] = d.EMPTY
    body = unfold_extension(md, body, connection.manager.application_ccsid)
    _, _, _, _, _, ccsid, priority, persistence, msg_id, correl_id, *_ = d.for_put(md)
    check_descriptor(md)
    if priority > HIGHEST:
        request.warning = c.MQRC_PRIORITY_EXCEEDS_MAXIMUM
    next_in_logical_order(opened, md, options, request.version)
    if md[d.LENGTH_1 :] != d.EXTENSION:
        set_place_in_group(connection, md, len(body))
    persistence = resolve_persistence(opened, persistence)
    if priority == c.MQPRI_PRIORITY_AS_Q_DEF:
        priority = int(str(opened.definition.get("DEFPRTY", 0)))
    if options & c.MQPMO_NEW_MSG_ID or msg_id == ZERO_24:
        msg_id = connection.new_msg_id()
    if options & c.MQPMO_NEW_CORREL_ID:
        correl_id = connection.new_msg_id()
    if ccsid in (c.MQCCSI_Q_MGR, c.MQCCSI_APPL, c.MQCCSI_INHERIT):
        ccsid = connection.manager.application_ccsid
    d.set_resolved(md, ccsid, priority, persistence, msg_id, correl_id, 0)
    give_context(connection, opened, md, options & CONTEXTS, request.context)
    stored = bytearray(md)
    resolve_reply_to(connection, stored)
    return stored, fold(stored, with_actual_ccsids(stored, body), request.properties)


REFUSALS = {
    c.MQPMO_PASS_IDENTITY_CONTEXT: c.MQRC_NOT_OPEN_FOR_PASS_IDENT,
    c.MQPMO_SET_IDENTITY_CONTEXT: c.MQRC_NOT_OPEN_FOR_SET_IDENT,
    c.MQPMO_SET_ALL_CONTEXT: c.MQRC_NOT_OPEN_FOR_SET_ALL,
}


def refresh_all(connection: Connection, opened: OpenObject) -> None:
    """The attributes as they are now, and the inhibits of every definition on the way.

    Raises Failure (MQRC_PUT_INHIBITED, MQRC_Q_DELETED).
    """
    refresh(connection, opened)
    if c.MQQA_PUT_INHIBITED in opened.puts:
        raise Failure(c.MQRC_PUT_INHIBITED, opened.name)


def check_descriptor(md: bytearray) -> None:
    """Raises Failure for what no queue takes. A priority above the highest is taken, with a warning."""
    report, kind, expiry, feedback, _, _, priority, *_ = d.for_put(md)
    if expiry != c.MQEI_UNLIMITED and not 0 < expiry <= d.LONGEST_EXPIRY:
        raise Failure(c.MQRC_EXPIRY_ERROR)
    if priority < c.MQPRI_PRIORITY_AS_Q_DEF:
        raise Failure(c.MQRC_PRIORITY_ERROR)
    if not 0 <= feedback <= c.MQFB_APPL_LAST:
        raise Failure(c.MQRC_FEEDBACK_ERROR)
    if kind not in MESSAGE_TYPES and kind not in APPLICATION_TYPES:
        raise Failure(c.MQRC_MSG_TYPE_ERROR)
    if report & ~KNOWN_REPORTS or not valid_reports(report):
        raise Failure(c.MQRC_REPORT_OPTIONS_ERROR)
    if (kind == c.MQMT_REQUEST or report & REPORTS_NEED_REPLY) and not d.reply_to(md)[0].strip(b" \0"):
        raise Failure(c.MQRC_MISSING_REPLY_TO_Q)


def resolve_reply_to(connection: Connection, md: bytearray) -> None:
    """ReplyToQMgr of the stored message where the putter named none: by a remote queue definition, else this one."""
    queue, queue_manager = d.reply_to(md)
    if queue != d.BLANK and queue_manager == d.BLANK:
        d.set_reply_to(md, *resolve_reply(connection.objects, connection.manager.name, text(queue)))


def resolve_persistence(opened: OpenObject, persistence: int) -> int:
    """MQPER_* of the message. Raises Failure (MQRC_PERSISTENCE_ERROR, MQRC_PERSISTENT_NOT_ALLOWED)."""
    if persistence == c.MQPER_PERSISTENCE_AS_Q_DEF:
        persistence = int(str(opened.definition.get("DEFPSIST", 0)))
    if persistence not in (c.MQPER_NOT_PERSISTENT, c.MQPER_PERSISTENT):
        raise Failure(c.MQRC_PERSISTENCE_ERROR)
    if persistence and opened.local.get("DEFTYPE") == c.MQQDT_TEMPORARY_DYNAMIC:
        raise Failure(c.MQRC_PERSISTENT_NOT_ALLOWED)
    return persistence


def give_context(connection: Connection, opened: OpenObject, md: bytearray, context: int, handle: int) -> None:
    """Identity and origin context, as the options say.

    Raises Failure (MQRC_CONTEXT_HANDLE_ERROR, MQRC_CONTEXT_NOT_AVAILABLE).
    """
    if context == c.MQPMO_SET_ALL_CONTEXT:
        return
    if context == c.MQPMO_NO_CONTEXT:
        d.set_identity(md, b"", b"", b"")
        d.set_origin(md, c.MQAT_NO_CONTEXT, b"", b"", b"", b"")
        return
    if context in (c.MQPMO_PASS_ALL_CONTEXT, c.MQPMO_PASS_IDENTITY_CONTEXT):
        passed = d.ALL_CONTEXT if context == c.MQPMO_PASS_ALL_CONTEXT else d.IDENTITY_CONTEXT
        md[passed] = saved_context(connection, handle)[passed]
        if context == c.MQPMO_PASS_ALL_CONTEXT:
            return
    elif context != c.MQPMO_SET_IDENTITY_CONTEXT:
        d.set_identity(md, d.field_of(opened.user, 12, connection.manager.application_ccsid), accounting_token(), b"")
    appl_type = APPL_TYPES[connection.manager.platform]
    d.set_origin(md, appl_type, connection.application, *d.put_moment(), b"")


def saved_context(connection: Connection, handle: int) -> bytes:
    """The descriptor whose context a handle has saved."""
    try:
        source = queue_of(connection, handle)
    except Failure as failure:
        raise Failure(c.MQRC_CONTEXT_HANDLE_ERROR) from failure
    if not source.options & c.MQOO_SAVE_ALL_CONTEXT:
        raise Failure(c.MQRC_CONTEXT_HANDLE_ERROR)
    if source.saved is None:
        raise Failure(c.MQRC_CONTEXT_NOT_AVAILABLE)
    return source.saved


def accounting_token() -> bytes:
    """32 bytes: length and digits of the user number, and the type of the token (MQACTT_UNIX_NUMERIC_ID)."""
    digits = str(os.getuid()).encode()
    return (bytes([len(digits)]) + digits).ljust(31, b"\0") + b"\x06"


def store_message(connection: Connection, opened: OpenObject, md: bytearray, body: bytes, *, syncpoint: bool) -> None:
    """Put the row on the queue; on the way to another queue manager, wrapped for its channel.

    Raises Failure (MQRC_MSG_TOO_BIG_FOR_Q, MQRC_MSG_TOO_BIG_FOR_Q_MGR, MQRC_Q_FULL, MQRC_SYNCPOINT_LIMIT_REACHED).
    """
    md, body = with_extension_behind_dlh(md, body, connection.manager.ccsid)
    resolved = opened.resolved
    remote = resolved is not None and resolved.remote_queue_manager
    if not remote and opened.local["USAGE"] == c.MQUS_TRANSMISSION:
        check_transmitted(md, body)
    cap_expiry(md, opened.cap)
    if resolved is not None and remote:
        md, body = transmit(connection, resolved, md, body, msg_id=connection.new_msg_id())
    parts = in_parts(connection, opened, md, body)
    if syncpoint and connection.unit.messages >= opened.limits.uncommitted:
        raise Failure(c.MQRC_SYNCPOINT_LIMIT_REACHED)
    if opened.local["TRIGGER"]:
        connection.look_for_dead()  # who do not count as serving a queue (T04, T08)
    owner = connection.id if syncpoint else 0
    rows = [row_of(opened.queue, opened.local, *part, owner=owner) for part in parts]
    persistent = bool(rows[0].persistent)
    caused = insert(connection, opened, rows, syncpoint=syncpoint)
    put = QueuedMessage(queue=opened.queue, name=opened.name, persistent=persistent, rows=len(rows), caused=caused)
    connection.announce(put, syncpoint=syncpoint)


def in_parts(connection: Connection, opened: OpenObject, md: bytearray, body: bytes) -> list[tuple[bytearray, bytes]]:
    """The message, or the segments into which the queue manager splits it if it is too long for the queue (T16).

    Raises Failure (MQRC_MSG_TOO_BIG_FOR_Q, MQRC_MSG_TOO_BIG_FOR_Q_MGR).
    """
    fits, longest = opened.limits.length, opened.limits.any_length
    if len(body) <= fits and len(body) <= longest:
        return [(md, body)]
    parts = split(md, body, min(fits, longest)) if may_split(md, connection.manager.platform) else []
    if not parts:
        raise Failure(c.MQRC_MSG_TOO_BIG_FOR_Q if len(body) > fits else c.MQRC_MSG_TOO_BIG_FOR_Q_MGR, opened.name)
    return parts


def insert(
    connection: Connection, opened: OpenObject, rows: list[NewMessage], *, syncpoint: bool
) -> tuple[QueuedMessage, ...]:
    """The transaction of a put; returns what else it has put: COA reports, a trigger message.

    The queue's version is checked in the transaction, so that no change of the queue is missed. Where there may be a
    trigger message, which outlives its unit of work (T10a), it is written with the call.
    """
    store = connection.store
    while True:
        store.begin()
        try:
            number = len(rows)
            place = (number, opened.queue, opened.version, opened.limits.depth - number)
            fits = store.execute(sql.RAISE_DEPTH, place).rowcount == 1
            caused = arrive(connection, opened, rows) if fits else ()
        except BaseException:
            store.undo()
            raise
        if fits:
            store.end(durable=bool(rows[0].persistent) and not syncpoint)
            return caused
        store.undo()
        before = opened.version
        refresh_all(connection, opened)
        if opened.version == before:
            if connection.look_for_dead():
                continue
            raise Failure(c.MQRC_Q_FULL, opened.name)


def arrive(connection: Connection, opened: OpenObject, rows: list[NewMessage]) -> tuple[QueuedMessage, ...]:
    """The rows of a message stand on the queue; the trigger event comes after the last (T16)."""
    caused: tuple[QueuedMessage, ...] = ()
    for row in rows:
        connection.store.execute(sql.PUT, row)
        confirmed = confirm_arrival(connection, row.md, row.body, syncpoint=bool(row.state))
        if confirmed:
            caused += (confirmed,)
    if opened.local["TRIGGER"]:
        queue = LocalQueue(number=opened.queue, name=opened.name, local=opened.local)
        caused += triggering.message_put(
            connection.engine, queue, rank=rows[0].rank, owner=rows[0].owner, arrived=len(rows)
        )
    return caused
