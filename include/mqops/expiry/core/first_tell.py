"""What a look at queues lets the queue manager discard, told before anybody looks (`--first-tell`). Pure.

1. A browse makes the queue manager discard what has expired, and send the reports that were asked for (E03, E06). How
   much that is nobody can know without a browse: the histogram of the last look says what it can be of the messages
   that were there.
2. Told is what has a report or a value at stake: messages that asked for an expiration report, persistent ones, and all
   messages that wait for a person (dead-letter, backout and storage queues), those that nobody has counted included.
3. What expires within the next quarter of an hour counts as expired: the look takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from mqops.counted import counted
from mqops.expiry.core.candidates import Kind, Known, QueueNow
from mqops.expiry.core.histogram import QUARTER, Stake


@dataclass(frozen=True, slots=True, kw_only=True)
class AtStake:
    """A queue. Parameters: `due` messages that have expired, as far as the last look knows; `uncounted` messages that
    came since, or that nobody has counted."""

    queue: str
    kind: Kind
    due: Stake
    uncounted: int = 0

    def sentence(self) -> str:
        """What a look at it does."""
        known = ""
        if self.due.messages:
            more = (
                f"{counted(self.due.reports, 'expiration report is', 'expiration reports are')} sent"
                if self.due.reports
                else "",
                f"{counted(self.due.persistent, 'is', 'are')} persistent" if self.due.persistent else "",
            )
            known = ", ".join((f"discards up to {counted(self.due.messages, 'expired message')}", *filter(None, more)))
        rest = (
            f"discards what has expired of {counted(self.uncounted, 'message')} that no look has counted"
            if self.uncounted and self.kind.waits
            else ""
        )
        return f"{self.queue} ({self.kind}): a look {'; and '.join(filter(None, (known, rest)))}"


FirstTell: TypeAlias = Callable[[Sequence[AtStake]], bool]
"""Hears what is at stake before anything is browsed, and says whether these queues are to be looked at."""


def at_stake(
    queues: Iterable[QueueNow], candidates: Collection[str], known: Mapping[str, Known], *, now: datetime
) -> Iterator[AtStake]:
    """The candidates that rule 2 names, those first on which messages wait for a person."""
    found = (_of(one, known.get(one.name), now) for one in queues if one.name in candidates)
    order = tuple(Kind)
    told = (one for one in found if one.due.reports or one.due.persistent or _waits(one))
    yield from sorted(told, key=lambda one: (order.index(one.kind), one.queue))


def _waits(one: AtStake) -> bool:
    return one.kind.waits and bool(one.due.messages or one.uncounted)


def _of(queue: QueueNow, known: Known | None, now: datetime) -> AtStake:
    counts = known.histogram if known else None
    if known is None or counts is None:
        return AtStake(queue=queue.name, kind=queue.kind, due=Stake(), uncounted=queue.depth)
    due = counts.until(now + timedelta(seconds=QUARTER))
    if known.still_holds(depth=queue.depth, last_put=queue.last_put):
        return AtStake(queue=queue.name, kind=queue.kind, due=due)
    came = queue.depth - known.depth
    return AtStake(queue=queue.name, kind=queue.kind, due=due, uncounted=came if came > 0 else queue.depth)
