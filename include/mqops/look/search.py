"""The messages of a record batch of a snapshot that fit: columns first, single messages last.

1. What is compared with one column (identifiers, patterns, put time) is asked of the column's distinct values; numbers
   (AGE, SIZE, PRIORITY ...) are computed column by column.
2. A property that must have a value is looked for in the column's text: only messages that have such text are read, and
   those with the same properties once.
3. So is the longest part without wildcards of a text in the body, in the bytes and in the decoded text.
4. What is left, texts in bodies, is asked message by message, by the functions that decide in a run
   (`mqops.decide.core.answers`), of the messages that everything else fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mqops.decide.core.answers import answers, columns_for
from mqops.look.core.criteria import Criteria, id_range
from mqops.look.number_columns import number_test
from mqops.observe.core.columns import PATTERN_COLUMNS
from mqops.observe.core.put_time import DIGITS
from mqops.rules.conditions import Condition
from mqops.rules.keyword import COMPARED_NUMBERS, ValueKind
from mqops.rules.matcher import fits

Test = Callable[[pa.RecordBatch], pa.Array]
MARKED = "marked"
"""A column that is in no file: whether the message may fit."""


class Search:
    """What is looked for, ready to be asked of record batches.

    Parameters: `marked` whether the batches have the column MARKED.

    Attributes: `columns` of the snapshot that it reads.
    """

    def __init__(self, wanted: Criteria, *, marked: bool = False) -> None:
        patterns = wanted.rule.conditions() if wanted.rule else {}
        conditions = wanted.rule.extensions if wanted.rule else ()
        self._properties = [one for one in conditions if one.question.kind is ValueKind.PROPERTY]
        self._bodies = [one for one in conditions if one.question.kind is ValueKind.BODY]
        self._questions = tuple(sorted({one.question for one in self._bodies}))
        self._tests: list[Test] = [lambda batch: batch.column(MARKED)] if marked else []
        self._tests += [_begins(column, text) for column, text in wanted.identifiers]
        self._tests += [_pattern(keyword, value) for keyword, value in patterns.items()]
        columns = [column for column, _text in wanted.identifiers]
        columns += [PATTERN_COLUMNS[keyword] for keyword in patterns]
        if wanted.md_format:
            self._tests.append(_by_value("format", lambda value: fits("FORMAT", wanted.md_format, value)))
            columns.append("format")
        if wanted.since or wanted.until:
            self._tests.append(_put_between(_digits(wanted.since), _digits(wanted.until)))
            columns += ["put_date", "put_time"]
        self._tests += [number_test(one) for one in conditions if one.question.kind in COMPARED_NUMBERS]
        self._tests += [_has_property(one) for one in self._properties]
        self._tests += [_has_text(str(one.value)) for one in self._bodies if one.question.key == "BODY"]
        self._asked = columns_for(self._questions)
        self.columns = sorted({*columns, *columns_for(one.question for one in conditions)})

    def fitting(self, batch: pa.RecordBatch) -> list[int]:
        """The positions in a batch of the messages that fit, in its order."""
        if self._tests:
            keep = reduce(pc.and_, (pc.fill_null(test(batch), False) for test in self._tests))
            found: list[int] = pc.indices_nonzero(keep).to_pylist()
        else:
            found = list(range(batch.num_rows))
        for one in self._properties:
            found = _with_property(one, batch, found)
        return list(self._by_message(batch, found)) if self._bodies else found

    def _by_message(self, batch: pa.RecordBatch, places: list[int]) -> Iterator[int]:
        if not places:
            return
        rows = batch.select(self._asked).take(pa.array(places)).to_pylist()
        for place, row in zip(places, rows, strict=True):
            known = answers(self._questions, row)
            if all(one.holds(known[one.question.key]) for one in self._bodies):
                yield place


def _begins(column: str, text: str) -> Test:
    """An identifier that begins so. Parameters: `text` hex digits."""

    def test(batch: pa.RecordBatch) -> pa.Array:
        found = batch.column(column)
        low, high = (pa.scalar(bound, found.type) for bound in id_range(text))
        return pc.and_(pc.greater_equal(found, low), pc.less_equal(found, high))

    return test


def _pattern(keyword: str, wanted: str | int) -> Test:
    """A pattern of the rules language, by the matcher's own comparison."""
    return _by_value(PATTERN_COLUMNS[keyword], lambda value: fits(keyword, wanted, value))


def _by_value(column: str, holds: Callable[[Any], bool]) -> Test:
    return lambda batch: _of_values(batch.column(column), holds)


def _of_values(values: pa.Array, holds: Callable[[Any], bool]) -> pa.Array:
    """Whether each value is one of which this holds, which is asked once for equal ones."""
    coded = values.dictionary_encode(null_encoding="encode")
    answer = pa.array([holds(value) for value in coded.dictionary.to_pylist()], pa.bool_())
    return answer.take(coded.indices)


def _digits(time: datetime | None) -> str:
    return time.strftime("%Y%m%d%H%M%S") if time else ""


def _put_between(since: str, until: str) -> Test:
    """Put date and time as the MQMD has them: digits, which sort as the times do. Blank ones fit no window."""

    def test(batch: pa.RecordBatch) -> pa.Array:
        put = pc.binary_join_element_wise(batch.column("put_date"), batch.column("put_time"), "")
        tests = [pc.match_substring_regex(put, DIGITS)]
        tests += [pc.greater_equal(put, pa.scalar(since, put.type))] if since else []
        tests += [pc.less(put, pa.scalar(until, put.type))] if until else []
        return reduce(pc.and_, tests)

    return test


def _has_property(condition: Condition) -> Test:
    """Whether the JSON of the properties has the name, with the beginning of the value up to a wildcard (rule 2)."""
    value = str(condition.value)
    stop = min((value.index(one) for one in "*?" if one in value), default=len(value))
    start = json.dumps(value[:stop], ensure_ascii=False)[:-1]
    text = f"{json.dumps(condition.question.subject, ensure_ascii=False)}: {start}"
    return lambda batch: pc.match_substring(batch.column("properties"), text)


def _with_property(condition: Condition, batch: pa.RecordBatch, places: list[int]) -> list[int]:
    """Those of the places whose messages have the property with such a value."""
    questions = (condition.question,)

    def holds(properties: str | None) -> bool:
        return condition.holds(answers(questions, {"properties": properties})[condition.question.key])

    fit = _of_values(batch.column("properties").take(pa.array(places, pa.int64())), holds)
    return [place for place, fits_it in zip(places, fit.to_pylist(), strict=True) if fits_it]


def _has_text(pattern: str) -> Test:
    """Whether the data has the longest part of a pattern that is no wildcard (rule 3).

    Text that is not in `text_decoded` stands in the data as UTF-8 (`mqops.decide.core.answers.text_of`).
    """
    longest = max(re.split("[*?]+", pattern), key=len)

    def test(batch: pa.RecordBatch) -> pa.Array:
        decoded = pc.fill_null(_contains(batch.column("text_decoded"), longest), False)
        return pc.or_(decoded, _contains(batch.column("body"), longest))

    return test


def _contains(column: pa.Array, text: str) -> pa.Array:
    """Whether each value contains a text. One look at the bytes of all of them, which lie side by side, is several
    times as fast as one at each, and most batches do not have the text at all."""
    data = column.buffers()[-1]
    if data is None or text.encode() not in data.to_pybytes():
        return pa.repeat(pa.scalar(False), len(column))
    return pc.match_substring(column, text)
