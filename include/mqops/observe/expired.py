"""How many messages a look at queues made the queue manager discard, because their lifetime was over (E03).

The depth of a queue counts expired messages until a browse comes by them (E05). So the difference of the depths before
and after a browse is what was discarded, if nobody else put or got meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from mqops.errors import LOST_CONNECTION, MQError
from mqops.mq.inquire import base_queue, depth, queue_attribute
from mqops.mq.session import Session
from mqops.observe.core.expired import Expired
from mqwire import constants as c


class Stand(NamedTuple):
    """How deep a queue is, -1 where that cannot be told, and whether others have it open for input or output."""

    depth: int
    busy: bool


Stands: TypeAlias = Mapping[str, Stand]


def stands(session: Session, queues: Iterable[str]) -> Stands:
    """How each queue stands now. Raises `MQError` for a lost connection; what cannot be told is not known."""
    return {queue: _stand(session, queue) for queue in queues}


def discarded(before: Stands, after: Stands) -> dict[str, Expired]:
    """Queue → what a browse between the two looks discarded; queues without such messages are left out."""
    found = {}
    for queue, stand in before.items():
        now = after[queue]
        if min(stand.depth, now.depth) >= 0 and stand.depth > now.depth:
            found[queue] = Expired(stand.depth - now.depth, exact=not (stand.busy or now.busy))
    return found


def _stand(session: Session, queue: str) -> Stand:
    try:
        base = base_queue(session, queue)
        users = (c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT)
        return Stand(depth(session, queue), any(int(queue_attribute(session, base, one)) > 0 for one in users))
    except MQError as error:
        if error.reason in LOST_CONNECTION:
            raise
        return Stand(-1, busy=True)
