"""Dealing a plan's rows into lanes (rules 1, 8 and 10 of `mqops.act`, rule 1 of `mqops.act.canary`). Pure.

Both ways of acting call `deal`: in one process, and on Spark, where each task deals the lanes of its partition. The
rows come in the order in which they are acted on. Memory holds one MQ group at a time and, with canaries, the order
keys of one destination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Generic, NamedTuple, Protocol, TypeVar

from mqops.act.core.lanes import Row, lane_of
from mqops.actions import PUTS
from mqops.decide.core.pacing import Pacing


class Dealable(Protocol):
    """What dealing reads of a plan's row (see `mqops.act.core.lanes.Row`)."""

    @property
    def row(self) -> int:
        """Its number in the plan."""

    @property
    def unit_group(self) -> str:
        """Its destination."""

    @property
    def bundle(self) -> int:
        """The number of the first row of its MQ group, its own without."""

    @property
    def action(self) -> str:
        """What is done with the message."""

    @property
    def rule_key(self) -> str:
        """The rule that was chosen for it, "" without."""

    @property
    def order_key(self) -> str:
        """What the rule's ORDER keeps in order, "" without."""


RowT = TypeVar("RowT", bound=Dealable)


class Dealt(NamedTuple, Generic[RowT]):
    """A row with its lane and its position there."""

    lane: int
    position: int
    row: RowT


def in_order(row: Dealable) -> tuple[bytes, int, int]:
    """The key to sort rows by. On Spark: `mqops.act.spark.act.ORDER`."""
    return row.unit_group.encode(), row.bundle, row.row


def with_canaries(lanes: int, pacing: Pacing) -> int:
    """The number of lanes with those of canaries. Parameters: `lanes` without them."""
    return lanes * 2 if pacing.has_canaries else lanes


def home_lanes(lanes: int, pacing: Pacing) -> int:
    """The number of lanes that are not for canaries. Each destination has one of them (`lane_of`)."""
    return lanes // 2 if pacing.has_canaries else lanes


def tasks_of_lanes(lengths: Sequence[int], tasks: int, pacing: Pacing) -> list[int]:
    """Which task has each home lane, so that all have about as much to do: the longest lane first, each to the task
    that has least.

    Parameters: `lengths` rows of each lane, those of canaries included; `tasks` at most so many. Where fewer lanes have
    rows, the last tasks have no lane.
    """
    number = home_lanes(len(lengths), pacing)
    rows = [lengths[lane] + sum(lengths[lane + number : lane + number + 1]) for lane in range(number)]
    found, given = [0] * number, [0] * tasks
    for lane in sorted(filter(rows.__getitem__, range(number)), key=lambda one: -rows[one]):
        found[lane] = given.index(min(given))
        given[found[lane]] += rows[lane]
    return found


def canary_lanes(lanes: Sequence[int], pacing: Pacing) -> range:
    """The lanes of the canaries: the second half, if the plan has canaries."""
    return range(home_lanes(len(lanes), pacing), len(lanes))


def lane_lengths(rows: Iterable[Dealable], pacing: Pacing, lanes: int) -> list[int]:
    """The number of rows in each lane. Parameters: `lanes` without those of canaries."""
    number = with_canaries(lanes, pacing)
    counts = Counter(dealt.lane for dealt in deal(sorted(rows, key=in_order), number, pacing))
    return [counts[lane] for lane in range(number)]


def by_lanes(rows: Iterable[Row], lanes: int, pacing: Pacing) -> list[list[Row]]:
    """The rows of each lane in order. Parameters: `lanes` with those of canaries."""
    by_lane: list[list[Row]] = [[] for _ in range(lanes)]
    for lane, position, row in deal(sorted(rows, key=in_order), lanes, pacing):
        row.position = position
        by_lane[lane].append(row)
    return by_lane


def deal(rows: Iterable[RowT], lanes: int, pacing: Pacing) -> Iterator[Dealt[RowT]]:
    """Deal the rows; they come out in the order in which they are given.

    Parameters: `rows` those with an action, sorted by `in_order`; all rows of a home lane or none of them; `lanes` with
    those of canaries.
    """
    number = home_lanes(lanes, pacing)
    lengths: Counter[int] = Counter()
    for row, is_canary in _with_canaries(rows, pacing):
        lane = lane_of(row.unit_group, number) + number * is_canary
        yield Dealt(lane, lengths[lane], row)
        lengths[lane] += 1


def _with_canaries(rows: Iterable[RowT], pacing: Pacing) -> Iterator[tuple[RowT, bool]]:
    """Each row, and whether it goes first: as a canary, or because it is in the MQ group of one."""
    if not pacing.has_canaries:
        yield from ((row, False) for row in rows)
        return
    for _destination, rows_there in groupby(rows, key=lambda row: row.unit_group):
        chosen: Counter[str] = Counter()
        only_rule: dict[str, str | None] = {}
        for _number, group in groupby(rows_there, key=lambda row: row.bundle):
            members = list(group)
            goes_first = _may_go_first(members, only_rule) and _has_canary(members, chosen, pacing)
            yield from ((row, goes_first) for row in members)


def _may_go_first(members: Sequence[Dealable], only_rule: dict[str, str | None]) -> bool:
    """Whether the rows of an MQ group, or a single row, overtake no row with their order key if they go first.

    Parameters: `only_rule` order key → the only rule of the rows with this key so far, None if no later row with the
    key may go first; the rows are added to it.
    """
    keyed = [(row.order_key, row.rule_key) for row in members if row.order_key]
    single = len(members) == 1
    may = all(key not in only_rule or (single and only_rule[key] == rule) for key, rule in keyed)
    for key, rule in keyed:
        only_rule[key] = rule if single and only_rule.get(key, rule) == rule else None
    return may


def _has_canary(members: Sequence[Dealable], chosen: Counter[str], pacing: Pacing) -> bool:
    """Whether one of the rows is among the first of its rule; `chosen` counts the canaries of each rule."""
    found = False
    for row in members:
        if row.action in PUTS and chosen[row.rule_key] < pacing.canaries(row.rule_key):
            chosen[row.rule_key] += 1
            found = True
    return found
