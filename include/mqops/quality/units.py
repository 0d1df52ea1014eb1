"""Values of columns with their units, for people. Tables and JSON keep the number alone."""

from __future__ import annotations

from mqops.counted import length_of_time
from mqops.quality.columns import COLUMNS

SECONDS, TENTHS, BYTES = "s", "tenths of a second", "bytes"
_ONE = {TENTHS: "tenth of a second", BYTES: "byte"}
UNITS = {
    "age_seconds": SECONDS,
    "expires_in_seconds": SECONDS,
    "expiry": TENTHS,
    "body_length": BYTES,
    "payload_length": BYTES,
    "msg_offset": BYTES,
}
"""Column → the unit of its numbers."""
assert UNITS.keys() <= COLUMNS.keys()
OF_VALUES = frozenset(
    {
        "column_values_to_be_between",
        *(f"column_{what}_to_be_between" for what in ("max", "min", "mean", "median", "sum", "stdev")),
        *("column_quantile_values_to_be_between", "column_most_common_value_to_be_in_set"),
        *(f"column_values_to_{verb}_set" for verb in ("be_in", "not_be_in")),
        *(f"column_distinct_values_to_{verb}_set" for verb in ("be_in", "contain", "equal")),
    }
)
"""Expectations that compare values of their column, and neither lengths nor counts nor shares."""


def with_unit(columns: tuple[str, ...], value: str) -> str:
    """A value of a column with its unit; long times in words, too. What is no number is left as it is."""
    unit = UNITS.get(columns[0]) if len(columns) == 1 else None
    try:
        number = float(value)
    except ValueError:
        return value
    if unit is None or (number == -1 == int(number) and unit == TENTHS):  # MQEI_UNLIMITED
        return value
    seconds = number / 10 if unit == TENTHS else number
    words = f" ({length_of_time(seconds)})" if unit != BYTES and abs(seconds) >= 60 else ""
    shown = f"{int(number):,}" if number.is_integer() and abs(number) < 1e15 else value
    return f"{shown} {_ONE.get(unit, unit) if number == 1 else unit}{words}"


def about_values(expectation: str) -> bool:
    """Whether the numbers of an expectation are values of its column."""
    return expectation in OF_VALUES
