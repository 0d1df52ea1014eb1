"""Columns that suites name in payloads: what is right is read, what is wrong is told by file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqops.quality.suite_file import parse
from mqops.quality.vocabulary import EXPECTATIONS

HEAD = "suite: s\ncolumns:\n  {}\nexpectations:\n- {{id: a, expect: column_values_to_not_be_null, column: {}}}\n"
XS = "http://www.w3.org/2001/XMLSchema"
CHECK = "suite: s\nexpectations:\n- {{id: a, {}}}\n"


@pytest.mark.parametrize(
    ("declared", "column", "wrong"),
    [
        (
            "queue: {at: $.queue}",
            "queue",
            "s.yaml:3: columns.queue: is the name of a column already: choose another one",
        ),
        (
            "a: money",
            "format",
            "s.yaml:3: columns.a: type is not valid here (found 'money'): write a type (text, number,",
        ),
        ("a: {at: amount}", "format", "s.yaml:3: columns.a: names nothing in a message: write $.name or $[0] for JSON"),
        (
            "a: {at: $.a, type: packed}",
            "a",
            "columns.a: offset, ccsid, packed and zoned are of a slice: give its length",
        ),
        ("$.a: {offset: 1, length: 2}", "format", "columns.$.a: a slice has offset and length, and a name of letters"),
        ("a: {offset: 0, length: 17, type: packed}", "a", "columns.a: a packed number has at most 16 bytes"),
        ("a: {at: $.a, decimals: 2}", "a", "columns.a: decimals are of packed and zoned numbers"),
        ("a: {length: -1}", "a", "columns.a: length is not valid here (found -1)"),
        ("a: {at: $.a, size: 2}", "a", "columns.a: size is not valid here (found 2)"),
        ("a: $.a", "$..a", "s.yaml:5: expectations.0.column: there is no column '$..a'"),
    ],
)
def test_a_declaration_that_is_wrong(declared: str, column: str, wrong: str) -> None:
    suite, problems = parse(HEAD.format(declared, column), source="s.yaml")
    assert suite is None
    assert wrong in "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (
            "expect: column_values_to_be_between, column: $.amount, min_value: 1",
            "s.yaml:3: expectations.0.column: $.amount is text, and column_values_to_be_between is about",
        ),
        (
            "expect: column_values_to_be_readable, column: format",
            "expectations.0.column: format can always be read: name a path, a property, or a column of the suite",
        ),
        (
            "expect: column_values_to_match_strftime_format, column: $.a, strftime_format: day",
            "expectations.0.strftime_format: must be the form of a date, as of strptime, such as",
        ),
        (
            "expect: payload_to_match_json_schema, schema_file: not_there.json",
            "s.yaml:3: expectations.0.schema_file: not_there.json cannot be read",
        ),
    ],
)
def test_a_check_that_is_wrong(check: str, wrong: str) -> None:
    suite, problems = parse(CHECK.format(check), source="s.yaml")
    assert suite is None
    assert wrong in "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("kind", "schema", "wrong"),
    [
        ("json", "[", "is not JSON"),
        ("json", '{"type": "money"}', "is not a JSON Schema"),
        ("json", '{"$ref": "http://127.0.0.1/x.json"}', "refers to another document"),
        ("json", '{"pattern": "(?=a)"}', "pattern is not a regular expression"),
        ("json", '{"patternProperties": {"(a+)+$": {}}}', "has patternProperties"),
        ("xml", "<a/>", "is not an XML Schema that stands alone"),
        (
            "xml",
            f'<xs:schema xmlns:xs="{XS}"><xs:include schemaLocation="/etc/passwd"/></xs:schema>',
            "is not an XML Schema that stands alone: block access",
        ),
        ("xml", '<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><a>&b;</a>', "is not an XML Schema that stands alone"),
    ],
)
def test_a_schema_that_cannot_be_used(tmp_path: Path, kind: str, schema: str, wrong: str) -> None:
    (tmp_path / "s").write_text(schema)
    text = CHECK.format(f"expect: payload_to_match_{kind}_schema, schema_file: s")
    suite, (problem,) = parse(text, source=str(tmp_path / "s.yaml"))
    assert suite is None
    assert f"s.yaml:3: expectations.0.schema_file: s {wrong}" in str(problem)


def test_each_column_has_a_check_that_it_can_be_read() -> None:
    """About the messages of the others, as severe as the worst; none where the suite says one itself."""
    text = (
        "suite: s\nexpectations:\n"
        "- {id: a, expect: column_values_to_not_be_null, column: $.a, severity: info,"
        " where: {priority: 4, $.kind: X}}\n"
        "- {id: b, expect: column_values_to_not_be_null, column: $.a, severity: warning, where: {priority: 4}}\n"
        "- {id: c, expect: column_values_to_be_unique, column: $.a}\n"
        "- {id: d, expect: column_values_to_be_unique, column: $.b}\n"
        "- {id: b_told, expect: column_values_to_be_readable, column: $.b, severity: info}\n"
    )
    suite, problems = parse(text, source="s.yaml")
    assert suite is not None, problems
    readable = [one for one in suite.checks if one.expectation is EXPECTATIONS["column_values_to_be_readable"]]
    assert [(one.id, one.severity, [str(each) for each in one.where]) for one in readable] == [
        ("b_told", "info", []),
        ("a_readable", "warning", ["priority equals 4"]),
        ("kind_readable", "info", ["priority equals 4"]),
        ("a_readable_2", "critical", []),
    ]
    assert [str(one) for one in suite.checks[0].where] == ["priority equals 4", "$.kind equals X"]
