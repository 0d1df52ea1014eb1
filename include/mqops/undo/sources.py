"""What an undo finds of the queues that it takes from, before anybody approves it: would they give their messages?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqops.act.core.scope import SOURCE
from mqops.act.mover_port import BROWSE_OPTIONS, OPEN_OPTIONS
from mqops.decide.core.preflight import Finding
from mqops.errors import MQError
from mqops.mq.session import Session
from mqwire import constants as c

_LOOK = BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST | c.MQGMO_ACCEPT_TRUNCATED_MSG
_REMEDIES = {
    c.MQRC_OBJECT_IN_USE: "An application has it to itself: let it end, or undo what is there later",
    c.MQRC_NOT_AUTHORIZED: "Give the connection's user GET and BROWSE on it",
}


def judge_sources(session: Session, queues: Iterable[str]) -> Iterator[Finding]:
    """A problem for each queue that cannot be opened for input or read now. Nothing is got.

    Raises:
        MQError: the queue manager is to blame, not the queue.
    """
    for queue in queues:
        try:
            handle = session.open(queue, OPEN_OPTIONS)
            try:
                session.get(handle, _LOOK, room=0, name=queue)
            finally:
                session.close(handle)
        except MQError as error:
            if error.reason not in SOURCE:
                raise
            yield Finding(
                severity="problem",
                destination=queue,
                what=f"{error.verb} for input fails: {error.symbol} ({error.reason}); its messages stay there",
                remedy=_REMEDIES.get(error.reason, error.advice),
            )
