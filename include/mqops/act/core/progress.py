"""How far acting on a plan has come: counts of messages, and the position of each lane. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDone:
    """One committed unit of work: the rows of the positions `first` up to `next` of a lane, and how many of them were
    moved, discarded, tried and failed (`failed`), no longer there (`absent`), or left untried (`left`)."""

    lane: int
    first: int
    next: int
    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    left: int = 0


COUNTS = ("moved", "discarded", "failed", "absent", "left")


@dataclass(slots=True, kw_only=True)
class Tally:
    """The sum of units of work.

    Attributes: `moved` to `left` as in `UnitDone`; `reached` lane → the position that it has come to, which includes
    what earlier executions did.
    """

    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    left: int = 0
    reached: dict[int, int] = field(default_factory=dict)

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

    def line(self, planned: str, seconds: float) -> str:
        """For people: how many of the `planned` ("12 messages") are done, `seconds` after this execution began."""
        overall = sum(self.reached.values())
        before = overall - self.done
        rate = f"{self.done / seconds:.0f}" if seconds >= 1 else str(self.done)
        counts = f"{self.moved} moved, {self.discarded} discarded, {self.failed} failed, {self.left} left"
        more = (f", {self.absent} gone" if self.absent else "") + (f", {before} before" if before > 0 else "")
        return f"{overall} of {planned} done, {rate} a second: {counts}{more}"

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tally:
        """What `to_json` made. Raises `ValueError`, `TypeError`, `KeyError`, `AttributeError` for anything else."""
        reached = {int(lane): int(position) for lane, position in value["reached"].items()}
        return cls(**{name: int(value[name]) for name in COUNTS}, reached=reached)
