"""The vocabulary is Great Expectations' own, the documentation is the vocabulary, and neither GX nor Spark is imported
to read a suite."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.quality.columns import COLUMNS, WITHHELD, Source, of_source, problem_columns
from mqops.quality.gx_core import REFUSED
from mqops.quality.suite import Check, QuantileRanges
from mqops.quality.suite_file import parse
from mqops.quality.validation import expectation_of, quiet_import
from mqops.quality.vocabulary import EXPECTATIONS, SEVERITIES, Expectation, Takes
from mqops.quality.where import Condition, like, literal, queues_sql, sql_of

README = (Path(__file__).parents[3] / "include" / "expectations" / "README.md").read_text()
SAMPLE = {
    Takes.VALUE: 1,
    Takes.VALUES: (1, 2),
    Takes.NUMBER: 1,
    Takes.COUNT: 1,
    Takes.SHARE: 0.5,
    Takes.FLAG: True,
    Takes.REGEX: "a",
    Takes.REGEXES: ("a", "b"),
    Takes.MATCH_ON: "all",
    Takes.PAIRS: ((1, 2),),
    Takes.QUANTILES: QuantileRanges(quantiles=(0.5,), value_ranges=((None, 1),)),
    Takes.METHOD: "std",
    Takes.NOT_NEGATIVE: 2.5,
    Takes.FORM: "%Y",
    Takes.JSON_SCHEMA: "a.json",
    Takes.XML_SCHEMA: "a.xsd",
}


@pytest.fixture(scope="module")
def classes() -> Any:
    quiet_import()
    from great_expectations import expectations  # noqa: PLC0415

    return expectations


@pytest.mark.parametrize("name", [name for name, one in EXPECTATIONS.items() if not (one.by or one.between)])
def test_every_expectation_is_one_of_gx_with_these_arguments(name: str, classes: Any) -> None:
    expectation = EXPECTATIONS[name]
    kind = getattr(classes, expectation.gx_class)
    assert {*expectation.domain, *expectation.arguments} <= set(kind.__fields__)
    assert expectation.of_rows == hasattr(kind, "map_metric")
    assert set(expectation.one_of) <= set(expectation.arguments)


def test_each_expectation_of_the_installed_gx_is_served_or_refused_with_a_reason(classes: Any) -> None:
    installed = {name.lower() for name in dir(classes.core) if name.startswith("Expect")}
    refused = {Expectation(name=name).gx_class.lower() for name in REFUSED}
    served = {one.gx_class.lower() for one in EXPECTATIONS.values()} & installed
    assert served | refused == installed
    assert not served & refused
    assert len(served) == 39
    for name, why in REFUSED.items():
        assert re.search(rf"^\|.*`{name}`.*\| {re.escape(why)} \|$", README, re.MULTILINE), name
        _none, (problem,) = parse(f"suite: s\nexpectations:\n- {{id: a, expect: {name}}}\n", source="s.yaml")
        assert (problem.line, why in problem.message) == (3, True)


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", [name for name, one in EXPECTATIONS.items() if not one.between])
def test_every_expectation_can_be_made(name: str, severity: str, classes: Any) -> None:
    expectation = EXPECTATIONS[name]
    columns = {(): ("test_0",) if expectation.probe else (), ("column",): ("priority",)}.get(
        expectation.domain, ("priority", "persistence")
    )
    check = Check(
        id="a",
        expectation=expectation,
        columns=columns,
        arguments={name: SAMPLE[takes] for name, takes in expectation.arguments.items()},
        severity=severity,
        where=(Condition(column="queue", operator="like", value="A*"),),
    )
    made = expectation_of(check)
    assert made.severity.value == severity
    assert made.expectation_type == f"expect_{expectation.by or name}"


def test_every_column_of_the_snapshot_is_there_but_payload() -> None:
    assert {name for name, _kind, _null in SNAPSHOT_COLUMNS} - set(COLUMNS) == WITHHELD
    assert {"md", "body"} <= WITHHELD


def test_problem_columns_are_columns_themselves() -> None:
    named = [name for name, column in COLUMNS.items() if column.problem]
    assert len(named) >= 7
    assert problem_columns(named) <= set(COLUMNS)
    assert of_source(named, Source.BODY)


def test_conditions_in_sql() -> None:
    one = Condition(column="queue", operator="like", value="A_*.?%!")
    two = Condition(column="format", operator="one_of", value=("MQSTR", "O'B\\"))
    three = Condition(column="dlh_reason", operator="is_set", value=False)
    assert sql_of((one, two, three)) == (
        "queue LIKE 'A!_%._!%!!' ESCAPE '!' AND format IN ('MQSTR', 'O\\'B\\\\') AND dlh_reason IS NULL"
    )
    assert sql_of(()) is None
    assert (literal(True), literal(-1), literal(0.5)) == ("true", "-1", "0.5")
    assert like("A*") == "A%"
    several = Condition(column="queue", operator="like", value="*.A?*")
    assert sql_of((several,)) == r"queue RLIKE '(?s)\\A(?>.*?\\x{2e}A.).*\\z'"


def test_queues_in_sql() -> None:
    assert queues_sql(()) is None
    assert queues_sql(("A", "*")) is None
    assert queues_sql(("A*", "B")) == "queue LIKE 'A%' ESCAPE '!' OR queue LIKE 'B' ESCAPE '!'"


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_the_readme_names_every_expectation(name: str) -> None:
    assert f"`{name}`" in README, f"name it in include/expectations/README.md: {name}"


def test_suites_are_read_without_gx_and_spark() -> None:
    program = (
        "import sys, mqops.quality.suite_file, mqops.quality.summary, mqops.quality.check\n"
        "print([name for name in ('great_expectations', 'pyspark', 'airflow', 'pymqi') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
