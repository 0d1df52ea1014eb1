"""Suites as Great Expectations' own JSON and back, by the installed Great Expectations itself."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from random_suites import RANDOM, random_check
from snapshot_support import snapshot_of_rows

from mqops.cli import main
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder
from mqops.observe.core.decode import Browsed, snapshot_row
from mqops.quality.files import QualityFiles
from mqops.quality.gx_suite import to_gx
from mqops.quality.in_process import check_here
from mqops.quality.suite import Check, Suite
from mqops.quality.suite_file import load_suites, parse
from mqops.quality.validation import quiet_import
from mqwire import constants as c
from mqwire.structures import MQMD

SUITES = Path(__file__).parents[2] / "data" / "suites"
DOCS = Path(__file__).parents[3] / "docs"
_NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DEFAULTS = (False, "any", "iqr", 1.5)
"""Values of arguments that GX leaves out of its JSON."""


@pytest.fixture(scope="module")
def gx() -> Any:
    return quiet_import()


def meaning(suite: Suite) -> list[Check]:
    """The checks without the lines they stand in, and without what is said by leaving it out."""
    checks = []
    for check in suite.checks:
        given = {name: value for name, value in check.arguments.items() if value not in DEFAULTS}
        checks.append(replace(check, line=0, arguments=given))
    return checks


def through_gx(gx: Any, suite: Suite, back: Path) -> Suite:
    """The suite as it is read from what GX's store makes of its JSON."""
    context = gx.get_context(mode="ephemeral")
    context.suites.add(gx.ExpectationSuite(**json.loads(json.dumps(to_gx(suite)))))
    back.write_text(json.dumps(context.suites.get(suite.name).to_json_dict()))
    (read,) = load_suites([back])
    return read


def test_a_suite_comes_back_from_great_expectations_as_it_was(gx: Any, tmp_path: Path) -> None:
    """Each expectation with arguments by chance; more by MQOPS_QUALITY_MIXTURES."""
    for seed in range(2 * int(os.environ.get("MQOPS_QUALITY_MIXTURES", "1"))):
        chance = random.Random(seed)
        checks = [random_check(number, name, chance) for number, name in enumerate(RANDOM)]
        for one in checks:
            if "like" in str(one.get("where")):  # GX has no such condition
                del one["where"]
        chance.choice(checks)["on_failure"] = "note"
        head = {"suite": "s", "queues": ["PAYMENTS.*"], "description": "of a test", "expectations": checks}
        (tmp_path / "s.json").write_text(json.dumps(head))
        (suite,) = load_suites([tmp_path / "s.json"])
        back = through_gx(gx, suite, tmp_path / "back.json")
        assert meaning(back) == meaning(suite), seed
        assert (back.name, back.queues, back.description) == (suite.name, suite.queues, suite.description)


def test_columns_of_payloads_schemas_and_readable_values_come_back(gx: Any, tmp_path: Path) -> None:
    (tmp_path / "schemas").symlink_to(SUITES / "schemas")
    (suite,) = load_suites([SUITES / "payload.yaml"])
    back = through_gx(gx, suite, tmp_path / "back.json")

    def by_id(one: Suite) -> list[Check]:
        return sorted(meaning(one), key=lambda check: check.id)

    assert by_id(back) == by_id(suite)
    assert {one.name: one for one in back.asked} == {one.name: one for one in suite.asked}
    assert "amount_readable" in {one.id for one in back.checks}


def test_what_a_gate_does_on_a_failure_comes_back(gx: Any, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "suite: s\ncolumns: {$.iban: text}\nexpectations:\n"
        "- {id: own, expect: column_values_to_be_null, column: format, severity: warning, on_failure: quarantine}\n"
        "- {id: iban, expect: column_values_to_be_valid_iban, column: $.iban, on_failure: leave}\n"
        "- {id: as_severe, expect: column_values_to_be_null, column: format, severity: info}\n"
    )
    (suite,) = load_suites([tmp_path / "s.yaml"])
    back = through_gx(gx, suite, tmp_path / "back.json")
    does = {check.id: str(check.on_failure) for check in back.checks}
    assert does == {"own": "quarantine", "iban": "leave", "as_severe": "note", "iban_readable": "leave"}
    said = {one["meta"]["mqops"]["id"]: one["meta"]["mqops"].get("on_failure") for one in to_gx(suite)["expectations"]}
    assert said["as_severe"] is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{id: a, expect: groups_to_be_complete}", "a cannot be said .* groups_to_be_complete looks at other messages"),
        ("{id: a, expect: table_row_count_to_be_as_before}", "table_row_count_to_be_as_before looks at other"),
        ("{id: a, expect: column_values_to_be_null, column: format, where: {queue: {like: 'A*'}}}", "have no 'like'"),
        ("{id: a, expect: column_values_to_be_null, column: format, where: {dlh_valid: [true]}}", "true and false"),
        ("{id: a, expect: column_max_to_be_between, column: priority, max_value: 9007199254740993}", "a double has"),
    ],
)
def test_what_great_expectations_cannot_say_is_an_error_with_its_line(line: str, why: str) -> None:
    suite, problems = parse(f"suite: s\nexpectations:\n- {line}\n", source="s.yaml")
    assert suite is not None, problems
    with pytest.raises(SettingsError, match=rf"^s\.yaml:3: .*{why}"):
        to_gx(suite)


