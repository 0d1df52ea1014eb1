"""`mqops rules test`: a table on a recorded snapshot against an expectation file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from mqops.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "mqops"))
from snapshots import dead_letter, msg_id, recorded

DOCUMENT = Path(__file__).parents[3] / "docs" / "rules_testing.md"
TABLE = "REASON(MQRC_Q_FULL) DESTQ(PAY*) ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)\n"
MESSAGES = [
    dead_letter("PAY.IN", b"x"),
    *[dead_letter("PAY.OUT", b"y" * 10)] * 4,
    dead_letter("ORDERS", b"z", reason=2085),
    ({}, b"no header"),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run's folder `run1` and a table `qm1.rules` in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("qm1.rules").write_text(TABLE)
    Path("run1").symlink_to(recorded(tmp_path / "lake", MESSAGES).path)


def rules_test(expectations, *arguments, table="qm1.rules"):
    if expectations is not None:
        Path("qm1.yaml").write_text(expectations)
    command = ["rules", "test", table, "--snapshot", "run1", "--expect", "qm1.yaml", *arguments]
    return CliRunner().invoke(main, command)


def test_the_documents_example(run):
    text = DOCUMENT.read_text()
    (example,) = re.findall(r"```yaml\n(.+?)```", text, re.DOTALL)
    (shown,) = re.findall(r"```\n\$ mqops (rules test .+?)\n(.+?)```", text, re.DOTALL)
    Path("qm1.yaml").write_text(example)
    result = CliRunner().invoke(main, shown[0].split())
    assert (result.exit_code, result.output) == (0, shown[1])


def test_what_fails_is_told_with_its_line_and_the_fates_that_were_found(run):
    result = rules_test("""\
expectations:
  - where: {DESTQ: "PAY*"}
    to: PAY.OUT@QM1
  - {where: {REASON: 2085}, action: RETRY, rule: 1}
  - {where: {}, count: 7}
  - {where: {DESTQ: NOBODY}, action: FWD}
""")
    assert result.exit_code == 1
    assert (
        result.output
        == f"""\
qm1.yaml:2: FAILED: DESTQ(PAY*): 4 of 5 messages are to PAY.OUT@QM1, all wanted
    1 RETRY to PAY.IN@QM1 by line 1: {msg_id(1)}
qm1.yaml:4: FAILED: REASON(2085): 0 of 1 message are RETRY by line 1, all wanted
    1 FWD to REALLY.DEAD.QUEUE by line 2: {msg_id(6)}
