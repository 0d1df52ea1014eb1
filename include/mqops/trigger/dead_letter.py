"""Trigger messages that start nothing go to the dead-letter queue with an MQDLH, as runmqtrm puts them.

One kind does not: a trigger message for the dead-letter queue itself. There it would be one more message that triggers,
and with TRIGTYPE(EVERY) without end. It is dropped, and the log says so. The messages that it was made for stay.
"""

from __future__ import annotations

import os
from datetime import datetime

from mqops.backout.core.disposal import dead_letter_header, dead_lettered
from mqops.errors import mq_error
from mqops.mq.browse import browse
from mqops.mq.inquire import dead_letter_queue, queue_manager_name
from mqops.mq.session import PASS_CONTEXT_OPTIONS, RawMessage, Session
from mqops.trigger.core.trigger_message import Unusable
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.structures import MQDLH, MQMD, MQMD_LAYOUT

APPLICATION = "mqops trigger monitor"
APPL_TYPE = c.MQAT_WINDOWS_NT if os.name == "nt" else c.MQAT_UNIX
_SET_CONTEXT_OPTIONS = c.MQOO_OUTPUT | c.MQOO_SET_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
_PUT = c.MQPMO_SYNCPOINT | c.MQPMO_FAIL_IF_QUIESCING
_ids = MQMD_LAYOUT.reader("msg_id", "correl_id")
_when = MQMD_LAYOUT.reader("put_date", "put_time")


def put_in_unit(session: Session, source: int, queue: str, got: RawMessage, verdict: Unusable, *, at: datetime) -> str:
    """Dead-letter a message that was just got under syncpoint: get and put are one unit of work.

    Returns the DEADQ, or nothing where the message is for the DEADQ itself.

    Parameters: `source` the handle that it was got on, opened to save its context; `queue` the initiation queue;
    `got` the message; `at` the time, UTC. All of the descriptor but Format, Encoding and CCSID
    stays (D08).

    Raises:
        MQError: the dead-letter queue cannot be opened, or refuses the message.
        SettingsError: the queue manager names no dead-letter queue.
    """
    target = dead_letter_queue(session)
    if verdict.q_name == target:
        return ""
    header = _header(session, queue, got, verdict, at)
    _put(session, target, dead_lettered(got.md, got.body, header), PASS_CONTEXT_OPTIONS, source)
    return target


def put_later(session: Session, queue: str, got: RawMessage, verdict: Unusable, *, at: datetime) -> str:
    """Dead-letter a trigger message that left its initiation queue before, unless it lies there already; and commit.

    The context is set from the MQMD of `got`, so that the message keeps its identity (law 3): the user needs +setall.
    Parameters, returned value and errors as for `put_in_unit`; and `OutcomeUnknown`: call it again, it looks first.
    """
    target = dead_letter_queue(session)
    if verdict.q_name == target:
        return ""
    if not lies_there(session, target, queue, got.md):
        header = _header(session, queue, got, verdict, at)
        _put(session, target, dead_lettered(got.md, got.body, header), _SET_CONTEXT_OPTIONS, 0)
        session.commit()
    return target


def lies_there(session: Session, target: str, queue: str, md: bytes) -> bool:
    """Whether the dead-letter queue `target` has the message of `md` from the queue `queue`. Raises `MQError`."""
    msg_id, correl_id = _ids(md)
    return any(
        _when(found.md) == _when(md) and _came_from(found.md, found.body, queue)
        for found in browse(session, target, msg_id=msg_id, correl_id=correl_id)
    )


def _came_from(md: bytes, body: bytes, queue: str) -> bool:
    described = MQMD.unpack(md)
    if described.format != c.MQFMT_DEAD_LETTER_HEADER:
        return False
    try:
        header = MQDLH.unpack(body, encoding=described.encoding, ccsid=described.coded_char_set_id)
    except WireError:
        return False  # a message of somebody else
    return header.dest_q_name == queue


def _header(session: Session, queue: str, got: RawMessage, verdict: Unusable, at: datetime) -> MQDLH:
    return dead_letter_header(
        MQMD.unpack(got.md),
        reason=verdict.reason,
        queue=queue,
        queue_manager=queue_manager_name(session),
        application=APPLICATION,
        appl_type=APPL_TYPE,
        at=at,
    )


def _put(session: Session, target: str, letter: tuple[bytes, bytes], options: int, context: int) -> None:
    handle = session.open(target, options)
    try:
        how = c.MQPMO_PASS_ALL_CONTEXT if context else c.MQPMO_SET_ALL_CONTEXT
        refused = session.put(handle, *letter, _PUT | how, context=context)
    finally:
        session.close(handle)
    if refused:
        raise mq_error(c.MQCC_FAILED, refused, verb="MQPUT", object_name=target)
