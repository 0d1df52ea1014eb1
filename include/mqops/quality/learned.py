"""Bounds that are learned from the last good snapshots: volume, age, and which reasons and applications there are.

1. A snapshot is good where no critical check of the suite failed in it. Of each run its verdict counts, of at most
   `vocabulary.MOST_RUNS` runs of the suite, among the newest `history.MOST_READ` of the queue manager.
2. With fewer good ones than `least_runs` a check only learns: it is met, and says how many there are.
3. A number must lie between the least and the greatest one of the last `runs`, widened on both sides by `tolerance`
   times their difference; a tenth of the greatest one counts as the least difference. The result says the bounds.
4. A value must have been there in one of the last `runs`. More than `MOST_VALUES` different values are not learned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from mqops.counted import counted
from mqops.message_checks import LEARNS
from mqops.quality.between import Compared, Difference
from mqops.quality.vocabulary import LEAST_RUNS, RUNS

if TYPE_CHECKING:
    from mqops.message_checks import CheckResult, QualitySummary

MOST_VALUES = 200
TOLERANCE = 0.5


def of_good_runs(runs: Sequence[QualitySummary], like: CheckResult, but: str) -> tuple[CheckResult, ...]:
    """The results of a check in good snapshots (rule 1), the newest first: of the check as it is now. What one of the
    same name found in another column, or about other messages, is no bound for it.

    Parameters: `runs` the newest first; `like` a result of the check; `but` a run that is left out.
    """
    found = []
    for run in runs:
        own = [one for one in run.checks if one.suite == like.suite]
        if run.run != but and all(one.met or one.severity != "critical" for one in own):
            found += [one for one in own if _same(one, like)]
    return tuple(found)


def _same(one: CheckResult, like: CheckResult) -> bool:
    return (one.expectation, one.expect, one.columns, one.where) == (
        like.expectation,
        like.expect,
        like.columns,
        like.where,
    )


def _number(about: Compared, now: float | None) -> Difference:
    """Rules 2 and 3."""
    if now is None:
        return Difference(skipped="no message has a value")
    before = [number for one in _last(about) if (number := _as_number(one.observed)) is not None]
    if len(before) < _least(about):
        return Difference(observed=f"{now:.15g}", skipped=_learns(about, len(before)))
    low, high = min(before), max(before)
    room = float(about.given.get("tolerance", TOLERANCE)) * max(high - low, abs(high) / 10)
    bounds = f"at least {low - room:,.6g}, at most {high + room:,.6g}, as in {counted(len(before), 'good run')} before"
    return Difference(met=low - room <= now <= high + room, observed=f"{now:.15g}", limits=bounds)


def count_as_before(about: Compared) -> Difference:
    """The number of messages."""
    return _number(about, len(about.rows))


def _of_column(function: Callable[[pa.ChunkedArray], Any]) -> Callable[[Compared], Difference]:
    def found(about: Compared) -> Difference:
        value = function(about.table[about.column].take(about.rows)).as_py()
        return _number(about, None if value is None else float(value))

    return found


def values_as_before(about: Compared) -> Difference:
    """Rules 2 and 4: the rows whose value is new."""
    column = about.table[about.column].take(about.rows)
    there = pc.unique(column.drop_null()).to_pylist()
    if len(there) > MOST_VALUES:
        return Difference(met=True, skipped=f"has more than {MOST_VALUES} different values, which are not learned")
    kept = json.dumps(sorted(there))
    before = [values for one in _last(about) if (values := _as_values(one.observed)) is not None]
    if len(before) < _least(about):
        return Difference(observed=kept, skipped=_learns(about, len(before)))
    known = pa.array({value for values in before for value in values}, column.type)
    new = pc.and_(pc.is_valid(column), pc.invert(pc.is_in(column, known))).combine_chunks()
    limits = f"a value that was there in one of {counted(len(before), 'good run')} before"
    return Difference(rows=about.rows.filter(new), observed=kept, limits=limits)


LEARNED: Mapping[str, Callable[[Compared], Difference]] = MappingProxyType(
    {
        "table_row_count_to_be_as_before": count_as_before,
        "column_max_to_be_as_before": _of_column(pc.max),
        "column_min_to_be_as_before": _of_column(pc.min),
        "column_mean_to_be_as_before": _of_column(pc.mean),
        "column_values_to_be_as_before": values_as_before,
    }
)


def _last(about: Compared) -> Sequence[CheckResult]:
    return about.before[: int(about.given.get("runs", RUNS))]


def _least(about: Compared) -> int:
    return max(int(about.given.get("least_runs", LEAST_RUNS)), 1)


def _learns(about: Compared, number: int) -> str:
    return f"{LEARNS}{number} of {counted(_least(about), 'good run')}"


def _as_number(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    return None


def _as_values(text: str) -> list[Any] | None:
    with suppress(ValueError):
        found = json.loads(text)
        return found if isinstance(found, list) else None
    return None
