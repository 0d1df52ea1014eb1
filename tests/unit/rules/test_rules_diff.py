"""`mqops rules diff`: which messages two tables handle differently, by group, as text, JSON and exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.rules.keywords import keywords_of

sys.path.insert(0, str(Path(__file__).parents[1] / "mqops"))
from snapshots import dead_letter, msg_id, recorded

OLD = "REASON(MQRC_Q_FULL) DESTQ(PAY*) ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)\n"
NEW = "REASON(MQRC_Q_FULL) DESTQ(PAY.IN) ACTION(RETRY) RETRY(5)\nACTION(FWD) FWDQ(MANUAL) HEADER(NO)\n"


@pytest.fixture
def run(tmp_path):
    messages = [
        dead_letter("PAY.IN", b"x"),
        *[dead_letter("PAY.OUT", b"y" * 10)] * 4,
        dead_letter("ORDERS", b"z", reason=2085),
        ({}, b"no header"),
    ]
    return recorded(tmp_path / "lake", messages)


def diff(tmp_path, old, new, snapshot, *arguments):
    for name, text in (("old.rules", old), ("new.rules", new)):
        (tmp_path / name).write_text(text)
    tables = [str(tmp_path / "old.rules"), str(tmp_path / "new.rules")]
    return CliRunner().invoke(main, ["rules", "diff", *tables, "--snapshot", str(snapshot), *arguments])


def test_what_changes_is_told_by_group(tmp_path, run):
    result = diff(tmp_path, OLD, NEW, run.path)
    assert (result.exit_code, result.output) == (
        1,
        f"""\
       4  RETRY to PAY.OUT@QM1 -> FWD to MANUAL HEADER(NO)  (728 bytes; line 1 -> line 2)
          {msg_id(2)}, {msg_id(3)}, {msg_id(4)}, ...
       1  FWD to REALLY.DEAD.QUEUE -> FWD to MANUAL HEADER(NO)  (173 bytes; line 2 -> line 2)
          {msg_id(6)}
handled differently: 5 of 7 messages, 901 bytes
""",
    )


def test_json(tmp_path, run):
    result = diff(tmp_path, OLD, NEW.replace("MANUAL", "REALLY.DEAD.QUEUE"), run.snapshot, "--json")
    document = json.loads(result.output)
    assert result.exit_code == 1
    assert {name: document[name] for name in ("ok", "messages", "changed", "bytes")} == {
        **{"ok": True, "messages": 7, "changed": 5, "bytes": 901},
    }
    assert document["changes"][1] == {
        "old": {
            **{"action": "FWD", "dest_q": "REALLY.DEAD.QUEUE", "dest_q_mgr": "", "header": True, "putaut": "DEF"},
            "lines": [2],
        },
        "new": {
            **{"action": "FWD", "dest_q": "REALLY.DEAD.QUEUE", "dest_q_mgr": "", "header": False, "putaut": "DEF"},
            "lines": [2],
        },
        **{"messages": 1, "bytes": 173, "message_ids": [msg_id(6)]},
    }


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        "* moved\n\n" + OLD.replace("RETRY(2)", "RETRY(9)"),  # lines and RETRY are no part of a decision
        OLD.replace("ACTION(FWD)", "DESTQ(NOTHING) ACTION(DISCARD)\nACTION(FWD)"),
    ],
)
def test_no_change_is_exit_0(tmp_path, run, new):
    result = diff(tmp_path, OLD, new, run.path)
    assert (result.exit_code, result.output) == (0, "handled differently: 0 of 7 messages, 0 bytes\n")


def test_tries_that_failed_before_the_snapshot_count(tmp_path, run):
    from mqops.decide.on_snapshot import Recorded  # noqa: PLC0415
    from mqops.rules import parse  # noqa: PLC0415

    (message, *_rest) = Recorded.of(run.path).messages()
    key = parse(OLD).table.rules[0].key
    run.tries.write_text(json.dumps({"msg_key": message["msg_key"], "tries": {key: 2}}) + "\n")
    document = json.loads(diff(tmp_path, OLD, OLD.replace("RETRY(2)", "RETRY(3)"), run.path, "--json").output)
    (change,) = document["changes"]
    assert (change["old"]["action"], change["new"]["action"], change["messages"]) == ("FWD", "RETRY", 1)


def test_a_folder_of_Parquet_files_alone_will_do(tmp_path, run):
    (tmp_path / "copy").mkdir()
    for part in run.snapshot.glob("*.parquet"):
        (tmp_path / "copy" / part.name).write_bytes(part.read_bytes())
    assert "5 of 7 messages" in diff(tmp_path, OLD, NEW, tmp_path / "copy").output


def test_D07_bad_tables_are_exit_2_with_all_errors_of_both(tmp_path, run):
    result = diff(tmp_path, "ACTION(X)\nDESTQ(A)\n", "NONSENSE(1) ACTION(RETRY)\n", run.path)
    assert result.exit_code == 2
    assert [line for line in result.output.splitlines() if "error" in line and line[0] != " "] == [
        f"{tmp_path}/old.rules:1:8: error: 'X' is not a value of ACTION: write DISCARD, IGNORE, RETRY or FWD",
        f"{tmp_path}/old.rules:2:1: error: this rule has no ACTION: add ACTION(DISCARD), (IGNORE), (RETRY) or (FWD)",
        f"{tmp_path}/old.rules: 2 errors, the table is not valid",
        f"{tmp_path}/new.rules:1:1: error: 'NONSENSE' is not a keyword of a rules table: use one of "
        + ", ".join(keywords_of(extensions=False)),
        f"{tmp_path}/new.rules: 1 error, the table is not valid",
    ]
    document = json.loads(diff(tmp_path, "ACTION(X)\n", NEW, run.path, "--json").output)
    assert document["error"]["code"] == "RulesError"
    assert {Path(name).name: table["ok"] for name, table in document["tables"].items()} == {
        "old.rules": False,
        "new.rules": True,
    }


def test_no_snapshot_is_exit_2(tmp_path):
    result = diff(tmp_path, OLD, NEW, tmp_path / "nothing")
    assert result.exit_code == 2
    assert "There is no folder " in result.output
    (tmp_path / "empty").mkdir()
    result = diff(tmp_path, OLD, NEW, tmp_path / "empty")
    assert result.exit_code == 2
    assert "There is no snapshot in" in result.output
