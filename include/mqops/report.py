"""Report messages that a program makes, not the queue manager. Pure: values in, values out.

Source: IBM MQ, "Report (MQLONG)" of the MQMD.

| field                    | value                                                                                   |
|--------------------------|-----------------------------------------------------------------------------------------|
| MsgType, Feedback        | MQMT_REPORT, the MQRC_ or MQFB_ code                                                    |
| MsgId                    | the original's with MQRO_PASS_MSG_ID, else a new one                                    |
| CorrelId                 | the original's with MQRO_PASS_CORREL_ID, else the original MsgId                        |
| Report, Expiry           | with MQRO_PASS_DISCARD_AND_EXPIRY the original's MQRO_DISCARD_MSG and remaining expiry  |
| Format, Encoding, CCSID  | the original's; also Priority, Persistence and the group fields                         |
| ReplyToQ, ReplyToQMgr    | blank, the queue manager's name                                                         |
| data                     | none; or all MQ headers and the first 100 bytes behind them; or all of it               |
"""

from __future__ import annotations

from dataclasses import dataclass

from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.headers import walk
from mqwire.structures import MQMD

SHORT_DATA = 100
"""Bytes of application data in a report WITH_DATA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report message and where it goes: the ReplyToQ of the message it is about."""

    queue: str
    queue_manager: str
    md: MQMD
    body: bytes


def exception_report(md: MQMD, body: bytes, *, reason: int, queue_manager: str) -> Report | None:
    """The exception report a message asked for, or None where it asked for none or names no reply queue.

    There is no MQFB_EXCEPTION: Feedback is the reason code itself.

    Parameters: `md` and `body` of the original; `reason` MQRC_*; `queue_manager` the name of the one that it was on.
    """
    return _report(md, body, _EXCEPTION, feedback=reason, queue_manager=queue_manager)


def expiration_report(md: MQMD, body: bytes, *, queue_manager: str) -> Report | None:
    """The expiration report (MQFB_EXPIRATION) a message asked for, or None; parameters as of `exception_report`."""
    return _report(md, body, _EXPIRATION, feedback=c.MQFB_EXPIRATION, queue_manager=queue_manager)


_EXCEPTION = (c.MQRO_EXCEPTION, c.MQRO_EXCEPTION_WITH_DATA, c.MQRO_EXCEPTION_WITH_FULL_DATA)
_EXPIRATION = (c.MQRO_EXPIRATION, c.MQRO_EXPIRATION_WITH_DATA, c.MQRO_EXPIRATION_WITH_FULL_DATA)


def _report(
    md: MQMD, body: bytes, options: tuple[int, int, int], *, feedback: int, queue_manager: str
) -> Report | None:
    plain, with_data, with_full_data = options
    wanted = md.report & with_full_data
    queue = before_nul(md.reply_to_q)
    if not wanted & plain or not queue:
        return None
    if wanted == with_full_data:
        data = body
    elif wanted == with_data:
        data = body[: headers_length(md, body) + SHORT_DATA]
    else:
        data = b""
    return Report(
        queue=queue,
        queue_manager=before_nul(md.reply_to_q_mgr),
        md=report_descriptor(md, len(body), feedback=feedback, queue_manager=queue_manager),
        body=data,
    )


def report_descriptor(md: MQMD, length: int, *, feedback: int, queue_manager: str) -> MQMD:
    """The descriptor of a report about a message with this descriptor and a body of `length` bytes."""
    pass_on = bool(md.report & c.MQRO_PASS_DISCARD_AND_EXPIRY)
    segment = bool(md.msg_flags & c.MQMF_SEGMENT)
    return MQMD(
        report=md.report & c.MQRO_DISCARD_MSG if pass_on else c.MQRO_NONE,
        msg_type=c.MQMT_REPORT,
        expiry=md.expiry if pass_on else c.MQEI_UNLIMITED,
        feedback=feedback,
        encoding=md.encoding,
        coded_char_set_id=md.coded_char_set_id,
        format=md.format,
        priority=md.priority,
        persistence=md.persistence,
        msg_id=md.msg_id if md.report & c.MQRO_PASS_MSG_ID else c.MQMI_NONE,
        correl_id=correl_id_of_answer(md),
        reply_to_q_mgr=queue_manager,
        group_id=md.group_id,
        msg_seq_number=md.msg_seq_number,
        offset=md.offset,
        msg_flags=md.msg_flags,
        original_length=length if segment and md.original_length == c.MQOL_UNDEFINED else md.original_length,
    )


def correl_id_of_answer(md: MQMD) -> bytes:
    """CorrelId of a report or reply: the original's with MQRO_PASS_CORREL_ID, else the original MsgId."""
    return md.correl_id if md.report & c.MQRO_PASS_CORREL_ID else md.msg_id


def headers_length(md: MQMD, body: bytes) -> int:
    """Bytes of the MQ headers a body begins with; 0 where they are not what the Format promises."""
    try:
        return walk(md.format, md.encoding, md.coded_char_set_id, body, q_mgr_ccsid=1208).payload_offset
    except WireError:
        return 0
