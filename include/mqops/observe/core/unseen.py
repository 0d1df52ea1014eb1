"""A queue that has a depth and gives a browse nothing, in words: no sentence calls it empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqops.counted import counted
from mqops.model import ObserveSummary

NOT_BROWSED = "and a browse is given none of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit of work that is open. Parameters: `since` date and time, "" where the queue manager does not say;
    `on_queue` whether its program has the queue open."""

    program: str
    user: str = ""
    since: str = ""
    on_queue: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What the queue manager tells of such a queue.

    Parameters: `depth` in messages, `uncommitted` UNCOM, None where it does not say; `oldest` the oldest unit of work,
    None where none is known; `browsed` whether a browse was tried, which gave nothing.
    """

    queue: str
    depth: int
    uncommitted: bool | None = None
    oldest: Unit | None = None
    browsed: bool = True

    def __str__(self) -> str:
        has = f"{self.queue} has {counted(self.depth, 'message')} (CURDEPTH)"
        if not self.browsed:
            return f"{has} and open units of work (UNCOM){self._unit()}"
        has += f", {NOT_BROWSED}"
        if self.uncommitted is None:
            return f"{has}: they are not committed, or locked by a browse, or expired; its status cannot be inquired"
        if not self.uncommitted:
            return f"{has}: they are locked by a browse, or expired"
        if self.oldest is None:
            return f"{has}: they are not committed (UNCOM); whose unit of work has them is not known"
        return f"{has}: they are not committed (UNCOM){self._unit()}"

    def _unit(self) -> str:
        """The oldest unit of work, "" where none is known."""
        if self.oldest is None:
            return ""
        user = f" ({self.oldest.user})" if self.oldest.user else ""
        of = f"{self.oldest.program or 'a program without a name'}{user}"
        since = f" since {self.oldest.since}" if self.oldest.since else ""
        where = "" if self.oldest.on_queue else " of the queue manager"
        return f"; the oldest unit of work{where} is of {of}{since}"


def unseen_queues(observed: ObserveSummary) -> dict[str, str]:
    """Queue → why a browse got nothing from it, of those that have a depth."""
    return {one.queue: one.unseen for one in observed.queues if one.unseen}


def none_browsed(remarks: Iterable[str]) -> bool:
    """Whether one of these remarks is about such a queue."""
    return any(NOT_BROWSED in one for one in remarks)
