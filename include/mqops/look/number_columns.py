"""Conditions on numbers (AGE, SIZE, PRIORITY ...) asked of columns: the same answers as `mqops.observe.core.answers`
has message by message, at a hundredth of the time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.rules.conditions import COMPARISONS, Condition, Question
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqwire.structures import MQDLH_LAYOUT

_COMPARED = {
    ">": pc.greater,
    ">=": pc.greater_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    "=": pc.equal,
}
assert _COMPARED.keys() == COMPARISONS.keys()
_SOME_TIME = "00010101"


def number_test(condition: Condition) -> Callable[[pa.RecordBatch], pa.Array]:
    """Whether each message's number is what a condition wants; null where it has none."""
    compared = _COMPARED[condition.comparison]
    wanted = pa.scalar(condition.value, pa.int64())
    return lambda batch: compared(numbers(condition.question, batch), wanted)


def numbers(question: Question, batch: pa.RecordBatch) -> pa.Array:
    """Each message's answer to a question about a number, null where it has none."""
    if question.kind is ValueKind.AGE:
        return _ages(batch)
    if question.kind is ValueKind.SIZE:
        length = batch.column("body_length").cast(pa.int64())
        return pc.subtract(length, pc.if_else(_has_dlh(batch), pa.scalar(MQDLH_LAYOUT.size), pa.scalar(0)))
    (column,) = KEYWORDS[question.keyword].columns
    return batch.column(column).cast(pa.int64())


def _has_dlh(batch: pa.RecordBatch) -> pa.Array:
    return batch.column("dlh_encoding").is_valid()


def _ages(batch: pa.RecordBatch) -> pa.Array:
    """Whole seconds, both times without their fractions; null where date and time are not eight digits each that are a
    time."""
    has = _has_dlh(batch)
    date, time = (pc.if_else(has, batch.column(f"dlh_{name}"), batch.column(name)) for name in ("put_date", "put_time"))
    digits = pc.and_(*(pc.match_substring_regex(one, "^[0-9]{8}$") for one in (date, time)))
    known = pc.fill_null(digits, False)
    day, clock = (_integers(one, known) for one in (date, time))
    put, valid = _seconds(day, clock // 100)
    seen = batch.column("observed_at").cast(pa.timestamp("us")).cast(pa.int64())
    valid &= known.to_numpy(zero_copy_only=False) & seen.is_valid().to_numpy(zero_copy_only=False)
    now = np.floor_divide(pc.fill_null(seen, 0).to_numpy(zero_copy_only=False), 1_000_000)
    return pa.array(now - put, pa.int64(), mask=~valid)


def _integers(texts: pa.Array, known: pa.Array) -> np.ndarray:
    """Texts of eight digits as numbers. Parameters: `known` which texts are such; the others become any number."""
    safe = pc.if_else(known, texts, pa.scalar(_SOME_TIME, texts.type))
    found: np.ndarray = safe.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _seconds(day: np.ndarray, clock: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seconds since 1970, and whether there is such a time. Parameters: `day` YYYYMMDD, `clock` HHMMSS."""
    year, month, of_month = day // 10_000, day // 100 % 100, day % 100
    hour, minute, second = clock // 10_000, clock // 100 % 100, clock % 100
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("M8[M]")
    first, following = (one.astype("M8[D]").astype(np.int64) for one in (months, months + 1))
    valid = (year > 0) & (month >= 1) & (month <= 12) & (of_month >= 1) & (of_month <= following - first)
    valid &= (hour < 24) & (minute < 60) & (second < 60)
    return (first + of_month - 1) * 86_400 + hour * 3600 + minute * 60 + second, valid
