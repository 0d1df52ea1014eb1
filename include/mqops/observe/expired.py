"""How many messages a look at queues made the queue manager discard, because their lifetime was over (E03).

The depth of a queue counts expired messages until a browse comes by them (E05). So the difference of the depths before
and after a browse is what was discarded, if nobody else put or got meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from mqops.errors import MQError
from mqops.mq.inquire import base_queue, depth, queue_attribute
from mqops.mq.session import Session
from mqops.observe.core.expired import Expired
from mqwire import constants as c


class QueueState(NamedTuple):
    """The depth of a queue, -1 if it is not known, and whether others have it open for input or output."""

    depth: int
    busy: bool


QueueStates: TypeAlias = Mapping[str, QueueState]


def states_of(session: Session, queues: Iterable[str]) -> QueueStates:
    """The state of each queue now. Raises `MQError` for a lost connection; any other error leaves it unknown."""
    return {queue: _state_of(session, queue) for queue in queues}


def known_depth(states: QueueStates, limit: int = 0) -> int:
    """How many messages are on queues; 0 where that is not known. Parameters: `limit` most of each, 0 for all."""
    depths = [state.depth for state in states.values()]
    return 0 if min(depths, default=-1) < 0 else sum(min(depth, limit or depth) for depth in depths)


def discarded(before: QueueStates, after: QueueStates) -> dict[str, Expired]:
    """Queue → what a browse between the two looks discarded; queues without such messages are left out."""
    found = {}
    for queue, state in before.items():
        now = after[queue]
        if min(state.depth, now.depth) >= 0 and state.depth > now.depth:
            found[queue] = Expired(state.depth - now.depth, exact=not (state.busy or now.busy))
    return found


def _state_of(session: Session, queue: str) -> QueueState:
    try:
        base = base_queue(session, queue)
        users = (c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT)
        return QueueState(depth(session, queue), any(int(queue_attribute(session, base, one)) > 0 for one in users))
    except MQError as error:
        error.raise_if_lost()
        return QueueState(-1, busy=True)
