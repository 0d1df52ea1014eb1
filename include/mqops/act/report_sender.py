"""Reports that are sent in the unit of work that made them necessary (rules 3 and 4 of `mqops.expiry.core.age_out`)."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime

from mqops.act.core.port import Taken
from mqops.act.core.scope import Scope, scope_of
from mqops.actions import OF_NOBODY
from mqops.backout.core.disposal import dead_letter_header, dead_lettered
from mqops.decide.core.protected import is_protected
from mqops.errors import MQError, SettingsError
from mqops.mq.inquire import dead_letter_queue, queue_manager_name, resolve_queue
from mqops.mq.session import Session
from mqops.report import Report, exception_report, expiration_report
from mqwire import constants as c
from mqwire.fields import before_nul
from mqwire.structures import MQMD

OPEN_OPTIONS = c.MQOO_OUTPUT | c.MQOO_PASS_IDENTITY_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
USER_OPTIONS = c.MQOO_OUTPUT | c.MQOO_ALTERNATE_USER_AUTHORITY | c.MQOO_FAIL_IF_QUIESCING
PUT_OPTIONS = c.MQPMO_SYNCPOINT | c.MQPMO_PASS_IDENTITY_CONTEXT | c.MQPMO_FAIL_IF_QUIESCING
APPLICATION = "mqops"
APPL_TYPE = c.MQAT_WINDOWS_NT if os.name == "nt" else c.MQAT_UNIX


def send_expiration_report(session: Session, source: int, taken: Taken) -> int:
    """Send the report that a message asked for. Returns 0 if it was sent or none was asked for, else the reason code.

    Parameters: `source` the handle the message was got on, opened to save its context.

    Raises:
        MQError: the queue manager cannot be inquired.
    """
    md = MQMD.unpack(taken.md)
    if not md.report & c.MQRO_EXPIRATION:
        return 0
    return _send(session, source, md, expiration_report(md, taken.body, queue_manager=queue_manager_name(session)))


def send_exception_report(session: Session, source: int, taken: Taken, reason: int) -> int:
    """The same for the exception report of a message that cannot go to its backout queue. Parameters: `reason` MQRC_*
    of that. Raises as `send_expiration_report`."""
    md = MQMD.unpack(taken.md)
    if not md.report & c.MQRO_EXCEPTION:
        return 0
    name = queue_manager_name(session)
    return _send(session, source, md, exception_report(md, taken.body, reason=reason, queue_manager=name))


def _send(session: Session, source: int, md: MQMD, report: Report | None) -> int:
    if report is None:
        return 0
    reason = _put_report(session, source, report, md.user_identifier)
    if not reason or scope_of(reason) in {Scope.EVERYTHING, Scope.TOO_MUCH}:
        return reason
    persistent = report.md.persistence == c.MQPER_PERSISTENT
    return _dead_letter(session, source, report, reason) if persistent else 0


def _dead_letter(session: Session, source: int, report: Report, reason: int) -> int:
    try:
        queue = dead_letter_queue(session)
    except SettingsError:
        return reason
    header = dead_letter_header(
        report.md,
        reason=reason,
        queue=report.queue,
        queue_manager=report.queue_manager or queue_manager_name(session),
        application=APPLICATION,
        appl_type=APPL_TYPE,
        at=datetime.now(UTC),
    )
    return _put(session, source, queue, *dead_lettered(report.md.pack(), report.body, header))


def _put_report(session: Session, source: int, report: Report, user: str) -> int:
    reason = refusal(session, report, user)
    if reason:
        return reason
    return _put(session, source, report.queue, report.md.pack(), report.body, queue_manager=report.queue_manager)


def refusal(session: Session, report: Report, user: str) -> int:
    """Why no report is put where a message asked for it; 0 where it may be put, else the reason code.

    The user in the message's descriptor must be allowed to put there: the queue manager puts its own reports by that
    user's authority (IBM MQ, "Report options"). To see that, the connection's user needs ALTUSR. A protected queue
    (`mqops.decide.core.protected`) and a transmission queue get no report.

    Parameters: `user` the UserIdentifier of the message.
    """
    try:
        there = resolve_queue(session, report.queue, report.queue_manager)
        if there.direct or any(is_protected(name) for name in (report.queue, there.queue, there.remote)):
            return c.MQRC_NOT_AUTHORIZED
        may_put = session.open(
            report.queue,
            USER_OPTIONS,
            queue_manager=report.queue_manager,
            alternate_user=before_nul(user) or OF_NOBODY,
        )
        session.close(may_put)
    except MQError as error:
        return error.reason
    return 0


def _put(session: Session, source: int, queue: str, md: bytes, body: bytes, *, queue_manager: str = "") -> int:
    try:
        handle = session.open(queue, OPEN_OPTIONS, queue_manager=queue_manager)
    except MQError as error:
        return error.reason
    reason = session.put(handle, md, body, PUT_OPTIONS, context=source)
    with suppress(MQError):
        session.close(handle)
    return reason