qm1.yaml:5: ok: all messages: 7 of 7 messages, 7 wanted
qm1.yaml:6: FAILED: DESTQ(NOBODY): 0 of 0 messages are FWD, all wanted
4 expectations, 3 failed
"""
    )


def test_json_and_junit(run):
    expectations = (
        'expectations:\n  - {name: "a < b", where: {DESTQ: ORDERS}, action: RETRY}\n  - {where: {}, count: 7}\n'
    )
    result = rules_test(expectations, "--json", "--junit", "results.xml")
    assert result.exit_code == 1
    document = json.loads(result.output)
    assert (document["ok"], document["file"]) == (False, "qm1.yaml")
    assert document["results"][0] == {
        **{"line": 2, "ok": False, "selected": 1, "fit": 0},
        "expectation": {"name": "a < b", "where": {"DESTQ": "ORDERS"}, "action": "RETRY"},
        "others": [
            {"fate": "FWD to REALLY.DEAD.QUEUE by line 2", "messages": 1, "message_ids": [msg_id(6)]},
        ],
    }
    suite = ElementTree.parse("results.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [(case.get("name"), case.find("failure") is None) for case in suite] == [("a < b", False), ("line 3", True)]


@pytest.mark.parametrize(
    ("entry", "met"),
    [
        ("{where: {}, action: ERROR, count: 1}", True),  # the message without an MQDLH
        ("{where: {FORMAT: MQSTR}, count: 6}", True),
        ("{where: {destq: 'PAY.*', REASON: MQRC_Q_FULL}, action: RETRY, to: PAY.IN, count: 1}", True),
        ("{where: {DESTQ: ''}, count: 1}", True),  # blank
        ("{where: {DESTQ: ORDERS}, to: REALLY.DEAD.QUEUE@}", True),
        ("{where: {DESTQ: ORDERS}, to: REALLY.DEAD.QUEUE@QM1}", False),
        ("{where: {DESTQ: ORDERS}, header: false}", False),
        ("{where: {DESTQ: ORDERS}, putaut: DEF}", True),
        ("{where: {}, rule: 0, count: 1}", True),
        (f"{{message: '{msg_id(6).upper()}', action: FWD}}", True),
        ("{message: '0000', action: FWD}", False),  # the beginning of all
        ("{where: {}, action: DISCARD, count: 0}", True),
    ],
)
def test_what_an_expectation_can_say(run, entry, met):
    result = rules_test(f"expectations:\n  - {entry}\n")
    assert result.exit_code == (0 if met else 1), result.output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "qm1.yaml:1: expectations: is required"),
        ("expectations: []", "qm1.yaml:1: expectations: must not be empty"),
        ("expectation: []", "qm1.yaml:1: expectation: is not a known key; did you mean 'expectations'?"),
        (
            "expectations:\n- where: {}\n  acton: RETRY\n",
            "qm1.yaml:3: expectations.0.acton: is not a known key; did you mean 'action'?",
        ),
        (
            "expectations:\n- {where: {DESTQUEUE: A}, count: 1}\n",
            "qm1.yaml:2: expectations.0.where.DESTQUEUE: is not a known key; did you mean 'DESTQ'?",
        ),
        (
            "expectations:\n- {where: {DESTQ: 7}, count: 1}\n",
            "qm1.yaml:2: expectations.0.where.DESTQ: must be text in quotes (found 7)",
        ),
        (
            "expectations:\n- {where: {REASON: true}, count: 1}\n",
            "qm1.yaml:2: expectations.0.where.REASON: must be a number or its symbolic name (found True)",
        ),
        (
            "expectations:\n- {where: {REASON: MQRC_Q_FUL}, count: 1}\n",
            "qm1.yaml:2: expectations.0.where.REASON: 'MQRC_Q_FUL' is neither a number nor a symbolic "
            "name MQRC_* or MQFB_*: did you mean MQRC_Q_FULL?",
        ),
        (
            "expectations:\n- {action: RETRY}\n",
            "qm1.yaml:2: expectations.0: needs either message or where, which select the messages",
        ),
        (
            "expectations:\n- {where: {}}\n",
            "qm1.yaml:2: expectations.0: expects nothing: give count, or one of action, to, header, putaut, rule",
        ),
        (
            "expectations:\n- {message: XYZ, count: 1}\n",
            "qm1.yaml:2: expectations.0.message: must be a MsgId, 1 to 48 hex digits, in quotes (found 'XYZ')",
        ),
        (
            "expectations:\n- {where: {}, action: RETRAY}\n",
            "qm1.yaml:2: expectations.0.action: must be one of 'RETRY', 'FWD', 'DISCARD', 'IGNORE', 'ERROR' or "
            "'AMBIGUOUS' (found 'RETRAY')",
        ),
        ("expectations:\n- where: {}\n  where: {}\n", "qm1.yaml:3: expectations.0.where: stands here a second time"),
        (
            "expectations:\n- {where: {}, count: -1}\n",
            "qm1.yaml:2: expectations.0.count: must be at least 0 (found -1)",
        ),
        ("a: [", "qm1.yaml:1: not valid YAML: "),
    ],
)
def test_every_error_of_a_file_names_file_line_and_key(run, text, says):
    result = rules_test(text)
    assert result.exit_code == 2
    assert says in result.output


def test_all_errors_are_told_at_once(run):
    result = rules_test("expectations:\n- {where: {A: B, C: D}, count: 1}\n- {where: {E: F}, count: 1}\n")
    assert result.exit_code == 2
    assert result.output.count("is not a known key") == 3


def test_the_present_fates_can_be_recorded_and_hold(run):
    result = rules_test(None, "--write")
    assert (result.exit_code, result.output) == (0, "qm1.yaml: written\n")
    digest = re.search(r"sha256 ([0-9a-f]{16})", Path("qm1.yaml").read_text())
    assert (
        Path("qm1.yaml").read_text()
        == f"""\
# What qm1.rules (sha256 {digest[1]}) does with the messages of a recorded snapshot.
expectations:
  - where: {{REASON: MQRC_Q_FULL, DESTQ: PAY.IN, DESTQM: QM1}}
    count: 1
    action: RETRY
    to: PAY.IN@QM1
  - where: {{REASON: MQRC_Q_FULL, DESTQ: PAY.OUT, DESTQM: QM1}}
    count: 4
    action: RETRY
    to: PAY.OUT@QM1
  - where: {{REASON: MQRC_UNKNOWN_OBJECT_NAME, DESTQ: ORDERS, DESTQM: QM1}}
    count: 1
    action: FWD
    to: REALLY.DEAD.QUEUE@
  - where: {{}}
    count: 1
    action: ERROR
"""
    )
    assert rules_test(None).exit_code == 0
    Path("qm1.rules").write_text(TABLE.replace("PAY*", "PAY.IN"))
    assert "2 failed" not in rules_test(None).output
    assert rules_test(None).exit_code == 1
    again = rules_test(None, "--write")
    assert (again.exit_code, again.output) == (2, "mqops: qm1.yaml is there already; remove it, or name another file\n")


def test_what_a_pattern_cannot_name_is_recorded_by_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qm1.rules").write_text(TABLE)
    odd = [
        dead_letter("A*", b"1"),
        dead_letter("'q: {x", b"2"),
        dead_letter("A", b"3", reason=-1),
        dead_letter("", b"4"),
    ]
    Path("run1").symlink_to(recorded(tmp_path / "lake", odd).path)
    assert rules_test(None, "--write").exit_code == 0
    assert Path("qm1.yaml").read_text().count("message: ") == 2
    result = rules_test(None)
    assert result.exit_code == 0, result.output


def test_D07_a_bad_table_is_exit_2_with_all_errors(run):
    Path("bad.rules").write_text("ACTION(X)\nDESTQ(A)\n")
    result = rules_test("expectations:\n- {where: {}, count: 7}\n", table="bad.rules")
    assert result.exit_code == 2
    assert "bad.rules: 2 errors, the table is not valid" in result.output
