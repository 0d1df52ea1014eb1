"""Looks at the first messages of a dead-letter queue: descriptors alone are browsed, no body travels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.session import Session
from mqops.observe.core.dead_letters import Kind, Kinds, kinds_of
from mqops.observe.core.expired import Expired
from mqops.observe.expired import discarded, states_of
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

MOST_SEEN = 1000
"""Messages that are looked at."""
_LOOK = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_BROWSE_NEXT
_kind = MQMD_LAYOUT.reader("msg_type", "feedback", "expiry")


class Look(NamedTuple):
    """Parameters: `counted` the first messages; `expired` those that the queue manager discarded by the look."""

    counted: Kinds
    expired: Expired


def first_kinds(session: Session, queue: str) -> Look:
    """The kinds of the first messages of a queue. Raises `MQError`: it cannot be browsed."""
    before = states_of(session, [queue])
    found = kinds_of(_first(session, queue))
    return Look(found, discarded(before, states_of(session, [queue])).get(queue, Expired()))


def _first(session: Session, queue: str) -> Iterator[Kind]:
    handle = session.open(queue, OPEN_OPTIONS)
    try:
        for _ in range(MOST_SEEN):
            got = session.get(handle, _LOOK, room=0, name=queue)
            if got is None:
                return
            yield Kind(*map(int, _kind(got.md)))
    finally:
        session.close(handle)
