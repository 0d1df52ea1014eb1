"""Report messages that the queue manager makes: expiration (E06), confirmation of arrival (COA) and delivery (COD).

1. A report goes to the ReplyToQ of its message, with the message's priority and persistence; its MsgId and CorrelId are
   as the message's report options say.
2. It is put in the transaction that is its cause. COA and COD belong to the unit of work of the put or get, an
   expiration report to none (E07).
3. One that cannot be put goes to the dead-letter queue if it is persistent; else it is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqlite import descriptor as d
from mqlite.connection import Connection
from mqlite.failure import Failure
from mqlite.placing import place
from mqlite.standing import Placed
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.headers import walk
from mqwire.structures import MQDLH, MQMD, MQXQH

ANY = (
    c.MQRO_EXCEPTION_WITH_FULL_DATA | c.MQRO_EXPIRATION_WITH_FULL_DATA | c.MQRO_COA_WITH_FULL_DATA
    | c.MQRO_COD_WITH_FULL_DATA
)  # fmt: skip
SHORT = 100  # bytes of data in a report "with data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A report option: its plain bit, that with data, that with full data, and the feedback it makes."""

    plain: int
    with_data: int
    full: int
    feedback: int


EXPIRATION = Option(
    plain=c.MQRO_EXPIRATION, with_data=c.MQRO_EXPIRATION_WITH_DATA, full=c.MQRO_EXPIRATION_WITH_FULL_DATA,
    feedback=c.MQFB_EXPIRATION,
)  # fmt: skip
ARRIVAL = Option(plain=c.MQRO_COA, with_data=c.MQRO_COA_WITH_DATA, full=c.MQRO_COA_WITH_FULL_DATA, feedback=c.MQFB_COA)
DELIVERY = Option(plain=c.MQRO_COD, with_data=c.MQRO_COD_WITH_DATA, full=c.MQRO_COD_WITH_FULL_DATA, feedback=c.MQFB_COD)
OPTIONS = (
    EXPIRATION, ARRIVAL, DELIVERY,
    Option(
        plain=c.MQRO_EXCEPTION, with_data=c.MQRO_EXCEPTION_WITH_DATA, full=c.MQRO_EXCEPTION_WITH_FULL_DATA, feedback=0
    ),
)  # fmt: skip


def valid(report: int) -> bool:
    """Whether the bits of each option are one of its three forms."""
    return all(report & option.full in (0, option.plain, option.with_data, option.full) for option in OPTIONS)


def confirm_arrival(connection: Connection, md: bytes | bytearray, body: bytes, *, syncpoint: bool) -> Placed | None:
    """The COA report of a message that is being put on its queue, if it asks for one."""
    return report(connection, ARRIVAL, md, body, syncpoint=syncpoint)


def confirm_delivery(connection: Connection, md: bytes | bytearray, body: bytes, *, syncpoint: bool) -> Placed | None:
    """The COD report of a message that is being got, if it asks for one."""
    return report(connection, DELIVERY, md, body, syncpoint=syncpoint)


def report_expiration(connection: Connection, md: bytes | bytearray, body: bytes) -> Placed | None:
    """The expiration report of a message that is being discarded, if it asks for one (E06)."""
    return report(connection, EXPIRATION, md, body, syncpoint=False)


def report(
    connection: Connection, option: Option, md: bytes | bytearray, body: bytes, *, syncpoint: bool
) -> Placed | None:
    """Make and place a report if the message asks for it, in the caller's transaction."""
    asked = d.report_of(md)
    if not asked & option.plain:
        return None
    original = MQMD.unpack(bytes(md))
    if original.format == c.MQFMT_XMIT_Q_HEADER and option is ARRIVAL:
        return None  # has not arrived yet
    if original.format == c.MQFMT_XMIT_Q_HEADER and option is EXPIRATION:
        original, body = unwrapped(original, body)
    made = descriptor(connection, original, option.feedback)
    kept = body[: kept_length(original, body, asked & option.full, option)]
    raw = bytearray(made.pack())
    try:
        return place(
            connection, before_nul(original.reply_to_q), before_nul(original.reply_to_q_mgr), raw, kept,
            syncpoint=syncpoint,
        )  # fmt: skip
    except Failure as failure:
        return dead_letter(connection, original, made, kept, failure.reason, syncpoint=syncpoint)


def unwrapped(outer: MQMD, body: bytes) -> tuple[MQMD, bytes]:
    """The message within one of a transmission queue: its putter knows nothing of the wrapping."""
    try:
        header = MQXQH.unpack(body)
    except WireError:
        return outer, body
    return replace(header.msg_desc, version=2), body[MQXQH.LAYOUT.size :]


def descriptor(connection: Connection, original: MQMD, feedback: int) -> MQMD:
    """The descriptor of a report on a message (reference facts, section 4.2)."""
    asked = original.report
    passes = asked & c.MQRO_PASS_DISCARD_AND_EXPIRY
    date, time = d.put_moment()
    return replace(
        original,
        report=c.MQRO_DISCARD_MSG if passes and asked & c.MQRO_DISCARD_MSG else c.MQRO_NONE,
        msg_type=c.MQMT_REPORT,
        expiry=original.expiry if passes and original.expiry > 0 else c.MQEI_UNLIMITED,
        feedback=feedback,
        msg_id=original.msg_id if asked & c.MQRO_PASS_MSG_ID else connection.new_msg_id(),
        correl_id=original.correl_id if asked & c.MQRO_PASS_CORREL_ID else original.msg_id,
        backout_count=0,
        reply_to_q="",
        reply_to_q_mgr=connection.manager.name,
        put_appl_type=c.MQAT_QMGR,
        put_appl_name=connection.manager.name[:28],
        put_date=date,
        put_time=time,
        appl_origin_data="",
    )


def kept_length(original: MQMD, body: bytes, form: int, option: Option) -> int:
    """How many bytes of the message's data its report carries: none; headers and 100; all."""
    if form == option.full:
        return len(body)
    if form != option.with_data:
        return 0
    try:
        start = walk(original.format, original.encoding, original.coded_char_set_id, body).payload_offset
    except WireError:
        start = 0
    return start + SHORT


def dead_letter(
    connection: Connection, original: MQMD, made: MQMD, body: bytes, reason: int, *, syncpoint: bool
) -> Placed | None:
    """A report that has no place: on the dead-letter queue if it is persistent."""
    if made.persistence != c.MQPER_PERSISTENT:
        return None
    target = (original.reply_to_q, original.reply_to_q_mgr)
    return bury(connection, target, made, body, reason, syncpoint=syncpoint)


def bury(
    connection: Connection, target: tuple[str, str], made: MQMD, body: bytes, reason: int, *, syncpoint: bool
) -> Placed | None:
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
        return place(connection, name, "", bytearray(outer.pack()), header + body, syncpoint=syncpoint)
    except Failure:
        return None