def of_gx(type_: str = "expect_column_values_to_be_null", **more: Any) -> dict[str, Any]:
    return {"type": type_, "kwargs": {"column": "format", **more.pop("kwargs", {})}, **more}


A = {"column": {"name": "priority"}, "type": "comparison"}


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (of_gx("expect_column_values_to_be_increasing"), "compares a row with the one before it"),
        (of_gx("expect_of_somebody"), "there is no expectation 'of_somebody'"),
        (of_gx(kwargs={"windows": []}), "windows"),
        (of_gx(kwargs={"row_condition": "priority = 4"}), "text for one engine"),
        (of_gx(kwargs={"row_condition": {"type": "or", "conditions": []}}), "OR; mqops has only"),
        (of_gx(kwargs={"row_condition": {**A, "operator": ">", "parameter": 4}}), "row_condition has >; mqops has"),
        (of_gx(kwargs={"row_condition": {**A, "operator": "==", "parameter": "x"}}), "must be a number"),
        (of_gx(kwargs={"row_condition": {"type": "and", "conditions": []}}), "row_condition has nothing; mqops has"),
        (of_gx(kwargs={"row_condition": {"type": "and", "conditions": A}}), "row_condition has nothing; mqops has"),
        (of_gx(kwargs={"row_condition": {"type": "comparison"}}), "the column nothing: write"),
        (of_gx(kwargs={"row_condition": {**A, "column": "queue"}}), "the column 'queue': write"),
        (of_gx(kwargs={"row_condition": {**A, "column": {"name": 1}}}), "the column a block of keys: write"),
        (of_gx(kwargs={"row_condition": {**A, "type": "nullity", "is_null": "no"}}), "is_null 'no': write true or"),
        (of_gx(meta={"mqops": {"on_failure": ["stop"]}}), "must be one of stop, leave, .*found a list"),
        (of_gx(kwargs={"mostly": {"$PARAMETER": "m"}}), "a number from 0 to 1"),
        (of_gx(kwargs={"column": "city"}), "there is no column 'city'"),
        (of_gx(meta={"mqops": {"expect": "column_values_to_be_valid_iban", "column": "$.a"}}), "not as mqops wrote it"),
        ("text", "must have a type and kwargs"),
    ],
)
def test_what_mqops_cannot_say_is_an_error_that_names_the_expectation(one: object, why: str) -> None:
    text = json.dumps({"name": "s", "expectations": [of_gx(), one]}, indent=1)
    suite, problems = parse(text, source="s.json")
    assert suite is None
    assert any(re.search(why, str(problem)) and ": expectations.1" in str(problem) for problem in problems), problems
    assert {problem.field.split(".")[1] for problem in problems} == {"1"}


def test_parameters_of_a_suite_of_great_expectations_are_an_error() -> None:
    text = json.dumps({"name": "s", "expectations": [of_gx()], "suite_parameters": {"m": 1}})
    _none, (problem,) = parse(text, source="s.json")
    assert str(problem) == "s.json:1: suite_parameters: mqops has no parameters of suites"


