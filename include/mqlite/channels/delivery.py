"""What a receiving channel does with one message: put it on its queue, else on the dead-letter queue, else refuse it.

Decides only what is put where; the putting is the port's. The order, as IBM's receiving MCA has it:

1. Put to the queue that the MQXQH names, all context set as the message brings it; by the authority of MCAUSER, or
   with PUTAUT(CTX) of the message's user, of whom IBM MQ wants PUT, and of MCAUSER SETALL and ALTUSR then ("PUT
   authority (PUTAUT)"). A message without a user is not delivered so.
2. Failed with a reason that may pass (full, inhibited): try again MRRTY times, MRTMR milliseconds apart.
3. The message asks so (MQRO_DISCARD_MSG): discard it.
4. USEDLQ(YES) and the queue manager has a DEADQ: put it there, prefixed with an MQDLH in this queue manager's CCSID and
   encoding (P01).
5. NPMSPEED(FAST) and the message is not persistent: discard it (P04).
6. Else the message stays on the transmission queue and the channel stops (P03, P06).

After 3, 4 and 5 the exception report follows that the message asked for (MQRO_EXCEPTION...). It and what is put by 4
are put by the authority of MCAUSER, whatever PUTAUT is ("Message channel agent user identifier (MCAUSER)"); for the
report the message's user needs PUT and PASSID besides, as for any other (`mqlite.reports.reports`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from mqlite.channels.port import Port, Refused
from mqlite.messages.transmitted import Transmitted
from mqlite.reports.report_message import EXCEPTION, descriptor, kept_length
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.structures import MQDLH, MQMD, MQMDE, MQXQH

PASSING = frozenset(
    {c.MQRC_PUT_INHIBITED, c.MQRC_Q_FULL, c.MQRC_OBJECT_IN_USE, c.MQRC_Q_SPACE_NOT_AVAILABLE, c.MQRC_RESOURCE_PROBLEM}
)
BROKEN = frozenset(
    {c.MQRC_CONNECTION_BROKEN, c.MQRC_Q_MGR_NOT_AVAILABLE, c.MQRC_Q_MGR_STOPPING, c.MQRC_UNEXPECTED_ERROR}
)


class Outcome(Enum):
    """What became of a message."""

    DELIVERED = "delivered"
    DEAD_LETTERED = "dead-lettered"
    DISCARDED = "discarded"


class Undeliverable(Exception):
    """The message can neither be put nor dead-lettered nor discarded: the channel has to stop."""

    def __init__(self, reason: int, queue: str) -> None:
        super().__init__(f"reason {reason} for queue {queue}")
        self.reason = reason
        self.queue = queue
        self.token = b""  # of the message on the transmission queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The attributes of a channel end that decide. retry_interval: milliseconds.

    user: MCAUSER, whose authority counts on the queues, blank for that of the queue manager; by_context: PUTAUT(CTX),
    the message's user counts on the queue that the message is for.
    """

    use_dead_letter_queue: bool = True
    fast: bool = True
    retry_count: int = 0
    retry_interval: int = 1000
    user: str = ""
    by_context: bool = False


def unwrap(md: MQMD, body: bytes) -> Transmitted:
    """Take the MQXQH off, and an MQMDE that follows it into the descriptor. Expiry goes on counting.

    Raises WireError if the message is not one of a transmission queue.
    """
    if md.format != c.MQFMT_XMIT_Q_HEADER:
        raise WireError("MQXQH", "StrucId", 0, f"format of the message is {md.format!r}, not MQXMIT")
    header = MQXQH.unpack(body, encoding=md.encoding, ccsid=md.coded_char_set_id)
    inner = replace(header.msg_desc, version=c.MQMD_VERSION_2, expiry=remaining(md.expiry, header.msg_desc.expiry))
    start = MQXQH.LAYOUT.size
    if inner.format == c.MQFMT_MD_EXTENSION:
        extension = MQMDE.unpack(body, offset=start, encoding=inner.encoding, ccsid=inner.coded_char_set_id)
        start += extension.struc_length
        inner = replace(
            inner,
            format=extension.format,
            encoding=extension.encoding,
            coded_char_set_id=extension.coded_char_set_id,
            group_id=extension.group_id,
            msg_seq_number=extension.msg_seq_number,
            offset=extension.offset,
            msg_flags=extension.msg_flags,
            original_length=extension.original_length,
        )
    return Transmitted(
        queue=before_nul(header.remote_q_name),
        queue_manager=before_nul(header.remote_q_mgr_name),
        md=inner,
        body=body[start:],
    )


def remaining(outer: int, inner: int) -> int:
    """Tenths of a second a message has left: its own expiry, or where that has run out (0) the outer one's (E13)."""
    return inner if inner > 0 or inner == c.MQEI_UNLIMITED else outer


def deliver(
    port: Port, message: Transmitted, rules: Rules, *, now: Callable[[], datetime], pause: Callable[[float], bool]
) -> Outcome:
    """Put one message under the port's unit of work.

    `pause(seconds)` waits between tries and says False when the channel is to stop. Raises Undeliverable if the message
    has to stay where it is, Refused if the port's queue manager itself is gone.
    """
    reason = _put(port, message, rules, pause)
    if reason is None:
        return Outcome.DELIVERED
    return dispose_of_undeliverable(port, message, reason, rules, now=now)


