"""The queue manager's clock, as the answer to an inquiry tells it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from mqops.errors import mq_error
from mqops.mq.inquire import FEW_ANSWERS, command_server
from mqops.mq.library import library
from mqops.mq.session import Session
from mqwire import constants as c

RESOLUTION = timedelta(milliseconds=10)
"""Of PutTime."""
_VERB = "MQCMD_INQUIRE_Q_MGR"


def clock_ahead(session: Session, now: Callable[[], datetime]) -> tuple[timedelta, timedelta]:
    """How much the queue manager's clock is ahead of this machine's, at least and at most; negative where it is behind.

    PutDate and PutTime of a message are the queue manager's time, UTC (IBM MQ, "PutTime"). The command server puts an
    answer to each inquiry, between the two moments when this machine asked and had it. No application's queue gets a
    message.

    Parameters: `now` this machine's time, UTC.

    Raises:
        MQError: the command server refused or did not answer.
    """
    with command_server(session, _VERB, session.name) as server:
        asked = now()
        date, time = _answered(library(), session, server)
        answered = now()
    put = _time(date, time)
    return put - answered, put + RESOLUTION - asked


def _answered(mqi: Any, session: Session, server: Any) -> tuple[bytes, bytes]:
    """PutDate and PutTime of the first answer to an inquiry of the queue manager. Raises `MQMIError`."""
    asked = mqi.CFH(Version=c.MQCFH_VERSION_3, Type=c.MQCFT_COMMAND_XR, Command=c.MQCMD_INQUIRE_Q_MGR, ParameterCount=0)
    md = mqi.MD(
        Format=c.MQFMT_ADMIN.encode(),
        MsgType=c.MQMT_REQUEST,
        ReplyToQ=server.reply_queue_name,
        Expiry=FEW_ANSWERS // 100,
    )
    commands = mqi.Queue(session.pymqi_manager, server.command_queue_name, c.MQOO_OUTPUT)
    commands.put(asked.pack(), md, mqi.PMO(Options=c.MQPMO_NO_SYNCPOINT))
    commands.close()
    got = mqi.MD(CorrelId=md.MsgId)
    options = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_WAIT
    how = mqi.GMO(
        Version=c.MQGMO_VERSION_2, Options=options, MatchOptions=c.MQMO_MATCH_CORREL_ID, WaitInterval=FEW_ANSWERS
    )
    server.reply_queue.get(None, got, how)
    return got.PutDate, got.PutTime


def _time(date: bytes, time: bytes) -> datetime:
    """The time of YYYYMMDD and HHMMSSTH. Raises `MQError` if that is not a valid time."""
    try:
        seconds = datetime.strptime((date + time[:6]).decode("ascii"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return seconds + timedelta(milliseconds=10 * int(time[6:8]))
    except ValueError:
        raise mq_error(
            c.MQCC_FAILED, c.MQRC_UNEXPECTED_ERROR, verb=_VERB, advice="Its answer has no put time"
        ) from None
