"""Report messages that the queue manager makes: expiration (E06), confirmation of arrival (COA) and delivery (COD).

1. A report goes to the ReplyToQ of its message, with the message's priority and persistence; its MsgId and CorrelId are
   as the message's report options say.
2. It is put in the transaction that is its cause. COA and COD belong to the unit of work of the put or get, an
   expiration report to none (E07).
3. The user in the context of its message needs PUT and PASSID on the ReplyToQ (IBM: Message context, which says so of
   COD and expiration reports; here COA reports are no exception).
4. One that cannot be put goes to the dead-letter queue if it is persistent; else it is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages.message_rows import QueuedMessage
from mqlite.objects.resolve import resolve
from mqlite.reports.internal_put import put_internally
from mqlite.reports.report_message import ARRIVAL, DELIVERY, EXCEPTION, EXPIRATION, Option, descriptor, kept_length
from mqlite.security import authority
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.structures import MQDLH, MQMD, MQXQH

ANY = (
    c.MQRO_EXCEPTION_WITH_FULL_DATA | c.MQRO_EXPIRATION_WITH_FULL_DATA | c.MQRO_COA_WITH_FULL_DATA
    | c.MQRO_COD_WITH_FULL_DATA
)  # fmt: skip
OPTIONS = (EXPIRATION, ARRIVAL, DELIVERY, EXCEPTION)


def valid(report: int) -> bool:
    """Whether the bits of each option are one of its three forms."""
    return all(report & option.full in (0, option.plain, option.with_data, option.full) for option in OPTIONS)


def confirm_arrival(
    connection: Connection, md: bytes | bytearray, body: bytes, *, syncpoint: bool
) -> QueuedMessage | None:
    """The COA report of a message that is being put on its queue, if it asks for one."""
    return report(connection, ARRIVAL, md, body, syncpoint=syncpoint)


def confirm_delivery(
    connection: Connection, md: bytes | bytearray, body: bytes, *, syncpoint: bool
) -> QueuedMessage | None:
    """The COD report of a message that is being got, if it asks for one."""
    return report(connection, DELIVERY, md, body, syncpoint=syncpoint)


def report_expiration(connection: Connection, md: bytes | bytearray, body: bytes) -> QueuedMessage | None:
    """The expiration report of a message that is being discarded, if it asks for one (E06)."""
    return report(connection, EXPIRATION, md, body, syncpoint=False)


def report(
    connection: Connection, option: Option, md: bytes | bytearray, body: bytes, *, syncpoint: bool
) -> QueuedMessage | None:
    """Put a report on the ReplyToQ, else on the DEADQ, if the message asks for it, in the caller's transaction.

    Returns None if no report was put.
    """
    asked = d.report_of(md)
    if not asked & option.plain:
        return None
    original = MQMD.unpack(bytes(md))
    user = before_nul(original.user_identifier)  # not the one that an MQXQH of the putter's own making says
    if original.format == c.MQFMT_XMIT_Q_HEADER and option is ARRIVAL:
        return None  # has not arrived yet
    if original.format == c.MQFMT_XMIT_Q_HEADER and option is EXPIRATION:
        original, body = unwrapped(original, body)
    name = connection.manager.name
    made = descriptor(
        original, option.feedback, msg_id=connection.new_msg_id(), queue_manager=name, appl_type=c.MQAT_QMGR,
        appl_name=name,
    )  # fmt: skip
    kept = body[: kept_length(original, body, asked & option.full, option)]
    target = before_nul(original.reply_to_q), before_nul(original.reply_to_q_mgr)
    try:
        check_target(connection, user, *target)
        return put_internally(connection, *target, bytearray(made.pack()), kept, syncpoint=syncpoint)
    except Failure as failure:
        return dead_letter(connection, original, made, kept, failure.reason, syncpoint=syncpoint)


def check_target(connection: Connection, user: str, queue: str, queue_manager: str) -> None:
    """A user may have reports put on a queue. Raises Failure (MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_OBJECT_NAME ...)."""
    if authority.privileged(connection.manager, user):
        return
    resolved = resolve(connection.objects, connection.manager.name, queue, queue_manager)
    name = authority.queue_that_counts(connection, resolved)
    authority.require(connection.engine, user, "QUEUE", name, {"PUT", "PASSID"})


def unwrapped(outer: MQMD, body: bytes) -> tuple[MQMD, bytes]:
    """The message within one of a transmission queue: its putter knows nothing of the wrapping."""
    try:
        header = MQXQH.unpack(body)
    except WireError:
        return outer, body
    return replace(header.msg_desc, version=2), body[MQXQH.LAYOUT.size :]


def dead_letter(
    connection: Connection, original: MQMD, made: MQMD, body: bytes, reason: int, *, syncpoint: bool
) -> QueuedMessage | None:
    """A report that has no place: on the dead-letter queue if it is persistent."""
    if made.persistence != c.MQPER_PERSISTENT:
        return None
    target = (original.reply_to_q, original.reply_to_q_mgr)
    return put_on_dead_letter_queue(connection, target, made, body, reason, syncpoint=syncpoint)


def put_on_dead_letter_queue(
    connection: Connection, target: tuple[str, str], made: MQMD, body: bytes, reason: int, *, syncpoint: bool
) -> QueuedMessage | None:
    """Put a message that its target (queue, queue manager) does not take on the dead-letter queue, if there is one."""
    name = str(connection.objects.manager()["DEADQ"])
    if not name:
        return None
    header = MQDLH(
        reason=reason, dest_q_name=target[0], dest_q_mgr_name=target[1],
        encoding=made.encoding, coded_char_set_id=made.coded_char_set_id, format=made.format,
        put_appl_type=made.put_appl_type, put_appl_name=made.put_appl_name, put_date=made.put_date,
        put_time=made.put_time,
    ).pack()  # fmt: skip
    outer = replace(made, format=c.MQFMT_DEAD_LETTER_HEADER, encoding=c.MQENC_NATIVE, coded_char_set_id=819)
    try:
        return put_internally(connection, name, "", bytearray(outer.pack()), header + body, syncpoint=syncpoint)
    except Failure:
        return None
