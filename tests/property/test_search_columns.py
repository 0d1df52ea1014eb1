"""A search that asks columns finds the messages that a rule decides for one by one (`mqops.observe.core.answers`)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.look.core.criteria import criteria
from mqops.look.number_columns import numbers
from mqops.look.search import Search
from mqops.observe.core.answers import answers
from mqops.rules.conditions import Question
from mqops.rules.keyword import COMPARED_NUMBERS
from mqops.rules.keywords import KEYWORDS

NUMBERS = [name for name, one in KEYWORDS.items() if one.kind in COMPARED_NUMBERS]
COLUMNS = sorted(
    {column for name in NUMBERS for column in KEYWORDS[name].columns}
    | {"properties", "format", "dlh_format", "dlh_error"}
)
EDGES = ("20240229", "20230229", "21000229", "00000101", "00010101", "99991231", "20231301", "20230100", "        ", "")
EDGES += ("2023١231", "2023-1-1", "19700101", "20230431")
CLOCKS = ("00000000", "23595999", "24000000", "12606000", "12596000", "12595999", "        ", "1200000x")
DATES = st.one_of(st.none(), st.sampled_from(EDGES), st.from_regex("[0-9]{8}", fullmatch=True))
TIMES = st.one_of(st.none(), st.sampled_from(CLOCKS), st.from_regex("[0-9]{8}", fullmatch=True))
KINDS = {
    "observed_at": st.datetimes(datetime(1969, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),
    "properties": st.sampled_from(
        [None, "{}", '{"usr.a": "x"}', '{"usr.a": "xyz", "usr.b": "x"}', '{"usr.b": "usr.a"}']
    ),
    **dict.fromkeys(("put_date", "dlh_put_date"), DATES),
    **dict.fromkeys(("put_time", "dlh_put_time"), TIMES),
    "body_length": st.integers(0, 2**33),
    **dict.fromkeys(("format", "dlh_format"), st.sampled_from(["", "MQSTR", "MQHRF2", "MQDEAD"])),
    "dlh_error": st.sampled_from([None, "no MQDLH"]),
}
TYPES = {"observed_at": pa.timestamp("us", tz="UTC"), "properties": pa.string(), "body_length": pa.int64()}
TYPES |= dict.fromkeys(("put_date", "dlh_put_date", "put_time", "dlh_put_time"), pa.string())
TYPES |= dict.fromkeys(("format", "dlh_format", "dlh_error"), pa.string())
NUMBER = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1))
ROW = st.fixed_dictionaries({name: KINDS.get(name, NUMBER) for name in COLUMNS})
UNITS = {"AGE": ("s", "m", "h", "d"), "SIZE": ("", "K", "M")}


@st.composite
def conditions(draw: Any) -> str:
    """Some conditions on numbers and properties, as one writes them."""
    found = []
    for name in draw(st.lists(st.sampled_from(NUMBERS), max_size=3, unique=True)):
        number = draw(st.integers(KEYWORDS[name].least, min(KEYWORDS[name].most, 100_000)))
        found.append(
            f"{name}({draw(st.sampled_from(['>', '>=', '<', '<=', '=']))}{number}"
            f"{draw(st.sampled_from(UNITS.get(name, ('',))))})"
        )
    if draw(st.booleans()) or not found:
        found.append(f"PROP('usr.a' = '{draw(st.sampled_from(['*', 'x', 'x*', '*z', '?']))}')")
    return " ".join(found)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=12), where=conditions())
def test_columns_answer_as_the_rules_do_for_each_message(rows: list[dict[str, Any]], where: str) -> None:
    wanted = criteria(where)
    assert wanted.rule
    questions = tuple({one.question for one in wanted.rule.extensions})
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([(name, TYPES.get(name, pa.int32())) for name in COLUMNS]))
    one_by_one = []
    for place, row in enumerate(rows):
        known = answers(questions, row)
        if all(one.holds(known[one.question.key]) for one in wanted.rule.extensions):
            one_by_one.append(place)
    assert Search(wanted).fitting(batch) == one_by_one


def test_an_age_of_each_second_is_that_of_the_rules() -> None:
    """Every kind of number is compared, and the clock's ends."""
    assert {"AGE", "SIZE"} < set(NUMBERS)
    seen = datetime(2024, 3, 1, 0, 0, 0, 999_999, tzinfo=UTC)
    put = [seen - timedelta(seconds=number) for number in (0, 1, 86_399, 86_400, 86_401)]
    rows = [
        dict.fromkeys(COLUMNS)
        | {"observed_at": seen, "put_date": f"{one:%Y%m%d}", "put_time": f"{one:%H%M%S}99", "body_length": 0}
        for one in put
    ]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([(name, TYPES.get(name, pa.int32())) for name in COLUMNS]))
    assert Search(criteria("AGE(>=1d)")).fitting(batch) == [3, 4]
    assert Search(criteria("AGE(<1s)")).fitting(batch) == [0]


def test_every_odd_time_has_the_age_of_the_rules() -> None:
    """No such day, hour, minute or second; no digits; a year before 1."""
    seen, age = datetime(2024, 3, 1, tzinfo=UTC), Question("AGE")
    rows = [
        dict.fromkeys(COLUMNS)
        | {"observed_at": seen, "dlh_encoding": has, f"{prefix}put_date": date, f"{prefix}put_time": time}
        for has, prefix in ((None, ""), (546, "dlh_"))
        for date in (*EDGES, "20240228", None)
        for time in (*CLOCKS, None)
    ]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema([(name, TYPES.get(name, pa.int32())) for name in COLUMNS]))
    one_by_one = [answers((age,), row)["AGE"] for row in rows]
    assert numbers(age, batch).to_pylist() == one_by_one
    assert None in one_by_one
    assert len(set(one_by_one)) > 5
