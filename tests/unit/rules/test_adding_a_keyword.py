"""A keyword is one entry: docs/adding_a_keyword.md adds one, and everything knows it. On Spark: tests/spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from made_tables import keywords
from snapshot_support import browsed, observed_row
from toy_keyword import toy

from mqops.cli import main
from mqops.observe.core.answers import answers, columns_for, refuse_unknown_column
from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.rules import choose, parse
from mqops.rules.keyword import Entry, ValueKind
from mqops.rules.keywords import KEYWORDS
from mqwire import constants as c
from mqwire.structures import MQMD

HEADER = "* MQOPS EXTENSIONS\n"
TYPES = {name: kind for name, kind, _nullable in SNAPSHOT_COLUMNS}
CATCH_ALL = "ACTION(FWD) FWDQ(A)\n"


@pytest.fixture
def added(monkeypatch):
    """The keyword MSGSEQ is in the table."""
    monkeypatch.setitem(KEYWORDS, "MSGSEQ", toy())


def messages_of(text):
    parsed = parse(text)
    return [problem.message for problem in parsed.errors + parsed.warnings]


def mqops(*arguments, stdin=None, **environment):
    result = CliRunner().invoke(main, arguments, input=stdin, env=environment, prog_name="mqops")
    assert result.exit_code == 0, result.output
    return result.output


def test_without_its_entry_it_is_unknown():
    (error,) = messages_of(f"{HEADER}MSGSEQ(>1) ACTION(RETRY)\n")
    assert error.startswith("'MSGSEQ' is not a keyword")


@pytest.mark.usefixtures("added")
def test_it_is_parsed():
    rule = parse(f"{HEADER}msgseq( > 1 ) ACTION(RETRY)\n").table.rules[0]
    assert [(one.question.keyword, str(one)) for one in rule.extensions] == [("MSGSEQ", ">1")]
    no_number = "'X' is no sequence number: write a number, such as MSGSEQ(>1)"
    not_closed = "this quote is not closed: add a ' at the end of the value (one inside a value is '')"
    for text, *errors in (
        ("MSGSEQ(>x)", no_number),
        ("MSGSEQ(1)", "this is not a condition of MSGSEQ: write MSGSEQ(>1)"),
        ("MSGSEK(>1)", "'MSGSEK' is not a keyword of a rules table: did you mean MSGSEQ?"),
        ("DESTQ('A MSGSEQ(>x)", not_closed, no_number),
    ):
        assert messages_of(f"{HEADER}{text} ACTION(RETRY)\n") == errors
    (error,) = messages_of("MSGSEQ(>1) ACTION(RETRY)\n")
    assert error.startswith("MSGSEQ is an extension that IBM's handler does not know")


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("rules", "line", "warning"),
    [
        ("MSGSEQ(>2) MSGSEQ(<2) ACTION(RETRY)\n", 2, "this rule matches nothing: no message is MSGSEQ(>2) MSGSEQ(<2)"),
        ("MSGSEQ(<1) ACTION(RETRY)\n", 2, "this rule matches nothing: no message is MSGSEQ(<1)"),  # by `every`
        ("MSGSEQ(>1) ACTION(DISCARD)\nMSGSEQ(>5) ACTION(RETRY)\n", 3, "this rule is never reached: the rule on line 2"),
        ("MSGSEQ(>=1) ACTION(DISCARD)\nDESTQ(B) ACTION(RETRY)\n", 3, "this rule is never reached: the rule on line 2"),
    ],
)
def test_it_is_linted(rules, line, warning):
    found = parse(HEADER + rules + CATCH_ALL).warnings
    assert (found[0].line, found[0].message[: len(warning)]) == (line, warning)


@pytest.mark.usefixtures("added")
def test_it_is_evaluated():
    table = parse(f"{HEADER}MSGSEQ(>2) ACTION(RETRY)\n{CATCH_ALL}").table
    assert columns_for(table.questions) == ["msg_seq_number"]
    queue = browsed("DLQ", datetime(2026, 11, 21, tzinfo=UTC))
    for number, line in ((1, 3), (2, 3), (3, 2)):
        row = observed_row(queue, MQMD(msg_seq_number=number).pack(encoding=c.MQENC_NATIVE, ccsid=1208), b"")
        assert choose(table, answers(table.questions, row), {}).line == line


@pytest.mark.usefixtures("added")
def test_the_command_line_knows_it(tmp_path):
    path = tmp_path / "t.rules"
    path.write_text(f"{HEADER}MSGSEQ(>2) ACTION(RETRY)\n")
    assert json.loads(mqops("rules", "check", str(path), "--json"))["rules"][0]["patterns"] == {"MSGSEQ": [">2"]}
    for number, matched in ((2, []), (3, [2])):
        found = mqops(
            *("rules", "explain", str(path), "--messages", "-", "--json"), stdin=json.dumps({"msgseq": number})
        )
        assert [match["line"] for match in json.loads(found)["matches"]] == matched


@pytest.mark.usefixtures("added")
def test_it_is_documented():
    meaning = "MQMD.MsgSeqNumber: the place of a message in its group"
    assert f"| `MSGSEQ` | `>` `>=` `<` `<=` or `=`, a number | {meaning} |" in keywords(Entry.PATTERN)
    assert f"MSGSEQ    {meaning}\n" in mqops("rules", "keywords")
    shown = mqops("rules", "keywords", "msgseq")
    assert shown == (
        "MSGSEQ belongs to a rule's pattern (extension of mqops).\n"
        f"  MSGSEQ(> >= < <= or =, a number)\n      {meaning}\n      such as MSGSEQ(>1)\n"
    )
    assert json.loads(mqops("rules", "keywords", "MSGSEQ", "--json"))["keywords"][0]["examples"] == ["MSGSEQ(>1)"]


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(("typed", "found"), [("MSG", ["MSGTYPE", "MSGSEQ"]), ("msgs", ["MSGSEQ"]), ("X", [])])
def test_the_shell_completes_it(typed, found):
    words = {"COMP_WORDS": f"mqops rules keywords {typed}", "COMP_CWORD": "3"}
    result = CliRunner().invoke(main, env={"_MQOPS_COMPLETE": "bash_complete", **words}, prog_name="mqops")
    assert result.output.split() == [f"plain,{name}" for name in found]


def test_an_unknown_keyword_is_a_usage_error():
    result = CliRunner().invoke(main, ["rules", "keywords", "NONSENSE"])
    assert result.exit_code == 2
    assert "'NONSENSE' is not a keyword of a rules table: `mqops rules keywords` lists them" in result.output


@pytest.mark.parametrize("keyword", [one for one in KEYWORDS.values() if one.entry is Entry.PATTERN])
def test_a_pattern_reads_columns_of_its_kind(keyword):
    refuse_unknown_column(keyword)  # it says which columns there are
    types = {TYPES[column] for column in keyword.columns}
    assert types
    if keyword.kind is ValueKind.WILD:
        assert types == {"string"}
    if keyword.kind in (ValueKind.NUMBER, ValueKind.COMPARED):
        assert len(keyword.columns) == 1
        assert types <= {"integer", "long"}