WHOLE: dict[str, Any] = {
    "name": "s",
    "expectations": [
        of_gx(
            "expect_column_values_to_be_in_set",
            kwargs={
                "value_set": ["a"],
                "mostly": 0.5,
                "row_condition": {
                    "type": "and",
                    "conditions": [
                        {**A, "operator": "IN", "parameter": [1, 2]},
                        {"type": "nullity", "column": {"name": "format"}, "is_null": False},
                    ],
                },
            },
            meta={"mqops": {"id": "a", "on_failure": "warn"}},
            severity="info",
            notes=["why", "so"],
        ),
        of_gx(
            "expect_column_values_to_be_in_set",
            kwargs={"column": "$.a column_values_to_be_valid_iban", "value_set": [True]},
            meta={"mqops": {"id": "b", "expect": "column_values_to_be_valid_iban", "column": "$.a"}},
        ),
        of_gx("expect_table_row_count_to_be_between", kwargs={"column": None, "min_value": 1}),
    ],
    "meta": {"mqops": {"queues": ["Q"], "columns": {"$.a": "text", "b": {"at": "$.b", "type": "date"}}}},
    "notes": ["of", "a test"],
    "suite_parameters": {},
}
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1.5,
    float("inf"),
    "",
    "x",
    [],
    [[]],
    [1],
    [{}],
    {},
    {"type": "and"},
    {"a": [1]},
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each value of a document."""
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs:
        yield from places(one, (*at, key))


def put(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    """The document with another value at a place."""
    if not at:
        return odd
    copy = value.copy()
    copy[at[0]] = put(value[at[0]], at[1:], odd)
    return copy


@pytest.mark.parametrize("at", places(WHOLE), ids=lambda at: ".".join(map(str, at)))
def test_json_with_values_of_other_types_is_read_or_an_error_with_its_line(at: tuple[Any, ...]) -> None:
    assert parse(json.dumps(WHOLE), source="s.json")[1] == ()
    for odd in ODD:
        suite, problems = parse(json.dumps(put(WHOLE, at, odd), indent=1), source="s.json")
        assert (suite is None) == bool(problems), odd
        assert all(problem.line and problem.message for problem in problems), odd


def test_the_documents_checkpoint_with_an_action_finds_what_mqops_finds(gx: Any, tmp_path: Path) -> None:
    def message(number: int, **fields: Any) -> tuple[bytes, bytes]:
        described = {"format": c.MQFMT_STRING, "msg_id": number.to_bytes(24, "big"), "coded_char_set_id": 1208}
        return MQMD(**{**described, **fields}).pack(), f'{{"amount": {number}}}'.encode()

    bodies = [message(1), message(2, msg_type=c.MQMT_REQUEST), message(3, priority=12), (message(4)[0], b"no JSON")]
    run = RunFolder.at(tmp_path / "lake", "QM1", "run-1")
    rows = [
        snapshot_row(Browsed(queue_manager="QM1", queue="Q", observed_at=_NOW), place, md, body)
        for place, (md, body) in enumerate(bodies)
    ]
    snapshot_of_rows(run, rows, ("Q",), "2026-11-21T12:00:00Z")
    path = tmp_path / "payments.yaml"
    path.write_text(
        "suite: payments\ncolumns: {$.amount: number}\nexpectations:\n"
        "- {id: reply, expect: column_values_to_not_be_in_set, column: reply_to_q, value_set: ['']"
        ", where: {msg_type: MQMT_REQUEST}}\n"
        "- {id: priority, expect: column_values_to_be_between, column: priority, max_value: 9}\n"
        "- {id: amount, expect: column_values_to_be_between, column: $.amount, min_value: 2}\n"
    )
    exported = tmp_path / "payments.json"
    made = CliRunner().invoke(main, ["quality", "export", str(path), "--out", str(exported)])
    assert (made.exit_code, made.stdout) == (0, f"{exported}: suite payments, 4 expectations\n")
    again = CliRunner().invoke(main, ["quality", "export", str(path), "--out", str(exported)])
    assert (again.exit_code, "cannot be made: File exists" in again.stderr) == (1, True)
    shown = CliRunner().invoke(main, ["quality", "export", str(path)])
    assert json.loads(shown.stdout) == json.loads(exported.read_text())
    (program,) = re.findall(r"```python\n(.*?)```", (DOCS / "great_expectations.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "own_checkpoint"}
    places = program.replace("RUN/snapshot", str(run.snapshot)).replace("payments.json", str(exported))
    exec(compile(places, "great_expectations.md", "exec"), names)
    (result,) = names["result"].run_results.values()
    theirs = {one.expectation_config.meta["mqops"]["id"]: one.result["unexpected_count"] for one in result.results}
    summary = check_here(QualityFiles.of(run.path), load_suites([exported]), now="2026-11-21T12:00:01Z")
    assert theirs == {one.expectation: one.failed for one in summary.checks}
    assert theirs == {"reply": 1, "priority": 1, "amount": 1, "amount_readable": 1}
    assert names["told"] == ["4 of 4 expectations of payments are not met"]
