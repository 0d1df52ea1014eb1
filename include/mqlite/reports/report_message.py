"""What a report message looks like, by the message that it is about (reference facts, section 4.2). Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqlite.messages import descriptor as d
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.headers import walk
from mqwire.structures import MQMD

SHORT = 100  # bytes of data in a report "with data"
LIFE_OF_EXPIRATION = 600
"""Expiry, in tenths of a second, of an expiration report with MQRO_PASS_DISCARD_AND_EXPIRY: nothing is left to pass."""


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
EXCEPTION = Option(
    plain=c.MQRO_EXCEPTION, with_data=c.MQRO_EXCEPTION_WITH_DATA, full=c.MQRO_EXCEPTION_WITH_FULL_DATA, feedback=0
)


def descriptor(
    original: MQMD, feedback: int, *, msg_id: bytes, queue_manager: str, appl_type: int, appl_name: str
) -> MQMD:
    """The descriptor of a report on a message. The Expiry of `original` is what is left of it.

    Parameters: `msg_id` where the original's is not to be passed; the name of the `queue_manager` where it is made;
    `appl_type` and `appl_name` of who makes it.
    """
    asked = original.report
    passes = asked & c.MQRO_PASS_DISCARD_AND_EXPIRY
    remaining = LIFE_OF_EXPIRATION if feedback == c.MQFB_EXPIRATION else original.expiry
    date, time = d.put_moment()
    return replace(
        original,
        report=c.MQRO_DISCARD_MSG if passes and asked & c.MQRO_DISCARD_MSG else c.MQRO_NONE,
        msg_type=c.MQMT_REPORT,
        expiry=remaining if passes and remaining > 0 else c.MQEI_UNLIMITED,
        feedback=feedback,
        msg_id=original.msg_id if asked & c.MQRO_PASS_MSG_ID else msg_id,
        correl_id=original.correl_id if asked & c.MQRO_PASS_CORREL_ID else original.msg_id,
        backout_count=0,
        reply_to_q="",
        reply_to_q_mgr=queue_manager,
        put_appl_type=appl_type,
        put_appl_name=appl_name[:28],
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
