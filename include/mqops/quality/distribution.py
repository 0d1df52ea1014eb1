"""Expectations about how the values of a column are distributed, in one process, and about texts that are JSON. What
they mean is Great Expectations' own, on Spark; a property test holds the two equal."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.quality.suite import Arguments

NEAR = 1e-4
"""How near a quantile may be to a bound, as a share of it, to be within it."""
MULTIPLIER = 1.5
"""How far from the quartiles, or the mean, a value is an outlier, where a suite does not say it."""


def stdev(column: pa.ChunkedArray) -> float | None:
    """Standard deviation of a sample; None of less than two values."""
    values = _numbers(column)
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def low_z_score(column: pa.ChunkedArray, arguments: Arguments) -> pa.ChunkedArray:
    """Of `column_value_z_scores_to_be_less_than`: null where all values are the same."""
    spread = stdev(column)
    if not spread:
        return pa.chunked_array([pa.nulls(len(column), pa.bool_())])
    score = pc.divide(pc.subtract(column.cast(pa.float64()), float(np.mean(_numbers(column)))), spread)
    if arguments["double_sided"]:
        return pc.less(pc.abs(score), abs(arguments["threshold"]))
    return pc.less(score, arguments["threshold"])


def no_outlier(column: pa.ChunkedArray, arguments: Arguments) -> pa.ChunkedArray:
    """Of `column_values_to_not_be_outliers`. By `iqr` a value at the very bound is none, by `std` it is one."""
    values, multiplier = _numbers(column), arguments.get("multiplier", MULTIPLIER)
    numbers = column.cast(pa.float64())
    if arguments.get("method", "iqr") == "iqr":
        if not len(values):
            return pc.is_valid(column)
        low, high = np.percentile(values, [25, 75])
        reach = multiplier * (high - low)
        return pc.and_(pc.greater_equal(numbers, low - reach), pc.less_equal(numbers, high + reach))
    spread = stdev(column)
    if spread is None:
        return pc.is_valid(column)
    mean, reach = float(np.mean(values)), multiplier * spread
    return pc.less(pc.abs(pc.subtract(numbers, mean)), reach) if reach > 0 else pc.equal(numbers, mean)


def quantiles_within(column: Any, arguments: Arguments) -> tuple[bool, Any]:
    """Of `column_quantile_values_to_be_between`: a quantile is a value that is there, as Spark's `approxQuantile` with
    error 0 has it."""
    wanted = arguments["quantile_ranges"]
    values = np.sort(_numbers(column))
    found = [float(values[max(math.ceil(one * len(values)), 1) - 1]) for one in wanted.quantiles]
    met = all(_near(one, *bounds) for one, bounds in zip(found, wanted.value_ranges, strict=True))
    return met, {"quantiles": [*wanted.quantiles], "values": found}


def most_common(column: Any, arguments: Arguments) -> tuple[bool, Any]:
    """Of `column_most_common_value_to_be_in_set`."""
    counts = [(one["values"], one["counts"]) for one in pc.value_counts(column.drop_null()).to_pylist()]
    most = max(number for _value, number in counts)
    first = sorted(value for value, number in counts if number == most)
    there = len({*first} & {*arguments["value_set"]})
    return there > 0 if arguments.get("ties_okay") else len(first) == there == 1, first


def json_parseable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each text is JSON, as Python reads it."""
    return pa.chunked_array([pa.array([_is_json(one) for one in column.to_pylist()], pa.bool_())])


def _is_json(text: str | None) -> bool | None:
    if text is None:
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _near(value: float, low: float | None, high: float | None) -> bool:
    least, most = -np.inf if low is None else low, np.inf if high is None else high
    return bool(least <= value <= most or np.isclose(value, [least, most], rtol=NEAR).any())


def _numbers(column: pa.ChunkedArray) -> Any:
    return column.drop_null().to_numpy().astype(float)
