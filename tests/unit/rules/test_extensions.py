"""Extended rules: the header line, --strict, what a condition asks and gets, and what the linter may still conclude."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.rules import matches, parse
from mqops.rules.documents import json_values, kind_of, xml_values
from mqops.rules.keyword import Entry
from mqops.rules.keywords import KEYWORDS

DOCS = Path(__file__).parents[3] / "docs"
HEADER = "* MQOPS EXTENSIONS\n"
EXTENSIONS = [name for name, keyword in KEYWORDS.items() if keyword.extension]
RULE = "AGE(>15m) ACTION(RETRY)\n"


def table_of(text):
    parsed = parse(HEADER + text)
    assert [error.render() for error in parsed.errors] == []
    return parsed.table


def rule_of(text):
    return table_of(f"{text} ACTION(RETRY)\n").rules[0]


@pytest.mark.parametrize("header", ["* MQOPS EXTENSIONS", "*mqops   Extensions  ", "\n  \n*  MQOPS EXTENSIONS\r"])
def test_the_header_line_is_the_first_that_is_not_blank(header):
    assert parse(f"{header}\n{RULE}").errors == ()


@pytest.mark.parametrize(
    "header",
    [
        "",
        "* MQOPS EXTENSION",
        "* MQOPSEXTENSIONS",
        "* MQOPS EXTENSIONS 2",
        "* a comment\n* MQOPS EXTENSIONS",
        "*\tMQOPS EXTENSIONS",
    ],
)
def test_without_it_each_keyword_is_an_error_that_names_it(header):
    found = parse(f"{header}\n{RULE}").errors
    assert [error.column for error in found] == [1]
    assert "begin the table with the line '* MQOPS EXTENSIONS'" in found[0].message


@pytest.mark.parametrize("keyword", EXTENSIONS)
def test_strict_refuses_the_header_and_every_keyword(keyword):
    text = f"{HEADER}{KEYWORDS[keyword].examples[0]} ACTION(RETRY)\n"
    assert parse(text).table is not None
    header, word = parse(text, strict=True).errors
    assert (header.line, header.column) == (1, 1)
    assert header.message == (
        "this line allows extensions, and --strict takes only what IBM's handler knows: remove it, or --strict"
    )
    assert (word.line, word.column) == (2, 1)
    assert word.message == f"{keyword} is an extension that IBM's handler does not know: remove it, or --strict"


def test_a_table_without_extensions_keeps_its_keys():
    text = "REASON(2053) DESTQ('PAY*') ACTION(RETRY) RETRY(3)\nACTION(FWD) FWDQ(D) HEADER(NO)\n"
    keys = [rule.key for rule in parse(text).table.rules]
    assert keys == ["e3ba07e216eef113-1", "c13f9f0426b816dc-1"]
    assert [rule.key for rule in table_of(text).rules] == keys


def test_a_condition_makes_another_key_and_how_it_is_put_does_not():
    plain = rule_of("DESTQ(A)")
    assert rule_of("DESTQ(A) CANARY(5) PACE(3/s) MAXREPLAY(2) BACKOFF('1m,2h') ORDER(CORRELID)").key == plain.key
    assert rule_of("DESTQ(A) AGE(>1h)").key != plain.key
    assert rule_of("DESTQ(A) AGE(>1h) BODY('x')").key == rule_of("BODY('x') AGE(>60m) DESTQ(A)").key


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5m", (300,)), ("'1m,5m,30m,2h'", (60, 300, 1800, 7200)), ("'90s, 1D'", (90, 86400)), ("366d", (31_622_400,))],
)
def test_P08_BACKOFF_is_a_list_of_times(text, seconds):
    assert rule_of(f"DESTQ(A) BACKOFF({text})").backoff == seconds
    assert rule_of("DESTQ(A)").backoff == ()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("5", "'5' is not a time"),
        ("'1m,,2m'", "'' is not a time"),
        ("'1m,5x'", "'5x' is not a time"),
        ("'1m;5m'", "'1m;5m' is not a time"),
        ("'-1m'", "'-1m' is not a time"),
        ("0s", "0s is out of the range"),
        ("367d", "367d is out of the range"),
        ("'1m,\u0665m'", "is not a time"),  # an Arabic digit
    ],
)
def test_a_BACKOFF_that_is_no_list_of_times_is_refused(text, wrong):
    (error,) = parse(f"{HEADER}DESTQ(A) ACTION(RETRY) BACKOFF({text})\n").errors
    assert wrong.upper() in error.message.upper()
    assert "BACKOFF" in error.message
    assert error.line == 2


HELD = [
    ("AGE(>1m)", "AGE", 61, 60),
    ("AGE(>=1m)", "AGE", 60, 59),
    ("AGE(<1h)", "AGE", 3599, 3600),
    ("AGE(<=1d)", "AGE", 86400, 86401),
    ("AGE(=5s)", "AGE", 5, 6),
    ("AGE(<1h)", "AGE", -5, None),  # put in the future by another clock; no valid date
    ("SIZE(>=64K)", "SIZE", 65536, 65535),
    ("SIZE(<1M)", "SIZE", 1048575, 1048576),
    ("BACKOUT(>3)", "BACKOUT", 4, 3),
    ("PRIORITY(<=3)", "PRIORITY", 3, 4),
    ("PROP('usr.a' = 'D?')", "PROP usr.a", "DE  ", "D"),
    ("PROP('usr.a' = '*')", "PROP usr.a", "", None),  # there, and not there
    ("PROP('usr.a' = ' ')", "PROP usr.a", "  ", "x"),
    ("BODY('*a''b*')", "BODY", "x a'b\n" * 1000, "ab"),
    ("BODY('A *')", "BODY", "A B", "A  "),  # no blanks are added
    ("BODY(JSON '$.a[0]' = '7')", "BODY JSON $.a[0]", "7", "70"),
    ("BODY(XPATH '/a/@b' = 'DE')", "BODY XPATH /a/@b", "DE", "de"),
]


@pytest.mark.parametrize(("text", "question", "met", "missed"), HELD)
def test_conditions_at_their_bounds(text, question, met, missed):
    rule = rule_of(text)
    assert matches(rule, {question: met})
    assert not matches(rule, {question: missed})
    assert not matches(rule, {})


def test_each_keyword_with_a_condition_is_tried_at_its_bounds():
    tried = {question.split()[0] for _text, question, _met, _missed in HELD}
    wanted = {name for name in EXTENSIONS if KEYWORDS[name].entry is Entry.PATTERN}
    assert tried == wanted, "a keyword that matches messages is a row of HELD: a value that meets it, one that does not"


def test_all_conditions_of_a_rule_must_hold():
    rule = rule_of("AGE(>1h) AGE(<2h) DESTQ(A)")
    assert matches(rule, {"AGE": 3601, "DESTQ": "A"})
    assert not matches(rule, {"AGE": 7200, "DESTQ": "A"})
    assert not matches(rule, {"AGE": 3601, "DESTQ": "B"})


def test_D14_a_rule_with_a_condition_hides_rules_that_have_it_too():
    warnings = parse(f"{HEADER}AGE(>1h) ACTION(DISCARD)\nAGE(>1h) DESTQ(A) ACTION(RETRY)\n").warnings
    assert [warning.line for warning in warnings] == [3, 3]
    assert "no catch-all" in warnings[0].message
    assert "never reached" in warnings[1].message


@pytest.mark.parametrize(
    "text", ["AGE(>2h) AGE(<1h)", "SIZE(=1) SIZE(=2)", "BACKOUT(<0)", "PRIORITY(>9)", "AGE(>1h) AGE(<3601s)"]
)
def test_D14_numbers_that_no_message_has_are_warned_of(text):
    messages = [warning.message for warning in parse(f"{HEADER}{text} ACTION(RETRY)\nACTION(FWD) FWDQ(A)\n").warnings]
    assert len(messages) == 1
    assert messages[0].startswith("this rule matches nothing: no message is ")


KINDS = [
    ("", "text"),
    ("a\0b", None),
    ("5", "text"),
    (' {"a": 1}\n', "json"),
    ("[]", "json"),
    ('{"a": 1} x', "text"),
    ('{"a": 1, "a": 1}', "text"),
    ('{"a": NaN}', "text"),
    ("{'a': 1}", "text"),
    ('{"a": "\\ud800"}', "text"),
    ('{"a": "\\ud83d\\udcb0"}', "json"),
    ("[" * 500 + "]" * 500, "json"),
    ("[" * 501 + "]" * 501, "text"),
    ("[" * 100_000, "text"),
    ("[" + "1" * 500 + "]", "json"),
    ("[" + "1" * 501 + "]", "text"),
    ('["' + "x" * (4 << 20) + '"]', "text"),
    ("<a/>", "xml"),
    ("<a><!-- DOCTYPE --></a>", "xml"),
    ("<!DOCTYPE a><a/>", "text"),
    ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "text"),
    ("<a>&b;</a>", "text"),
    ("<a>", "text"),
    ("<?xml version='1.0' encoding='x'?><a/>", "xml"),
    ("<?xml version='1.1'?><a/>", "text"),
    ("\ufeff<a/>", "text"),
    ("<a>" * 100 + "</a>" * 100, "xml"),
    ("<a>" * 101 + "</a>" * 101, "text"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS, ids=range(len(KINDS)))
def test_what_a_text_is(text, kind):
    assert kind_of(text) == kind


def test_values_in_json():
    text = json.dumps({"a": {"b": [1, "x y", True, None, 1.5, 2**63, -(2**63), {}]}, "c-d": ""})
    paths = [*(f"$.a.b[{number}]" for number in range(9)), "$.c-d", "$.a", "$.x", "$[0]", "$.c-d[0]"]
    values = ["1", "x y", "true", None, None, None, str(-(2**63)), None, None, "", None, None, None, None]
    assert json_values(text, paths) == values


SELECTED = [
    ("/a/@i", "7"),
    ("/a/b", "xyz"),
    ("/a/b[2]", ""),
    ("/a/b[2]/@i", "8"),
    ("/a/b/@i", "8"),
    ("/a/b/c", "z"),
    ("/a/b[3]/c", "last"),
    ("/a[2]", None),
    ("/b", None),
    ("/a/@o", None),  # xmlns:o is no attribute
    ("/a/b[4]", None),
]


@pytest.mark.parametrize(("path", "value"), SELECTED)
def test_values_in_xml(path, value):
    text = "<o:a xmlns:o='u' i='7'><b>x<!-- n -->y<c>z</c></b><b o:i='8'/><o:b><c>last</c></o:b></o:a>"
    assert xml_values(text, [path]) == [value]


def mqops(*arguments, stdin=None):
    return CliRunner().invoke(main, arguments, input=stdin)


def explained(tmp_path, text, message):
    (tmp_path / "t.rules").write_text(HEADER + text)
    return mqops("rules", "explain", str(tmp_path / "t.rules"), "--messages", "-", "--json", stdin=json.dumps(message))


def test_explain_takes_what_extensions_ask(tmp_path):
    rules = (
        "AGE(>1h) ACTION(RETRY)\nPROP('usr.a' = 'D*') ACTION(RETRY)\nBODY('*x*') ACTION(RETRY)\n"
        "BODY(JSON '$.a' = 'x') ACTION(RETRY)\nBODY(XPATH '/a' = 'x') ACTION(RETRY)\nPRIORITY(>3) ACTION(RETRY)\n"
    )
    for message, lines in (
        ({}, []),
        ({"age": 3601, "PROP": {"usr.a": "DE"}, "BODY": '{"a": "x"}'}, [2, 3, 4, 5]),
        ({"BODY": "<a>x</a>", "PRIORITY": 4, "SIZE": 1, "BACKOUT": 0}, [4, 6, 7]),
    ):
        found = json.loads(explained(tmp_path, rules, message).output)
        assert [match["line"] for match in found["matches"]] == lines


@pytest.mark.parametrize(
    "message", [{"AGE": "1h"}, {"PROP": "x"}, {"PROP": {"usr.a": 1}}, {"BODY": 5}, {"PRIORITY": True}, {"CANARY": 1}]
)
def test_explain_refuses_other_types(tmp_path, message):
    assert explained(tmp_path, RULE, message).exit_code == 2


@pytest.mark.parametrize("key", ["usr.customer", "USR.CUSTOMER"])
def test_ORDER_by_a_property_needs_quotes(key):
    result = mqops("rules", "check", "-", stdin=f"{HEADER}ACTION(RETRY) ORDER({key})\n")
    assert result.exit_code == 1
    assert "2:21: error: without quotes a name is folded, and no property has this one: put it in sing" in result.output
    assert table_of(f"ACTION(RETRY) ORDER('{key}')\n").rules[0].order == key
    assert table_of("ACTION(RETRY) ORDER(groupid)\n").rules[0].order == "GROUPID"


def test_dlq_run_strict_takes_no_extended_table():
    result = mqops("dlq", "run", "--strict", "DLQ", "NO.SUCH", stdin=HEADER + RULE)
    assert result.exit_code == 1
    assert "2 errors; nothing was done" in result.output


def test_the_tables_of_the_documentation_are_valid():
    text = (DOCS / "rules_extensions.md").read_text()
    tables = [block.split("```")[0] for block in text.split("```\n")[1::2]]
    extended = [table for table in tables if table.startswith("* MQOPS EXTENSIONS")]
    assert extended
    for table in extended:
        parsed = parse(table)
        assert (parsed.errors, parsed.warnings) == ((), ())
        missing = {word for word in EXTENSIONS if f"{word}(" not in table}
        assert not missing, "write each once in the example table of docs/rules_extensions.md"
