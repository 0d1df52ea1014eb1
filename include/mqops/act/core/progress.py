"""How far acting on a plan has come: counts of messages, and the position of each lane. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NotRequired

from typing_extensions import TypedDict

from mqops.counted import counted, time_to_go
from mqops.model import AsJson


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDone:
    """One committed unit of work: the rows of the positions `first` up to `next` of a lane, and how many of them were
    moved, discarded, tried and failed (`failed`), no longer there (`absent`), or left untried (`left`). `held`:
    destination → why rows to it failed or were left; `to`: destination → rows that were moved there."""

    lane: int
    first: int
    next: int
    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    left: int = 0
    held: Mapping[str, str] = field(default_factory=dict)
    to: Mapping[str, int] = field(default_factory=dict)


COUNTS = ("moved", "discarded", "failed", "absent", "left")
MOST_HELD = 50
"""Destinations that a tally names; there may be one a message."""
ELSEWHERE = "other queues"
"""What stands for the destinations that are not named."""


class TallyJson(TypedDict):
    """A tally in a file: one that lacks a number says nothing."""

    moved: int
    discarded: int
    failed: int
    absent: int
    left: int
    reached: dict[int, int]
    held: dict[str, str]
    to: NotRequired[dict[str, int]]


class ProgressJson(TypedDict):
    """`LiveProgress` in a file."""

    at: str
    planned: int
    seconds: float
    tally: TallyJson


@dataclass(slots=True, kw_only=True)
class Tally(AsJson):
    """The sum of units of work.

    Attributes: `moved` to `left` as in `UnitDone`; `reached` lane → the position that it has come to, which includes
    what earlier executions did; `held` and `to` as in `UnitDone`, the newest reason for each destination.
    """

    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    left: int = 0
    reached: dict[int, int] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    to: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Messages that this execution dealt with."""
        return self.moved + self.discarded + self.failed + self.absent + self.left

    def add(self, unit: UnitDone) -> None:
        """Add a unit of work."""
        self._count(unit)
        self.reach(unit.lane, unit.next)

    def reach(self, lane: int, position: int) -> None:
        """A lane has come to this position, or further."""
        self.reached[lane] = max(position, self.reached.get(lane, 0))

    def merge(self, others: Iterable[Tally]) -> Tally:
        """This one and the tallies of other processes in one. No unit of work is in two of them."""
        merged = Tally()
        for one in (self, *others):
            merged._count(one)
            for lane, position in list(one.reached.items()):  # another thread may add a lane
                merged.reach(lane, position)
        return merged

    def _count(self, more: UnitDone | Tally) -> None:
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(more, name))
        for destination, why in list(more.held.items()):
            if destination in self.held or len(self.held) < MOST_HELD:
                self.held[destination] = why
        for destination, messages in list(more.to.items()):
            name = destination if destination in self.to or len(self.to) < MOST_HELD else ELSEWHERE
            self.to[name] = self.to.get(name, 0) + messages

    def line(self, planned: int, seconds: float, put: str = "moved") -> str:
        """For people: how many of the `planned` messages are done, `seconds` after this execution began.

        Parameters: `put` what is said of a message that was put (`mqops.actions.moved_word`).
        """
        overall = sum(self.reached.values())
        before = overall - self.done
        rate = f"{self.done / seconds if seconds >= 1 else self.done:,.0f}"
        counts = f"{self.moved:,} {put}, {self.discarded:,} discarded, {self.failed:,} failed, {self.left:,} left"
        more = (f", {self.absent:,} gone" if self.absent else "") + (f", {before:,} before" if before > 0 else "")
        to_go = time_to_go(planned - overall, self.done / seconds) if seconds >= 1 else ""
        speed = f"{rate} a second{f', {to_go}' if to_go else ''}"
        return f"{overall:,} of {counted(planned, 'message')} done, {speed}: {counts}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveProgress(AsJson):
    """How far an execution of act has come.

    Parameters: `at` when this was so, ISO 8601 UTC; `planned` messages that are acted on; `seconds` since it began.
    """

    at: str
    planned: int
    seconds: float
    tally: Tally

    @property
    def overall(self) -> int:
        """Messages that are dealt with, those of earlier executions too."""
        return sum(self.tally.reached.values())

    @property
    def before(self) -> int:
        """Messages that earlier executions dealt with."""
        return max(0, self.overall - self.tally.done)

    @property
    def per_second(self) -> float:
        """Messages a second since this execution began."""
        return self.tally.done / self.seconds if self.seconds >= 1 else float(self.tally.done)

    @property
    def to_go(self) -> str:
        """How long the rest takes, in words; "" where that cannot be told."""
        return time_to_go(self.planned - self.overall, self.per_second)
