"""Suites as files: what is right is read, what is wrong is told by file, line and field, all at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from mqops.errors import SettingsError
from mqops.quality.columns import COLUMNS
from mqops.quality.suite import columns_of
from mqops.quality.suite_file import load_suites, parse
from mqops.quality.where import Condition

FOLDER = Path(__file__).parents[3] / "include" / "expectations"
SHIPPED = sorted(path for path in FOLDER.iterdir() if path.suffix in {".yaml", ".json"})

HEAD = "suite: s\nexpectations:\n"
GOOD = HEAD + "- {id: a, expect: column_values_to_not_be_null, column: format}\n"


def between(**more: object) -> str:
    check = {"id": "a", "expect": "column_values_to_be_between", "column": "priority", "min_value": 0, **more}
    return HEAD + "- " + json.dumps({key: value for key, value in check.items() if value != "absent"})


def problems(text: str, source: str = "s.yaml") -> list[str]:
    suite, found = parse(text, source=source)
    assert (suite is None) == bool(found)
    return [str(problem) for problem in found]


def test_shipped_suites_are_valid() -> None:
    assert {path.suffix for path in SHIPPED} >= {".yaml"}
    assert len(load_suites(SHIPPED)) == len(SHIPPED)


def test_json_says_the_same_as_yaml() -> None:
    text = SHIPPED[0].read_text()
    as_json = json.dumps(yaml.safe_load(text), indent="\t")
    from_yaml, _ = parse(text, source="s.yaml")
    from_json, wrong = parse(as_json, source="s.json")
    assert not wrong
    assert from_yaml is not None
    assert from_json is not None

    def parsed(suite: object) -> list[tuple[object, ...]]:
        return [(c.id, c.columns, dict(c.arguments), c.where, c.severity) for c in suite.checks]  # type: ignore[attr-defined]

    assert parsed(from_yaml) == parsed(from_json)


def test_constants_of_mq_stand_for_their_numbers() -> None:
    suite, _ = parse(
        HEAD + "- {id: a, expect: column_values_to_be_in_set, column: msg_type, value_set: [MQMT_REQUEST, 8],"
        " where: {expiry: {not: MQEI_UNLIMITED}}}",
        source="s.yaml",
    )
    assert suite is not None
    assert suite.checks[0].arguments["value_set"] == (1, 8)
    assert suite.checks[0].where == (Condition(column="expiry", operator="not", value=-1),)


def test_columns_of_a_suite_include_conditions_and_problems() -> None:
    suite, _ = parse(
        HEAD + "- {id: a, expect: column_values_to_be_in_set, column: rfh2_valid, value_set: [true],"
        " where: {queue: {like: 'A.*'}}}",
        source="s.yaml",
    )
    assert suite is not None
    assert columns_of([suite]) == {"rfh2_valid", "rfh2_problem", "queue"}


def test_defaults() -> None:
    suite, _ = parse(GOOD, source="s.yaml")
    assert suite is not None
    check = suite.checks[0]
    assert (check.severity, check.mostly, check.where, suite.queues, check.line) == ("critical", 1.0, (), (), 3)


WRONG = [
    # the file itself
    ("", "s.yaml:1: must be a block of keys (found nothing)"),
    ("- a", "s.yaml:1: must be a block of keys (found a list)"),
    ("suite: s\nexpectations: [", "s.yaml:2: not valid YAML: "),
    (GOOD.replace("suite: s", "suite: s\nqueue: A"), "s.yaml:2: queue: is not a known key; did you mean 'queues'?"),
    (GOOD + "  id: b\n", "s.yaml:4: not valid YAML"),
    ("suite: s", "s.yaml:1: expectations: must be a list of at least one expectation (found nothing)"),
    ("suite: s\nexpectations: []", "s.yaml:2: expectations: must be a list of at least one expectation (found a list)"),
    (GOOD.replace("suite: s\n", ""), "s.yaml:1: suite: is required"),
    (
        GOOD.replace("suite: s", "suite: 'a b'"),
        "s.yaml:1: suite: must be a name of letters, digits, _ . - (found 'a b')",
    ),
    (GOOD + "queues: PAYMENTS", "s.yaml:4: queues: must be a list of queue names (found 'PAYMENTS')"),
    (GOOD + "queues: ['A B']", "s.yaml:4: queues.0: must be a queue's name, with * and ? (found 'A B')"),
    (GOOD + "description: 5", "s.yaml:4: description: must be text (found 5); put it in quotes"),
    # an expectation
    (HEAD + "- 5", "s.yaml:3: expectations.0: must be a block of keys (found 5)"),
    (HEAD + "- {id: a}", "s.yaml:3: expectations.0.expect: is required"),
    (
        between(expect="column_values_to_be_betwen"),
        "s.yaml:3: expectations.0.expect: there is no expectation 'column_values_to_be_betwen'; "
        "did you mean 'column_values_to_be_between'?",
    ),
    (between(id="absent"), "s.yaml:3: expectations.0.id: is required"),
    (GOOD + GOOD.splitlines()[-1], "s.yaml:4: expectations.1.id: 'a' stands for the expectation of line 3 already"),
    (between(column="absent"), "s.yaml:3: expectations.0.column: is required"),
    (
        between(column="prioryti"),
        "s.yaml:3: expectations.0.column: there is no column 'prioryti'; did you mean 'priority'?",
    ),
    (between(column="body"), "s.yaml:3: expectations.0.column: there is no column 'body'"),  # payload is withheld
    (between(column="md"), "s.yaml:3: expectations.0.column: there is no column 'md'"),
    (
        between(column="format"),
        "s.yaml:3: expectations.0.column: format is text, and column_values_to_be_between is about a number",
    ),
    (
        between(severity="bad"),
        "s.yaml:3: expectations.0.severity: must be one of critical, warning, info (found 'bad')",
    ),
    (between(mostly=1.5), "s.yaml:3: expectations.0.mostly: must be a number from 0 to 1 (found 1.5)"),
    (between(why=["a"]), "s.yaml:3: expectations.0.why: must be text (found a list)"),
    # arguments
    (
        between(minvalue=1),
        "s.yaml:3: expectations.0.minvalue: is not a known key; did you mean 'min_value'?",
    ),
    (between(min_value="absent"), "s.yaml:3: expectations.0: column_values_to_be_between needs min_value or max_value"),
    (between(min_value="low"), "s.yaml:3: expectations.0.min_value: must be a number (found 'low')"),
    (between(min_value=True), "s.yaml:3: expectations.0.min_value: must be a number (found True)"),
    (
        HEAD + "- {id: a, expect: column_values_to_be_between, column: priority, min_value: .nan}",
        "must be a number (found nan)",
    ),
    (
        between(min_value="MQPRI_LOW"),
        "s.yaml:3: expectations.0.min_value: there is no constant MQPRI_LOW",
    ),
    (between(max_value=-1), "expectations.0.min_value: must not be greater than max_value (found 0 and -1)"),
    (between(strict_min="yes"), "s.yaml:3: expectations.0.strict_min: must be true or false (found 'yes')"),
    (
        HEAD + "- {id: a, expect: table_row_count_to_be_between, min_value: -1}",
        "s.yaml:3: expectations.0.min_value: must be a whole number, 0 or more (found -1)",
    ),
    (
        HEAD + "- {id: a, expect: table_row_count_to_be_between, min_value: 1, mostly: 0.5}",
        "s.yaml:3: expectations.0.mostly: is not a known key",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_be_in_set, column: format}",
        "s.yaml:3: expectations.0.value_set: is required by column_values_to_be_in_set",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_be_in_set, column: format, value_set: []}",
        "s.yaml:3: expectations.0.value_set: must be a list of at least one value (found a list)",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_be_in_set, column: format, value_set: [5]}",
        "s.yaml:3: expectations.0.value_set: must be text (found 5); put it in quotes",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_be_in_set, column: rfh2_valid, value_set: ['true']}",
        "s.yaml:3: expectations.0.value_set: must be true or false (found 'true')",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_match_regex, column: format, regex: '('}",
        "s.yaml:3: expectations.0.regex: is not a regular expression: missing ): (; patterns are RE2's",
    ),
    (  # what only an engine that goes back could match: a message could keep it busy for ever
        HEAD + r"- {id: a, expect: column_values_to_match_regex, column: format, regex: '(a+)\1'}",
        r"s.yaml:3: expectations.0.regex: is not a regular expression: invalid escape sequence: \1; patterns are RE2's",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_not_match_regex, column: format, regex: 'a(?!b)'}",
        "s.yaml:3: expectations.0.regex: is not a regular expression: invalid perl operator: (?!; patterns are RE2's",
    ),
    (  # a program of a million steps
        HEAD + "- {id: a, expect: column_values_to_match_regex, column: format, regex: '((a{100}){100}){100}'}",
        "s.yaml:3: expectations.0.regex: is not a regular expression: invalid repetition size: {100}; patterns are",
    ),
    (
        HEAD + f"- {{id: a, expect: column_values_to_match_regex, column: format, regex: '{'a' * 501}'}}",
        "s.yaml:3: expectations.0.regex: must be a regular expression of at most 500 characters (found 501)",
    ),
    (
        HEAD + "- {id: a, expect: column_values_to_match_regex, column: format, regex: 5}",
        "s.yaml:3: expectations.0.regex: must be a regular expression in quotes (found 5)",
    ),
    (
        HEAD + "- {id: a, expect: compound_columns_to_be_unique, column_list: [queue]}",
        "s.yaml:3: expectations.0.column_list: must be a list of two or more columns (found a list)",
    ),
    (
        HEAD + "- {id: a, expect: compound_columns_to_be_unique, column_list: [queue, msgid]}",
        "s.yaml:3: expectations.0.column_list.1: there is no column 'msgid'; did you mean 'msg_id'?",
    ),
    (
        HEAD + "- {id: a, expect: column_pair_values_to_be_equal, column_A: format, column_B: priority}",
        "s.yaml:3: expectations.0: format and priority cannot be compared",
    ),
    # conditions
    (
        between(where={"queu": "A"}),
        "s.yaml:3: expectations.0.where.queu: there is no column 'queu'; did you mean 'queue'?",
    ),
    (between(where={"queue": 5}), "s.yaml:3: expectations.0.where.queue: must be text (found 5); put it in quotes"),
    (
        between(where={"queue": {"is": "A"}}),
        "expectations.0.where.queue.is: there is no condition 'is'; known here: at_least",
    ),
    (
        between(where={"queue": {"at_least": 1}}),
        "expectations.0.where.queue.at_least: queue is text, which cannot be 'at_least'",
    ),
    (between(where={"priority": {"like": "1*"}}), "where.priority.like: priority is a number, which cannot be 'like'"),
    (between(where={"queue": {"is_set": 1}}), "where.queue.is_set: must be true or false (found 1)"),
    (between(where=["queue"]), "s.yaml:3: expectations.0.where: must be a block of keys (found a list)"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_is_wrong_is_told_by_line_and_field(text: str, expected: str) -> None:
    assert any(expected in problem for problem in problems(text)), problems(text)


def test_all_errors_are_told_at_once_in_the_order_of_their_lines() -> None:
    text = (
        HEAD + "- id: a\n  expect: nothing\n- id: b\n  expect: column_values_to_be_null\n  column: no\n  severity: no\n"
    )
    assert [problem.split(": ")[0:2] for problem in problems(text)] == [
        ["s.yaml:4", "expectations.0.expect"],
        ["s.yaml:7", "expectations.1.column"],
        ["s.yaml:8", "expectations.1.severity"],
    ]


def test_all_errors_of_one_expectation_are_told_at_once() -> None:
    text = between(column="no", min_value="low", severity="no", where={"priority": {"like": "1"}, "queue": 5})
    told = sorted(problem.split(": ")[1].removeprefix("expectations.0.") for problem in problems(text))
    assert told == ["column", "min_value", "severity", "where.priority.like", "where.queue"]


def test_json_errors_have_their_line() -> None:
    assert problems('{"suite": "s",\n"expectations": [}', "s.json")[0].startswith("s.json:2: not valid JSON: ")
    wrong = problems('{"suite": "s",\n\t"expectations": [\n\t{"id": "a", "expect": "no"}]}', "s.json")
    assert wrong[0].startswith("s.json:3: expectations.0.expect: there is no expectation 'no'")
    assert problems("[" * 5000, "s.json") == ["s.json:1: it is nested too deeply"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the suite cannot be read"):
        load_suites([tmp_path / "none.yaml"])


def test_errors_of_all_files_are_told_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("suite: s")
    with pytest.raises(SettingsError) as caught:
        load_suites(sorted(tmp_path.iterdir()))
    assert len(str(caught.value).splitlines()) == 2


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD)
    with pytest.raises(SettingsError, match=r"b\.yaml:1: suite: 's' is the suite of .*a\.yaml too"):
        load_suites(sorted(tmp_path.iterdir()))


def test_no_suite_is_refused() -> None:
    with pytest.raises(SettingsError, match="No suite was named"):
        load_suites([])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "at least 0"),
        ({"max_value": 9}, "at least 0, at most 9"),
        ({"max_value": 9, "strict_max": True, "mostly": 0.95}, "at least 0, less than 9, in 95 % of the messages"),
        ({"min_value": "absent", "expect": "column_values_to_be_in_set", "value_set": [0, 4]}, "0, 4"),
    ],
)
def test_limits_of_a_check_are_told_in_words(more: dict[str, object], words: str) -> None:
    suite, _ = parse(between(**more), source="s.yaml")
    assert suite is not None
    assert suite.checks[0].limits() == words


def test_a_flag_is_told_as_yaml_has_it() -> None:
    check = "- {id: a, expect: column_values_to_be_in_set, column: rfh2_valid, value_set: [true]}\n"
    suite, _ = parse(HEAD + check, source="s.yaml")
    assert suite is not None
    assert suite.checks[0].limits() == "true"


@pytest.mark.parametrize(
    ("column", "expect", "limit", "words"),
    [
        ("age_seconds", "column_values_to_be_between", 86400, "at most 86,400 s (1 d)"),
        ("age_seconds", "column_max_to_be_between", 5400, "at most 5,400 s (1 h 30 min)"),
        ("expires_in_seconds", "column_values_to_be_between", 59.5, "at most 59.5 s"),
        ("expiry", "column_values_to_be_between", 36000, "at most 36,000 tenths of a second (1 h)"),
        ("body_length", "column_mean_to_be_between", 1000, "at most 1,000 bytes"),
        ("body_length", "column_values_to_be_between", 1, "at most 1 byte"),
        ("expiry", "column_values_to_be_between", 1, "at most 1 tenth of a second"),
        ("age_seconds", "column_unique_value_count_to_be_between", 90, "at most 90"),  # a number of values
        ("age_seconds", "column_proportion_of_unique_values_to_be_between", 1, "at most 1"),
        ("priority", "column_values_to_be_between", 90, "at most 90"),
    ],
)
def test_values_have_their_unit(column: str, expect: str, limit: float, words: str) -> None:
    suite, _ = parse(HEAD + f"- {{id: a, expect: {expect}, column: {column}, max_value: {limit}}}\n", source="s.yaml")
    assert suite is not None
    assert suite.checks[0].limits() == words


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("age", ["age_seconds", "msg_flags", "persistence"]),
        ("reason", ["dlh_reason", "position", "correl_id"]),
        ("json_valid", ["payload_json_valid", "dlh_valid", "rfh2_valid"]),
        ("PutDate", None),
        ("x", None),
    ],
)
def test_an_unknown_column_names_the_three_nearest(name: str, nearest: list[str] | None) -> None:
    where = f"{{{name}: {{is_set: true}}}}"
    text = HEAD + f"- {{id: a, expect: column_values_to_be_null, column: format, where: {where}}}\n"
    (problem,) = problems(text)
    found = re.findall("'([a-z0-9_]+)'", problem.partition("; did you mean")[2])
    assert len(set(found)) == 3
    assert set(found) <= set(COLUMNS)
    assert nearest is None or found[0] == nearest[0], problem
    assert len(problem) < 250  # and not all of them


README = Path(__file__).parents[3] / "include" / "expectations" / "README.md"


def test_the_first_example_of_the_readme_is_a_suite_that_can_fail() -> None:
    """On what a queue manager lets an application put: MQPUT refuses a request without ReplyToQ, for one."""
    (example, *_others) = re.findall("```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    suite, wrong = parse(example, source="README.yaml")
    assert (suite is None, wrong) == (False, ())
    assert suite is not None
    assert [check.id for check in suite.checks] == ["reply_names_its_request"]  # of which test_quality_live puts one
