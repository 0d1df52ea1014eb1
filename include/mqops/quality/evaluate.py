"""How each expectation is computed in one process: on Arrow columns, without a JVM and without Great Expectations.

1. What an expectation means is Great Expectations' own, on Spark; a property test holds the two equal.
2. Of rows: which rows it is about (they have a value), and which of them fail. A null among two that are compared fails
   nothing, as in SQL.
3. Of the whole: what is found, and whether that is met.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.message_checks import CheckResult
from mqops.quality.between import BETWEEN, Compared, Incomparable
from mqops.quality.columns import IDENTITY, is_payload, problem_columns
from mqops.quality.distribution import (
    json_parseable,
    low_z_score,
    most_common,
    no_outlier,
    quantiles_within,
    stdev,
)
from mqops.quality.history import History
from mqops.quality.learned import LEARNED, of_good_runs
from mqops.quality.several_columns import all_different, all_equal, pair_in_set, sum_equals
from mqops.quality.suite import OF_NULLS, Arguments, Check, Suite, looked_at
from mqops.quality.summary import MANY, NO_VALUE, result_of
from mqops.quality.vocabulary import EXPECTATIONS
from mqops.quality.where import chosen

OfRows: TypeAlias = Callable[[list[pa.ChunkedArray], Arguments], pa.ChunkedArray]
"""Columns without the rows that it is not about, and arguments → whether each row holds; null fails nothing."""
OfAll: TypeAlias = Callable[[pa.ChunkedArray | int, Arguments], tuple[bool, Any]]
"""A column (the number of rows, where there is none) and arguments → whether it is met, and what is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a check finds. `rows` are the places of the rows that fail it; None for one of the whole."""

    met: bool
    checked: int
    observed: str = ""
    rows: pa.Array | None = None


def answer(table: pa.Table, check: Check, rows: pa.Array) -> Answer:
    """What a check finds in a table. Parameters: `rows` the places of the rows that it is about, by the queues of its
    suite and its conditions."""
    check = check.computed()
    if only_counts(check):
        return answer_of_number(check, len(rows))
    every = len(rows) == table.num_rows
    columns = [table[name] if every else table[name].take(rows) for name in check.columns]
    if not check.expectation.of_rows:
        of_all = _OF_ALL[check.expectation.name]
        met, found = of_all(columns[0], check.arguments)
        counts_values = check.expectation.needs_values
        checked = len(rows) - (columns[0].null_count if counts_values else 0)
        return Answer(met=met, checked=checked, observed=str(found))
    if check.expectation.name not in OF_NULLS:
        there = reduce(pc.or_, [pc.is_valid(column) for column in columns])
        columns = [column.filter(there) for column in columns]
        rows = rows.filter(there.combine_chunks())
    holds = _OF_ROWS[check.expectation.name](columns, check.arguments)
    failing = rows.filter(pc.invert(pc.fill_null(holds, True)).combine_chunks())
    checked, failed = len(rows), len(failing)
    return Answer(met=not failed or (checked - failed) / checked >= check.mostly, checked=checked, rows=failing)


def _sides_masked(observed: str) -> str:
    """A comparison such as "30.3 here, 30.3 in Q1" without the digits of both sides; the name stays."""
    sides, within, name = observed.partition(" in ")
    return re.sub(r"\d", "9", sides) + within + name


def compared(
    table: pa.Table, suite: Suite, check: Check, queues: tuple[str, ...], history: History
) -> tuple[CheckResult, pa.Array | None]:
    """The result of a check between messages, queues or files, and the places of the rows that fail it.

    Parameters: `table` with the columns of `between_columns`; `queues` that were looked at.
    """
    rows = chosen(table, check.where, suite.queues)
    learns = check.expectation.name in LEARNED
    about = Compared(
        table=table,
        rows=rows,
        column=check.columns[0] if check.columns else "",
        given=check.arguments,
        other=check.also[-1] if check.also else "",
        queues=queues,
        day=pc.min(table["observed_at"]).as_py() or history.now,
        folder=Path(suite.source).parent,
        before=of_good_runs(history.runs, result_of(suite, check, met=True), history.but) if learns else (),
    )
    try:
        found = _COMPARED[check.expectation.name](about)
    except Incomparable as why:
        return result_of(suite, check, met=False, skipped=str(why)), None
    known = {"observed": found.observed, "skipped": found.skipped}
    failing = pa.array([], pa.int64()) if found.skipped and check.expectation.of_rows else found.rows
    if failing is None:
        payload = any(map(is_payload, (*check.columns, *check.also)))
        if payload and found.least is not None and found.least < MANY:
            known["observed"] = _sides_masked(found.observed)
        number = len(rows) if found.checked is None else found.checked
        result = result_of(suite, check, met=found.met, checked=number, **known)
        return replace(result, limits=found.limits or result.limits), None
    checked, failed = len(looked_at(table, suite, check)), len(failing)
    met = not failed or (checked - failed) / checked >= check.mostly
    known["skipped"] = found.skipped or ("" if checked else NO_VALUE)
    result = result_of(suite, check, met=met, checked=checked, failed=failed, **known)
    return replace(result, limits=found.limits or result.limits), failing


def between_columns(check: Check) -> list[str]:
    """The columns that `compared` needs for a check, and for its rows in the table of failures."""
    named = [*check.columns, *check.also, *(one.column for one in check.where)]
    wanted = dict.fromkeys([*IDENTITY, "observed_at", *named])
    return [*wanted, *(problem_columns(check.columns) - wanted.keys())]


def computed_by_rows(check: Check) -> bool:
    """Whether what a check finds in parts of a snapshot adds up: it looks at one message at a time, or counts them."""
    check = check.computed()
    if only_counts(check):
        return True
    if not check.expectation.of_rows or check.expectation.between:
        return False
    return check.expectation.name not in _BESIDE_OTHERS


_BESIDE_OTHERS = frozenset(
    {
        "column_values_to_be_unique",
        "compound_columns_to_be_unique",
        "column_values_to_not_be_outliers",
        "column_value_z_scores_to_be_less_than",
    }
)
"""Expectations of rows that need the column of all messages to say whether one fails."""


def only_counts(check: Check) -> bool:
    """Whether a check needs no more than the number of the messages that it is about."""
    return not (check.columns or check.expectation.of_rows or check.expectation.between)


def answer_of_number(check: Check, messages: int) -> Answer:
    """What such a check finds."""
    met, found = _OF_ALL[check.expectation.name](messages, check.arguments)
    return Answer(met=met, checked=messages, observed=str(found))


def columns_for(check: Check) -> list[str]:
    """The columns that a check needs where it sees all messages at once."""
    if check.expectation.of_rows or check.expectation.between:
        return between_columns(check)
    named = [*check.columns, *check.also, "queue", *(one.column for one in check.where)]
    return list(dict.fromkeys(named))


def values_there(table: pa.Table, check: Check, rows: pa.Array) -> int:
    """Rows that a check is about and that have a value in its columns, for one that needs values; else all of them."""
    if not (check.expectation.needs_values and check.columns):
        return len(rows)
    return len(rows) - int(table[check.columns[0]].take(rows).null_count)


def _one(holds: Callable[[pa.ChunkedArray, Arguments], pa.ChunkedArray]) -> OfRows:
    return lambda columns, arguments: holds(columns[0], arguments)


def _in_set(column: pa.ChunkedArray, values: Sequence[Any]) -> pa.ChunkedArray:
    kept = list(values)
    if pa.types.is_integer(column.type):
        column = column.cast(pa.int64())
        kept = [int(value) for value in kept if float(value).is_integer() and -(2**63) <= value < 2**63]
    return pc.is_in(column, pa.array(kept, column.type))


def _within(value: Any, arguments: Arguments) -> Any:
    """Whether a number, or each of a column, is within the bounds of the arguments."""
    tests = []
    if (low := arguments.get("min_value")) is not None:
        tests.append((pc.greater if arguments.get("strict_min") else pc.greater_equal)(value, low))
    if (high := arguments.get("max_value")) is not None:
        tests.append((pc.less if arguments.get("strict_max") else pc.less_equal)(value, high))
    return reduce(pc.and_kleene, tests)


def _match_list(column: pa.ChunkedArray, arguments: Arguments) -> pa.ChunkedArray:
    every = [pc.match_substring_regex(column, one) for one in arguments["regex_list"]]
    return reduce(pc.and_ if arguments.get("match_on") == "all" else pc.or_, every)


def _found(value: Any, arguments: Arguments) -> tuple[bool, Any]:
    if value is None:  # the deviation of one value
        return False, None
    return bool(_within(pa.scalar(value), arguments).as_py()), value


def _unique(columns: list[pa.ChunkedArray], _arguments: Arguments) -> pa.ChunkedArray:
    """Whether no other row has the same values in all columns; null is a value like another one."""
    number = len(columns[0])
    named = {str(place): column for place, column in enumerate(columns)}
    table = pa.table({**named, "row": pa.array(np.arange(number))})
    keys = list(named)
    groups = table.group_by(keys, use_threads=False).aggregate([("row", "min"), ("row", "count")])
    alone = groups.filter(pc.equal(groups["row_count"], 1))["row_min"]
    holds = np.zeros(number, bool)
    holds[alone.to_numpy()] = True
    return pa.chunked_array([pa.array(holds)])


def _greater(columns: list[pa.ChunkedArray], arguments: Arguments) -> pa.ChunkedArray:
    return (pc.greater_equal if arguments.get("or_equal") else pc.greater)(*columns)


def _equal(columns: list[pa.ChunkedArray], _arguments: Arguments) -> pa.ChunkedArray:
    first, second = columns
    return pc.fill_null(pc.equal(first, second), False)  # both null are not looked at


def _median(column: pa.ChunkedArray) -> float:
    return float(np.median(column.drop_null().to_numpy()))


def _sum(column: pa.ChunkedArray) -> float:
    """As a float, as GX has it: `8212.0`."""
    values = column.drop_null()
    return math.fsum(values.to_pylist()) if pa.types.is_floating(column.type) else float(pc.sum(values).as_py())


def _mean(column: pa.ChunkedArray) -> float:
    return _sum(column) / int(len(column) - column.null_count)


def _distinct(column: pa.ChunkedArray) -> set[Any]:
    return set(pc.unique(column.drop_null()).to_pylist())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0


def _of_found(found: Callable[[Any], Any]) -> OfAll:
    return lambda column, arguments: _found(found(column), arguments)


def _of_set(met: Callable[[set[Any], set[Any]], bool]) -> OfAll:
    return lambda column, arguments: (met(_distinct(column), set(arguments["value_set"])), None)


_COMPARED = {**BETWEEN, **LEARNED}
_OF_ROWS: Mapping[str, OfRows] = MappingProxyType(
    {
        "column_values_to_be_null": _one(lambda column, _: pc.is_null(column)),
        "column_values_to_not_be_null": _one(lambda column, _: pc.is_valid(column)),
        "column_values_to_be_unique": _unique,
        "column_values_to_be_in_set": _one(lambda column, given: _in_set(column, given["value_set"])),
        "column_values_to_not_be_in_set": _one(lambda column, given: pc.invert(_in_set(column, given["value_set"]))),
        "column_values_to_match_regex": _one(lambda column, given: pc.match_substring_regex(column, given["regex"])),
        "column_values_to_not_match_regex": _one(
            lambda column, given: pc.invert(pc.match_substring_regex(column, given["regex"]))
        ),
        "column_values_to_match_regex_list": _one(_match_list),
        "column_values_to_not_match_regex_list": _one(
            lambda column, given: pc.invert(_match_list(column, {"regex_list": given["regex_list"]}))
        ),
        "column_values_to_be_json_parseable": _one(lambda column, _: json_parseable(column)),
        "column_values_to_not_be_outliers": _one(no_outlier),
        "column_value_lengths_to_equal": _one(lambda column, given: pc.equal(pc.utf8_length(column), given["value"])),
        "column_value_z_scores_to_be_less_than": _one(low_z_score),
        "column_pair_values_to_be_in_set": pair_in_set,
        "multicolumn_sum_to_equal": sum_equals,
        "multicolumn_values_to_be_equal": all_equal,
        "select_column_values_to_be_unique_within_record": all_different,
        "column_values_to_be_between": _one(_within),
        "column_value_lengths_to_be_between": _one(lambda column, given: _within(pc.utf8_length(column), given)),
        "compound_columns_to_be_unique": _unique,
        "column_pair_values_to_be_equal": _equal,
        "column_pair_values_a_to_be_greater_than_b": _greater,
    }
)
_OF_ALL: Mapping[str, OfAll] = MappingProxyType(
    {
        "table_row_count_to_be_between": _of_found(lambda rows: rows),
        "table_row_count_to_equal": lambda rows, given: (rows == given["value"], rows),
        "column_stdev_to_be_between": _of_found(stdev),
        "column_quantile_values_to_be_between": quantiles_within,
        "column_most_common_value_to_be_in_set": most_common,
        "column_max_to_be_between": _of_found(lambda column: pc.max(column).as_py()),
        "column_min_to_be_between": _of_found(lambda column: pc.min(column).as_py()),
        "column_mean_to_be_between": _of_found(_mean),
        "column_median_to_be_between": _of_found(_median),
        "column_sum_to_be_between": _of_found(_sum),
        "column_unique_value_count_to_be_between": _of_found(lambda column: len(_distinct(column))),
        "column_proportion_of_unique_values_to_be_between": _of_found(
            lambda column: _share(len(_distinct(column)), len(column) - column.null_count)
        ),
        "column_proportion_of_non_null_values_to_be_between": _of_found(
            lambda column: _share(len(column) - column.null_count, len(column))
        ),
        "column_distinct_values_to_be_in_set": _of_set(lambda found, wanted: found <= wanted),
        "column_distinct_values_to_contain_set": _of_set(lambda found, wanted: found >= wanted),
        "column_distinct_values_to_equal_set": _of_set(lambda found, wanted: found == wanted),
    }
)
assert {*_OF_ROWS, *_OF_ALL, *_COMPARED} == {one.by or one.name for one in EXPECTATIONS.values()}
