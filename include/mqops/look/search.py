"""The messages of a record batch of a snapshot that fit: columns first, single messages last.

1. What is compared with one column (identifiers, patterns, put time) is asked of the column's distinct values; numbers
   (AGE, SIZE, PRIORITY ...) are computed column by column.
2. A property that must have a value is looked for in the column's text: only messages that have such text are read, and
   those with the same properties once.
3. So is the longest part without wildcards of a text in the body, in the bytes and in the decoded text.
4. What is left, texts in bodies, is asked message by message, by the functions that decide in a run
   (`mqops.observe.core.answers`), of the messages that everything else fits. Those of them that have no such text are
   passed over, and told.
5. The body of a message is read for an identifier or a destination only where its Format, or that of its MQDLH, says
   that it has an MQXQH (`mqops.look.core.searched`).
6. A message whose headers have no property that can be read, because one of them is not valid, is passed over where a
   property is asked for, and told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.look.core.criteria import Criteria, id_range
from mqops.look.core.searched import (
    A_HEADER,
    CHAIN_COLUMNS,
    NO_PROPERTY,
    TEXT_COLUMNS,
    Data,
    Transmitted,
    data_of,
    not_strict,
    transmitted,
)
from mqops.look.number_columns import number_test
from mqops.observe.core.answers import answers, columns_for, text_of
from mqops.observe.core.columns import PATTERN_COLUMNS
from mqops.observe.core.put_time import DIGITS
from mqops.rules.conditions import Condition
from mqops.rules.keyword import COMPARED_NUMBERS, ValueKind
from mqops.rules.matcher import fits
from mqops.rules.pattern import text_match
from mqwire import constants as c

Test = Callable[[pa.RecordBatch], pa.Array]
Others = Callable[[Sequence[str]], pa.RecordBatch]
"""Gives further columns of the rows of a batch."""
_FORMATS = ("format", "dlh_format")
MARKED = "marked"
"""A column that is in no file: whether the message may fit."""


class PassedOver(NamedTuple):
    """A message that fits but for its text or its properties, which cannot be read. Parameters: `place` in
    its batch."""

    place: int
    why: str


class Search:
    """What is looked for, ready to be asked of record batches.

    Parameters: `marked` whether the batches have the column MARKED.

    Attributes: `columns` of the snapshot that it reads; `further` that it reads of some batches (rule 5); `passed_over`
    in the batch that was asked last.
    """

    def __init__(self, wanted: Criteria, *, marked: bool = False) -> None:
        patterns = wanted.rule.conditions() if wanted.rule else {}
        conditions = wanted.rule.extensions if wanted.rule else ()
        self._properties = [one for one in conditions if one.question.kind is ValueKind.PROPERTY]
        self._bodies = [one for one in conditions if one.question.kind is ValueKind.BODY]
        self._questions = tuple(sorted({one.question for one in self._bodies}))
        self._tests: list[Test] = [lambda batch: batch.column(MARKED)] if marked else []
        self._text, self._bytes = wanted.text, wanted.some_bytes
        self._behind = [_begins_so(column, text) for column, text in wanted.identifiers]
        self._outside = [_begins(column, text) for column, text in wanted.identifiers]
        if wanted.destination:
            self._outside.append(_pattern("DESTQ", wanted.destination))
            self._behind.append(lambda one: fits("DESTQ", wanted.destination, one.destination))
        self.passed_over: list[PassedOver] = []
        self._tests += [_pattern(keyword, value) for keyword, value in patterns.items()]
        columns = [column for column, _text in wanted.identifiers]
        columns += [PATTERN_COLUMNS[keyword] for keyword in patterns]
        columns += [PATTERN_COLUMNS["DESTQ"]] if wanted.destination else []
        columns += ["format", "dlh_format"] if self._outside else []
        columns += [*TEXT_COLUMNS, *CHAIN_COLUMNS] if self._text or self._bodies else []
        columns += ["body"] if self._bytes else []
        self.further = CHAIN_COLUMNS if self._outside else ()
        if wanted.md_format:
            self._tests.append(_by_value("format", lambda value: fits("FORMAT", wanted.md_format, value)))
            columns.append("format")
        if wanted.keys is not None:
            self._tests.append(_one_of(wanted.keys))
            columns.append("msg_key")
        if wanted.since or wanted.until:
            self._tests.append(_put_between(_digits(wanted.since), _digits(wanted.until)))
            columns += ["put_date", "put_time"]
        self._tests += [number_test(one) for one in conditions if one.question.kind in COMPARED_NUMBERS]
        self._of_properties = [_has_property(one) for one in self._properties]
        columns += ["format", "dlh_format", "dlh_error"] if self._properties else []
        self._tests += [_may_have_text(str(one.value)) for one in self._bodies if one.question.key == "BODY"]
        self._tests += [_may_have_text(self._text)] if self._text else []
        self._tests += [_has_bytes(self._bytes)] if self._bytes else []
        self._asked = columns_for(self._questions)
        self.columns = sorted({*columns, *columns_for(one.question for one in conditions)})

    def fitting(self, batch: pa.RecordBatch, others: Others | None = None) -> list[int]:
        """The positions in a batch of the messages that fit, in its order.

        Parameters: `others` gives the columns `further`; None if the batch has them.
        """
        self.passed_over = []
        tests = [test(batch) for test in self._tests]
        if self._outside:
            tests += self._of_identity(batch, others or batch.select)
        if self._properties:
            self._without_properties(batch, tests)
        tests += [test(batch) for test in self._of_properties]
        if tests:
            keep = reduce(pc.and_, (pc.fill_null(test, False) for test in tests))
            found: list[int] = pc.indices_nonzero(keep).to_pylist()
        else:
            found = list(range(batch.num_rows))
        for one in self._properties:
            found = _with_property(one, batch, found)
        return list(self._by_message(batch, found)) if self._bodies or self._text else found

    def _without_properties(self, batch: pa.RecordBatch, tests: Sequence[pa.Array]) -> None:
        """Rule 6. Parameters: `tests` whether each message fits in all else."""
        none = batch.column("properties").is_null()
        dead = pc.equal(batch.column("format"), c.MQFMT_DEAD_LETTER_HEADER)
        broken = pc.and_(dead, batch.column("dlh_error").is_valid())
        rfh2 = [pc.equal(batch.column(name), c.MQFMT_RF_HEADER_2) for name in _FORMATS]
        for why, test in ((A_HEADER, broken), (NO_PROPERTY, pc.or_kleene(*rfh2))):
            keep = reduce(pc.and_, (pc.fill_null(one, False) for one in (none, test, *tests)))
            self.passed_over += [PassedOver(place, why) for place in pc.indices_nonzero(keep).to_pylist()]

    def _of_identity(self, batch: pa.RecordBatch, others: Others) -> list[pa.Array]:
        """Whether each message has the identifiers and the destination, itself or behind its MQXQH."""
        outside = [pc.fill_null(test(batch), False) for test in self._outside]
        may = [pc.fill_null(pc.starts_with(batch.column(name), c.MQFMT_XMIT_Q_HEADER), False) for name in _FORMATS]
        places = pc.indices_nonzero(pc.or_(*may)).to_pylist()
        if not places:
            return outside
        answers_of = [one.to_pylist() for one in outside]
        rows = others(CHAIN_COLUMNS).take(pa.array(places)).to_pylist()
        for place, row in zip(places, rows, strict=True):
            said = transmitted(row)
            for answer, behind in zip(answers_of, self._behind, strict=True):
                answer[place] = answer[place] or (said is not None and behind(said))
        return [pa.array(one, pa.bool_()) for one in answers_of]

    def _by_message(self, batch: pa.RecordBatch, places: list[int]) -> Iterator[int]:
        if not places:
            return
        asked = sorted({*self._asked, *TEXT_COLUMNS, *CHAIN_COLUMNS})
        rows = batch.select(asked).take(pa.array(places)).to_pylist()
        for place, row in zip(places, rows, strict=True):
            strict = row["text_kind"] is not None
            if self._bodies and not strict:
                self.passed_over.append(PassedOver(place, not_strict(row)))
                continue
            known = answers(self._questions, row)
            if not all(one.holds(known[one.question.key]) for one in self._bodies):
                continue
            data = Data(text_of(row)) if strict else data_of(row)
            if data.text is None:
                self.passed_over.append(PassedOver(place, data.why))
            elif not self._text or text_match(self._text, data.text):
                yield place


def _begins_so(column: str, text: str) -> Callable[[Transmitted], bool]:
    """Whether an identifier in an MQXQH begins with a hexadecimal text."""
    low, high = id_range(text)
    return lambda said: low <= getattr(said, column) <= high


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


def _one_of(keys: frozenset[str]) -> Test:
    values = pa.array(sorted(keys), pa.string())
    return lambda batch: pc.is_in(batch.column("msg_key"), values)


def _has_property(condition: Condition) -> Test:
    """Whether the JSON of the properties has the name, with the beginning of the value up to a wildcard (rule 2)."""
    value = str(condition.value)
    stop = min((value.index(one) for one in "*?" if one in value), default=len(value))
    start = json.dumps(value[:stop], ensure_ascii=False)[:-1]
    text = f"{json.dumps(condition.question.subject, ensure_ascii=False)}: {start}"
    return lambda batch: pc.match_substring(batch.column("properties"), text)


def _with_property(condition: Condition, batch: pa.RecordBatch, places: list[int]) -> list[int]:
    """The places whose messages have the property with such a value."""
    questions = (condition.question,)

    def holds(properties: str | None) -> bool:
        return condition.holds(answers(questions, {"properties": properties})[condition.question.key])

    fit = _of_values(batch.column("properties").take(pa.array(places, pa.int64())), holds)
    return [place for place, fits_it in zip(places, fit.to_pylist(), strict=True) if fits_it]


def _may_have_text(pattern: str) -> Test:
    """Whether the data has the longest part of a pattern that is no wildcard (rule 3), or is no text for rules: then it
    is to be asked, or passed over.

    Text that is not in `text_decoded` stands in the data as UTF-8 (`mqops.observe.core.answers.text_of`).
    """
    longest = max(re.split("[*?]+", pattern), key=len)

    def test(batch: pa.RecordBatch) -> pa.Array:
        decoded = pc.fill_null(_contains(batch.column("text_decoded"), longest), False)
        has = pc.or_(decoded, _contains(batch.column("body"), longest))
        return pc.or_(has, batch.column("text_kind").is_null())

    return test


def _has_bytes(wanted: bytes) -> Test:
    """Whether the bytes stand in a message behind its MQMD."""

    def test(batch: pa.RecordBatch) -> pa.Array:
        return pa.array([wanted in body for body in batch.column("body").to_pylist()], pa.bool_())

    return test


def _contains(column: pa.Array, text: str) -> pa.Array:
    """Whether each value contains a text. One look at the bytes of all of them, which lie side by side, is several
    times as fast as one at each, and most batches do not have the text at all."""
    data = column.buffers()[-1]
    if data is None or text.encode() not in data.to_pybytes():
        return pa.repeat(pa.scalar(False), len(column))
    return pc.match_substring(column, text)
