"""`mqops rules`: shapes of the JSON, exit codes, standard input, and a start without the heavy parts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mqops.cli import main

TABLE = """\
* comment
RETRYINT(30)
REASON(MQRC_Q_FULL) DESTQ('PAY*') ACTION(RETRY) RETRY(3)
ACTION(FWD) FWDQ(D) FWDQM(&REPLYQM) HEADER(NO) PUTAUT(CTX)
"""


def mqops(*arguments, stdin=None):
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.rules"
    path.write_text(TABLE)
    return str(path)


def test_check_json(table):
    result = mqops("rules", "check", "--json", table)
    assert result.exit_code == 0
    assert json.loads(result.output) == {
        "ok": True,
        "control": {"INPUTQ": "", "INPUTQM": "", "RETRYINT": 30, "WAIT": "YES"},
        "rules": [
            {
                "line": 3,
                "patterns": {"REASON": 2053, "DESTQ": "PAY*"},
                "action": {"ACTION": "RETRY", "RETRY": 3, "PUTAUT": "DEF"},
            },
            {
                "line": 4,
                "patterns": {},
                "action": {
                    "ACTION": "FWD",
                    "RETRY": 1,
                    "FWDQ": "D",
                    "FWDQM": "&REPLYQM",
                    "HEADER": "NO",
                    "PUTAUT": "CTX",
                },
            },
        ],
        "errors": [],
        "warnings": [],
    }


def test_check_text(table):
    result = mqops("rules", "check", "--strict", table)
    assert (result.exit_code, result.output) == (0, f"{table}: valid, 2 rules, 0 warnings\n")


def test_D07_an_invalid_table_is_exit_1_with_every_error():
    result = mqops("rules", "check", "-", stdin="DESTQ(A)\nACTION(X)\n")
    assert result.exit_code == 1
    assert result.output.splitlines()[0].endswith(
        "1:1: error: this rule has no ACTION: add ACTION(DISCARD), (IGNORE), (RETRY) or (FWD)"
    )
    assert result.output.splitlines()[-1].endswith("2 errors, the table is not valid")
    document = json.loads(mqops("rules", "check", "--json", "-", stdin="DESTQ(A)\nACTION(X)\n").output)
    assert [(e["line"], e["column"]) for e in document["errors"]] == [(1, 1), (2, 8)]
    assert (document["ok"], document["rules"]) == (False, [])


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("ACTION(d\N{LATIN SMALL LETTER DOTLESS I}scard)", 8),
        ("ACTION(FWD) FWDQ(gro\N{LATIN SMALL LETTER SHARP S}.q)", 18),
        ("ACTION(FWD) FWDQ(p\N{LATIN SMALL LETTER DOTLESS I}ng)", 18),
        ("ACTION(FWD) FWDQ(\N{LATIN SMALL LETTER LONG S}ys.q)", 18),
    ],
)
@pytest.mark.parametrize("command", [("rules", "check", "--strict", "-"), ("dlq", "run", "DLQ", "NO.SUCH")])
def test_D07_a_letter_beyond_a_to_z_is_not_folded(command, text, column):
    result = mqops(*command, stdin=f"{text}\n")
    assert result.exit_code == 1
    assert f"1:{column}: " in result.output
    assert f"\n    {text}\n    {' ' * (column - 1)}^" in result.output


def test_D14_warnings_do_not_make_a_table_invalid():
    result = mqops("rules", "check", "-", stdin="ACTION(IGNORE)\n")
    assert result.exit_code == 0
    assert "1:1: warning: ACTION(IGNORE) leaves messages" in result.output


@pytest.mark.parametrize("arguments", [("check",), ("check", "no.such.file"), ("nonsense",), ("explain", "-")])
def test_usage_errors_are_exit_2(arguments):
    assert mqops("rules", *arguments, stdin="").exit_code == 2


def test_explain(table, tmp_path):
    messages = tmp_path / "m.jsonl"
    messages.write_text('{"DESTQ": "PAYMENTS.IN    ", "REASON": 2053}\n\n{"REASON": 2085}\n{}\n')
    result = mqops("rules", "explain", table, "--messages", str(messages), "--json")
    assert result.exit_code == 0
    forward = {"line": 4, "action": "FWD", "tries": 1}
    assert [json.loads(line) for line in result.output.splitlines()] == [
        {"matches": [{"line": 3, "action": "RETRY", "tries": 3}, forward]},
        {"matches": [forward]},
        {"matches": [forward]},
    ]


def test_explain_text_says_what_an_IGNORE_hides():
    table = "DESTQ(A) ACTION(RETRY) RETRY(2)\nDESTQ(A) ACTION(IGNORE)\nDESTQ(A) ACTION(FWD) FWDQ(B) FWDQM(C)\n"
    with CliRunner().isolated_filesystem():
        with open("m.jsonl", "w") as stream:
            stream.write('{"DESTQ": "A"}\n{"DESTQ": "B"}\n')
        result = mqops("rules", "explain", "-", "--messages", "m.jsonl", stdin=table)
    assert result.output == (
        "message 1:\n"
        "  line 1: RETRY, 2 tries\n"
        "  line 2: IGNORE\n"
        "  line 3: FWD to B@C, 1 try (never: hidden by the IGNORE at line 2)\n"
        "message 2:\n"
        "  no rule matches: left on the queue\n"
    )


def test_explain_with_an_invalid_table_is_exit_1(tmp_path):
    messages = tmp_path / "m.jsonl"
    messages.write_text("{}\n")
    result = mqops("rules", "explain", "-", "--messages", str(messages), "--json", stdin="ACTION(X)\n")
    assert result.exit_code == 1
    assert json.loads(result.output)["ok"] is False


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "a message is a JSON object"),
        ("{", "Expecting property name"),
        ('{"DESTQUEUE": "A"}', "'DESTQUEUE' is not a pattern keyword"),
        ('{"REASON": "MQRC_Q_FUL"}', "REASON: 'MQRC_Q_FUL' is neither a number nor a symbolic name"),
        ('{"REASON": true}', "REASON is a number, not true"),
        ('{"DESTQ": 1}', "DESTQ is a text, not 1"),
        ('{"FORMAT": "123456789"}', "FORMAT is longer than its field of 8"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
def test_a_bad_message_is_a_usage_error(table, tmp_path, line, says):
    messages = tmp_path / "m.jsonl"
    messages.write_text(f"{{}}\n{line}\n")
    result = mqops("rules", "explain", table, "--messages", str(messages))
    assert result.exit_code == 2
    assert f"m.jsonl:2: {says}" in " ".join(result.output.split())


def test_dlq_run_starts_without_comparing_rules(monkeypatch):
    """What takes work is for `rules check`: the handler warns of nothing."""
    monkeypatch.setattr("mqops.rules.parser.warnings_of", lambda *_: pytest.fail("the linter ran"))
    result = mqops("dlq", "run", "DLQ", "NO.SUCH", "--once", stdin=TABLE)
    assert "NO.SUCH" in result.output
    assert "MQRC_Q_MGR_NAME_ERROR" in result.output


def test_the_command_imports_nothing_heavy():
    code = (
        "import sys; from mqops.cli import main; import mqops.cli.rules, mqops.decide.core; "
        "heavy = {'pyspark', 'airflow', 'pymqi', 'great_expectations', 'pyarrow'}; "
        "sys.exit(bool(heavy & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
