"""What the markers of one plan say, added up: which rows were acted on, which tries failed, how far each lane got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mqops.ledger.core.marker import Marker


@dataclass(slots=True, kw_only=True)
class Account:
    """The sum of a plan's markers.

    Attributes: `acted` row → (msg_key, action, destination queue); `failed` row → reason code of its failed try; `left`
    row → why it was not tried; `absent` rows whose message was not to be seen; `lengths` rows of each lane, empty while
    nothing was issued; `done` how far each lane is dealt with; `problems` what cannot be, in words.
    """

    acted: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    left: dict[int, str] = field(default_factory=dict)
    absent: set[int] = field(default_factory=set)
    lengths: tuple[int, ...] = ()
    done: dict[int, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def open_lanes(self) -> list[int]:
        """The lanes that have not reached their end."""
        return [lane for lane, length in enumerate(self.lengths) if self.done.get(lane, 0) < length]


def account(markers: Iterable[Marker]) -> Account:
    """Add up the markers of one plan, each given once, in any order."""
    result = Account()
    ranges: list[tuple[int, int, int]] = []
    for marker in markers:
        if marker.kind == "issued":
            if result.lengths:
                result.problems.append("the tickets of the plan were issued twice")
            result.lengths = marker.lanes
        elif marker.kind == "acted":
            ranges.append((marker.lane, marker.first, marker.next))
            _add_acted(result, marker)
            result.left.update((row, why) for why, rows in marker.left.items() for row in rows)
            result.absent.update(marker.absent)
        elif marker.kind == "failed":
            result.failed.update({row[0]: row[7] or 0 for row in marker.rows})
    _check_tiles(result, sorted(ranges))
    for name, rows in (("failed", result.failed.keys()), ("left", result.left.keys())):
        result.problems += [f"row {row} was both acted on and recorded as {name}" for row in result.acted.keys() & rows]
    return result


def _add_acted(result: Account, marker: Marker) -> None:
    for row, key, _msg_id, action, _rule, dest_q, *_rest in marker.rows:
        if row in result.acted:
            result.problems.append(f"row {row} was acted on twice")
        result.acted[row] = (key, action, dest_q)


def _check_tiles(result: Account, ranges: list[tuple[int, int, int]]) -> None:
    """The ranges of a lane's units must follow each other without gap or overlap (rule 6 of `mqops.act`)."""
    for lane, first, following in ranges:
        reached = result.done.get(lane, 0)
        if first != reached:
            kind = "overlap" if first < reached else "leave a gap"
            result.problems.append(f"lane {lane}: the units of work {kind} at position {min(first, reached)}")
        result.done[lane] = max(reached, following)
    for lane, reached in result.done.items():
        length = result.lengths[lane] if lane < len(result.lengths) else 0
        if reached > length:
            result.problems.append(f"lane {lane}: {reached} positions were dealt with, {length} were issued")


def reasons(result: Account) -> Counter[int]:
    """Reason code → number of failed tries."""
    return Counter(result.failed.values())
