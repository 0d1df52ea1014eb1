"""Trigger messages that start nothing go to the dead-letter queue with an MQDLH, as runmqtrm puts them.

One kind does not: a trigger message for the dead-letter queue itself. There it would be one more message that triggers,
and with TRIGTYPE(EVERY) without end. It is dropped, and the log says so. The messages that it was made for stay.
"""

from __future__ import annotations

import os
from datetime import datetime

from mqops.backout.core.disposal import dead_letter_header, dead_lettered
from mqops.errors import mq_error
from mqops.mq.inquire import base_queue_if_known, dead_letter_queue, queue_manager_name
from mqops.mq.session import PASS_CONTEXT_OPTIONS, RawMessage, Session
from mqops.trigger.core.trigger_message import Unusable
from mqwire import constants as c
from mqwire.structures import MQMD

APPLICATION = "mqops trigger monitor"
APPL_TYPE = c.MQAT_WINDOWS_NT if os.name == "nt" else c.MQAT_UNIX
_PUT = c.MQPMO_SYNCPOINT | c.MQPMO_FAIL_IF_QUIESCING | c.MQPMO_PASS_ALL_CONTEXT


def put_dead_letter(
    session: Session, source: int, queue: str, got: RawMessage, unusable: Unusable, *, at: datetime
) -> str:
    """Dead-letter a message that was just got under syncpoint: get and put are one unit of work.

    Returns the DEADQ, or nothing where the message is for the DEADQ itself (or, where DEADQ is an alias, for its base
    queue).

    Parameters: `source` the handle that it was got on, opened to save its context; `queue` the initiation queue;
    `got` the message; `at` the time, UTC. All of the descriptor but Format, Encoding and CCSID
    stays (D08).

    Raises:
        MQError: the dead-letter queue cannot be opened, or refuses the message.
        SettingsError: the queue manager names no dead-letter queue.
    """
    target = dead_letter_queue(session)
    if unusable.q_name and unusable.q_name in {target, base_queue_if_known(session, target)}:
        return ""
    header = dead_letter_header(
        MQMD.unpack(got.md),
        reason=unusable.reason,
        queue=queue,
        queue_manager=queue_manager_name(session),
        application=APPLICATION,
        appl_type=APPL_TYPE,
        at=at,
    )
    handle = session.open(target, PASS_CONTEXT_OPTIONS)
    try:
        refused = session.put(handle, *dead_lettered(got.md, got.body, header), _PUT, context=source)
    finally:
        session.close(handle)
    if refused:
        raise mq_error(c.MQCC_FAILED, refused, verb="MQPUT", object_name=target)
    return target
