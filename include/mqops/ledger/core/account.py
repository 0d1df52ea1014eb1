"""The sum of the markers of one plan: which rows were acted on, which tries failed, how far each lane got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple, TypeVar

from mqops.counted import counted
from mqops.ledger.core.marker import Marker, MarkerKind

T = TypeVar("T")


class Acted(NamedTuple):
    """What a marker says was done with a row. `action` is the word in the ledger. A tuple: there can be a million."""

    msg_key: str
    action: str
    dest_q: str


@dataclass(slots=True, kw_only=True)
class Account:
    """The sum of a plan's markers.

    Attributes: `acted` row → what was done with it; `failed` row → reason code of its failed try; `left`
    row → why it was not tried; `absent` rows whose message was not on its queue; `lengths` rows of each lane, empty
    while nothing was issued; `done` how far each lane is dealt with; `silent` number of rows in these parts of the
    lanes that no marker names; `problems` contradictions, one sentence each.
    """

    acted: dict[int, Acted] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    left: dict[int, str] = field(default_factory=dict)
    absent: set[int] = field(default_factory=set)
    lengths: tuple[int, ...] = ()
    done: dict[int, int] = field(default_factory=dict)
    silent: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def open_lanes(self) -> list[int]:
        """The lanes that have not reached their end."""
        return [lane for lane, length in enumerate(self.lengths) if self.done.get(lane, 0) < length]


def account(markers: Iterable[Marker]) -> Account:
    """Add up the markers of one plan, each given once, in any order."""
    result = Account()
    ranges: list[tuple[int, int, int]] = []
    unnamed: Counter[tuple[int, int]] = Counter()
    for marker in markers:
        if marker.kind == MarkerKind.ISSUED:
            if result.lengths:
                result.problems.append("the lane tokens of the plan were issued twice")
            result.lengths = marker.lanes
        elif marker.kind in {MarkerKind.ACTED, MarkerKind.FAILED}:
            unit = (marker.lane, marker.first)
            if marker.kind == MarkerKind.ACTED:
                ranges.append((*unit, marker.next))
                unnamed[unit] += marker.next - marker.first
            unnamed[unit] -= _add(result, marker)
    _check_tiles(result, sorted(ranges))
    _check_names(result, unnamed)
    return result


def _add(result: Account, marker: Marker) -> int:
    """Enter the rows of a unit of work; returns how many there are."""
    if marker.kind == MarkerKind.FAILED:
        failed = {row.row: row.reason or 0 for row in marker.rows}
        _enter(result, "failed", result.failed, failed)
        return len(failed)
    acted = {row.row: Acted(row.msg_key, row.action, row.dest_q) for row in marker.rows}
    left = {row: why for why, rows in marker.left.items() for row in rows}
    absent = set(marker.absent)
    _enter(result, "acted on", result.acted, acted)
    _enter(result, "left", result.left, left)
    result.problems += [f"row {row} was recorded as absent twice" for row in sorted(absent & result.absent)]
    result.absent |= absent
    return len(acted) + len(left) + len(absent)


def _enter(result: Account, name: str, book: dict[int, T], rows: dict[int, T]) -> None:
    result.problems += [f"row {row} was recorded as {name} twice" for row in sorted(rows.keys() & book.keys())]
    book.update(rows)


def _check_names(result: Account, unnamed: Counter[tuple[int, int]]) -> None:
    """The markers of a unit of work name each row of its range once, and each row stands in one unit of work."""
    for (lane, first), rows in sorted(unnamed.items()):
        if rows:
            what = f"do not name {rows} of its rows" if rows > 0 else f"name {counted(-rows, 'row')} more than it has"
            result.problems.append(f"lane {lane}: the markers of the unit of work at position {first} {what}")
    result.silent = sum(rows for rows in unnamed.values() if rows > 0)
    books: dict[str, Set[int]] = {
        **{"acted on": result.acted.keys(), "failed": result.failed.keys()},
        **{"left": result.left.keys(), "absent": result.absent},
    }
    for (one, rows_of_one), (other, rows_of_other) in combinations(books.items(), 2):
        both = sorted(rows_of_one & rows_of_other)
        result.problems += [f"row {row} was recorded as {one} and as {other}" for row in both]


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
