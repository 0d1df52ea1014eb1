"""Messages that loop: at or over BOTHRESH, and still on the queue from which a program gets them again and again.

The queue manager takes no action at BOTHRESH (IBM MQ, "BackoutThreshold", "BackoutRequeueQName"): the program has to.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqops.command import command
from mqops.counted import counted
from mqops.model import QueueDefinition

_NO_ACTION = "The queue manager takes no action at BOTHRESH"
_THIS, _THESE = "this program takes none", "these programs take none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison:
    """The messages of an input queue that loop.

    Parameters: `messages` how many, `most` the largest BackoutCount of them; `readers` programs that have the queue
    open for input, None where that cannot be inquired; `seen` messages that were looked at, `depth` those that are
    there; `target` the local queue that BOQNAME stands for, "" where it takes none of them.
    """

    queue: str
    threshold: int
    messages: int
    most: int
    seen: int
    depth: int
    queue_manager: str
    target: str = ""
    readers: tuple[str, ...] | None = None

    def __str__(self) -> str:
        number = counted(self.messages, "message")
        up_to = "" if self.messages == 1 else "up to "
        first = f" among its first {self.seen:,}" if self.seen < self.depth else ""
        return (
            f"{self.queue} has {number}{first} with BackoutCount {up_to}{self.most}, at or over "
            f"BOTHRESH({self.threshold}): {self._who()}"
        )

    def _who(self) -> str:
        if self.readers is None:
            return f"who reads the queue cannot be inquired. {_NO_ACTION}: the program that reads it has to"
        if not self.readers:
            return f"no program has the queue open for input now. {_NO_ACTION}, so what is there stays"
        many = len(self.readers) > 1
        return f"it is read by {', '.join(self.readers)}. {_NO_ACTION}, and {_THESE if many else _THIS}"

    @property
    def do(self) -> str:
        """What moves them."""
        where = "to BOQNAME" if self.target else "to the dead-letter queue, as BOQNAME takes none"
        return f"`{command('mqops', 'backout', 'guard', self.queue, '-m', self.queue_manager)}` moves them {where}"


def can_loop(one: QueueDefinition) -> bool:
    """Whether a queue can have such messages: it has BOTHRESH and messages, and is no transmission queue."""
    return one.kind == "local" and one.threshold > 0 and one.depth > 0 and not one.transmission
