"""All that triggers on a queue manager, each queue with its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mqops.errors import MQError
from mqops.mq.session import Session, is_gone
from mqops.trigger.core import Explanation, explain
from mqops.trigger.look import definitions, manager, triggered_queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes: `unserved` initiation queues that no program has open for input; `unused` processes that no queue names.
    """

    queue_manager: str
    queues: tuple[Explanation, ...]
    unserved: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def broken(self) -> tuple[str, ...]:
        """The queues that have to be mended."""
        return tuple(one.queue for one in self.queues if one.broken)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "queue_manager": self.queue_manager,
            "queues": [one.to_json() | {"broken": one.broken} for one in self.queues],
            "unserved": list(self.unserved),
            "unused": list(self.unused),
        }


def audit(session: Session) -> Audit:
    """Look at every local queue with TRIGGER or an INITQ. A queue that is deleted meanwhile is left out.

    Raises:
        MQError: the command server refuses, or an object may not be inquired.
    """
    of, there = manager(session), definitions(session)
    found, unserved = [], set()
    for name in there.queues:
        try:
            queue = triggered_queue(session, name, of)
        except MQError as error:
            if is_gone(error):
                continue
            raise
        found.append(explain(queue))
        if queue.initiation is not None and queue.initiation.local and not queue.initiation.open_input:
            unserved.add(queue.initiation_name)
    return Audit(
        queue_manager=of.name,
        queues=tuple(found),
        unserved=tuple(sorted(unserved)),
        unused=tuple(name for name in there.processes if name not in there.named),
    )
