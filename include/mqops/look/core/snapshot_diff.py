"""The result of comparing two snapshots, and what is to be said of it. Values only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from mqops.as_json import JsonObject


class Change(Enum):
    """What became of messages between A and B. `BACKOUT_COUNT` is a part of `STAYED`."""

    ARRIVED = "arrived"
    LEFT = "left"
    STAYED = "stayed"
    BACKOUT_COUNT = "backout_count_changed"


class Group(NamedTuple):
    """Messages that have these in common. Parameters: `reason` MQRC_ or MQFB_ name, "" without an MQDLH; `rule` of the
    run's plan, "" where there is no plan, or no rule for them."""

    queue: str
    reason: str
    application: str
    rule: str


class Counted(NamedTuple):
    """Messages of a group, in the order of `Change`."""

    arrived: int
    left: int
    stayed: int
    backout_count_changed: int

    def __bool__(self) -> bool:
        """Whether anything is otherwise."""
        return bool(self.arrived or self.left or self.backout_count_changed)


class Example(NamedTuple):
    """A message that is named. Parameters: `msg_id` hexadecimal."""

    queue: str
    msg_id: str


class Looked(NamedTuple):
    """What a snapshot says of itself. Parameters: `named` run's key or folder; `observed_at` ISO 8601, "" where it does
    not say; `whole` whether it has every message of its queues; `queues` that it has looked at, None if not known;
    `unseen` those that it should have looked at and could not."""

    named: str
    observed_at: str
    whole: bool
    queues: frozenset[str] | None
    unseen: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff:
    """What B has otherwise than A. Parameters: `groups` those with most changes first; `examples` the first messages of
    each kind of change."""

    a: Looked
    b: Looked
    groups: tuple[tuple[Group, Counted], ...]
    examples: Mapping[Change, tuple[Example, ...]]

    @classmethod
    def of(
        cls,
        a: Looked,
        b: Looked,
        groups: Mapping[Group, Sequence[int]],
        examples: Mapping[Change, Sequence[Example]],
    ) -> SnapshotDiff:
        """Parameters: `groups` with their counts in the order of `Change`."""
        found = [(group, Counted(*counts)) for group, counts in groups.items()]
        found.sort(key=lambda one: (-one[1].arrived - one[1].left - one[1].backout_count_changed, one[0]))
        named = {change: tuple(one) for change, one in examples.items()}
        return cls(a=a, b=b, groups=tuple(found), examples=named)

    @property
    def total(self) -> Counted:
        """All groups together."""
        return Counted(*(sum(counts[n] for _, counts in self.groups) for n in range(len(Counted._fields))))

    def by(self, name: str) -> tuple[tuple[str, Counted], ...]:
        """The counts by one field of `Group`, in the order of the groups."""
        sums: dict[str, list[int]] = {}
        place = Group._fields.index(name)
        for group, counts in self.groups:
            own = sums.setdefault(group[place], [0] * len(counts))
            sums[group[place]] = [one + more for one, more in zip(own, counts, strict=True)]
        return tuple((value, Counted(*counts)) for value, counts in sums.items())

    def remarks(self, named: Callable[[str], str] = str) -> list[str]:
        """What the reader must know about the comparison. Parameters: `named` what a snapshot is called, by its name
        (`Looked.named`)."""
        return list(_remarks(*(one._replace(named=named(one.named)) for one in (self.a, self.b))))

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return {
            "a": self.a.named,
            "b": self.b.named,
            **self.total._asdict(),
            **{f"by_{name}": [{name: one, **c._asdict()} for one, c in self.by(name)] for name in Group._fields},
            "groups": [{**group._asdict(), **counts._asdict()} for group, counts in self.groups],
            "examples": {
                change.value: [one._asdict() for one in named] for change, named in self.examples.items() if named
            },
            "remarks": self.remarks(),
        }


def _remarks(a: Looked, b: Looked) -> Iterator[str]:
    """What the reader must know: a snapshot with a part of the messages, queues that are not compared, the order."""
    if a.observed_at and b.observed_at and b.observed_at < a.observed_at:
        yield f"{b.named} is the older snapshot: what has arrived since then counts as left; name it first"
    for one, more in ((a, "arrived"), (b, "left")):
        if not one.whole:
            yield f"{one.named} has a part of the messages (a limit): what it does not have may be counted as {more}"
    if hidden := _only(a.unseen | b.unseen, {*(a.queues or ()), *(b.queues or ())}):
        yield f"not compared, the messages could not be seen: {', '.join(hidden)}"
    if a.queues is None or b.queues is None:
        yield "A folder without a run does not say which queues were looked at: one without messages may not have been"
        return
    for one, other in ((a, b), (b, a)):
        if only := _only(one.queues, other.queues):
            yield f"not compared, only {one.named} has looked at: {', '.join(only)}"


def _only(one: Collection[str] | None, other: Collection[str] | None) -> list[str]:
    return sorted({*(one or ())} - {*(other or ())})
