"""Which queues are worth a scan for expired messages (E16): by their depth now, and by what earlier scans taught.

| the queue                                              | scan                    |
|--------------------------------------------------------|-------------------------|
| is empty                                               | no                      |
| was never scanned                                      | yes                     |
| has a message whose time has run out since             | yes                     |
| has another depth, or another last put, than it had    | yes                     |
| was not looked at for a long time (`recheck`)          | yes                     |
| otherwise                                              | no                      |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from mqops.counted import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A local queue at this moment.

    Parameters: `last_put` as the queue manager tells it, blank where it does not (MONQ(OFF)); `shared` whether a
    queue-sharing group has the queue.
    """

    name: str
    depth: int
    get_allowed: bool = True
    last_put: str = ""
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the last scan of a queue taught.

    Parameters: `scanned_at` and `next_expiry` ISO 8601, UTC; `next_expiry` blank where nothing there expires; `depth`
    after the scan; `last_put` before it.
    """

    scanned_at: str
    depth: int
    next_expiry: str = ""
    last_put: str = ""

    def still_holds(self, *, depth: int, last_put: str) -> bool:
        """Whether no message has come or gone since, as far as is known.

        Parameters: `depth` and `last_put` of now, `last_put` blank where the queue manager does not tell it.
        """
        return depth == self.depth and last_put in ("", self.last_put)


def worth_scanning(
    queues: Iterable[QueueNow], known: Mapping[str, Known], *, now: datetime, recheck: timedelta
) -> dict[str, str]:
    """Queue → why it is worth a scan, of those that are."""
    reasons = {queue.name: _why(queue, known.get(queue.name), now, recheck) for queue in queues}
    return {name: why for name, why in reasons.items() if why}


def _why(queue: QueueNow, known: Known | None, now: datetime, recheck: timedelta) -> str:
    if not queue.depth or not queue.get_allowed:
        return ""
    if known is None:
        return "never scanned"
    due = bool(known.next_expiry) and now >= datetime.fromisoformat(known.next_expiry)
    reasons = (
        (due, f"a message expired at {known.next_expiry}"),
        (queue.depth != known.depth, f"{counted(queue.depth, 'message')}, {known.depth:,} after the last scan"),
        (queue.last_put != known.last_put, "messages were put since the last scan"),
        (now - datetime.fromisoformat(known.scanned_at) >= recheck, f"last scanned at {known.scanned_at}"),
    )
    return next((text for holds, text in reasons if holds), "")


def differing_intervals(intervals: Mapping[str, timedelta | None], name: str) -> str:
    """A sentence if members of a queue-sharing group are scanned at different intervals (E17), else "".

    Parameters: `intervals` queue manager → its interval, None without a schedule; `name` the one that is scanned now.
    """
    others = {one: interval for one, interval in intervals.items() if interval and interval != intervals[name]}
    if not others or not intervals[name]:
        return ""
    there = ", ".join(f"{one} each {interval}" for one, interval in sorted(others.items()))
    return f"{name} is scanned each {intervals[name]}, other members of its queue-sharing group are not: {there}"