def _put(port: Port, message: Transmitted, rules: Rules, pause: Callable[[float], bool]) -> int | None:
    """The reason why the message could not be put, None if it could."""
    tries = 0
    if rules.by_context and not message.user:
        return c.MQRC_NOT_AUTHORIZED
    alternate = message.user if rules.by_context else ""
    while True:
        reason = refusal(port, message, rules.user, alternate)
        if not reason:
            return None
        if reason not in PASSING or tries >= rules.retry_count:
            return reason
        tries += 1
        if not pause(rules.retry_interval / 1000):
            return reason


def dispose_of_undeliverable(
    port: Port, message: Transmitted, reason: int, rules: Rules, *, now: Callable[[], datetime],
    putter: str | None = None,
) -> Outcome:  # fmt: skip
    """Put a message that cannot be delivered on the port's dead-letter queue, or discard it, or refuse it.

    An exception report follows, if the message asks for one. `putter`: who put it on the transmission queue, where that
    is known, and its MQXQH perhaps of the putter's own making: the report needs that user's authority, not that of the
    one whom the message names. Raises Undeliverable.
    """
    unwanted = bool(message.md.report & c.MQRO_DISCARD_MSG)
    if not unwanted and rules.use_dead_letter_queue and put_dead_letter(port, message, reason, rules.user, now()):
        outcome = Outcome.DEAD_LETTERED
    elif unwanted or (rules.fast and not message.persistent):
        outcome = Outcome.DISCARDED
    else:
        raise Undeliverable(reason, message.queue)
    putter = message.user if putter is None else putter
    report_exception(port, message, reason, now(), user=rules.user, putter=putter)
    return outcome


def put_dead_letter(port: Port, message: Transmitted, reason: int, user: str, now: datetime) -> bool:
    """Put a message on the port's dead-letter queue as a user; False if there is none, or it refuses."""
    queue = port.dead_letter_queue()
    if not queue:
        return False
    md, body = dead_letter(port, message, reason, now)
    return refusal(port, Transmitted(queue=queue, queue_manager="", md=md, body=body), user) == 0


def report_exception(
    port: Port, message: Transmitted, reason: int, now: datetime, *, user: str, putter: str
) -> None:  # fmt: skip
    """Send the exception report that a message asks for, as a user.

    One that has no place, or that the message's putter may not have put there, is dead-lettered if it is persistent.
    """
    original = message.md
    asked = original.report & EXCEPTION.full
    if not asked & EXCEPTION.plain:
        return
    md = descriptor(
        original, reason, msg_id=c.MQMI_NONE, queue_manager=port.queue_manager, appl_type=port.appl_type,
        appl_name=port.appl_name,
    )  # fmt: skip
    report = Transmitted(
        queue=before_nul(original.reply_to_q),
        queue_manager=before_nul(original.reply_to_q_mgr),
        md=md,
        body=message.body[: kept_length(original, message.body, asked, EXCEPTION)],
    )
    failed = refusal(port, report, user, reported=putter)
    if failed and report.persistent:
        put_dead_letter(port, report, failed, user, now)


def refusal(
    port: Port, message: Transmitted, user: str, alternate: str = "", *, reported: str | None = None
) -> int:  # fmt: skip
    """Put a message; 0, or the reason why the queue does not take it. Raises Refused if the port itself is gone.

    Parameters: `user` and `alternate` as of `Port.put`; `reported` who put the message that this one is a report on.
    """
    queue, queue_manager = message.queue, message.queue_manager
    try:
        if reported is not None:
            port.check_report(queue, queue_manager, user=reported)
        port.put(queue, queue_manager, message.md, message.body, user=user, alternate=alternate)
    except Refused as refused:
        if refused.reason in BROKEN:
            raise
        return refused.reason
    return 0


def dead_letter(port: Port, message: Transmitted, reason: int, now: datetime) -> tuple[MQMD, bytes]:
    """Descriptor and data for the dead-letter queue: an MQDLH in the port's CCSID and encoding, then the data.

    The descriptor stays the message's own but for Format, Encoding and CodedCharSetId.
    """
    header = MQDLH(
        reason=reason,
        dest_q_name=message.queue,
        dest_q_mgr_name=message.queue_manager,
        encoding=message.md.encoding,
        coded_char_set_id=message.md.coded_char_set_id,
        format=message.md.format,
        put_appl_type=port.appl_type,
        put_appl_name=port.appl_name,
        put_date=now.strftime("%Y%m%d"),
        put_time=now.strftime("%H%M%S") + f"{now.microsecond // 10_000:02d}",
    )
    md = replace(
        message.md,
        format=c.MQFMT_DEAD_LETTER_HEADER,
        encoding=port.encoding,
        coded_char_set_id=port.ccsid,
    )
    return md, header.pack(encoding=port.encoding, ccsid=port.ccsid) + message.body
