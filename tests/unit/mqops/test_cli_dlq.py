"""The commands of the pipeline, started as a person starts them."""

from __future__ import annotations

import getpass
import hashlib
import json
import shlex
import socket
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import commands
import pytest
from ledger_opened import act
from mq_support import DLQ, dead_letter, storage_estate

from mqops.lake.run import RunFolder
from mqops.mq.connection import VARIABLE, MqConnection

RETRY = "ACTION(RETRY)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(OTHER.DLQ)\nDEFINE QLOCAL(SHUT) PUT(DISABLED)\n")


def test_a_pass_with_the_arguments_of_runmqdlq(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("SHUT", b"y")])
    said = mqops("dlq", "run", "--once", DLQ, "QM1", text=RETRY, expect=1).stdout.splitlines()
    assert said[0].startswith(f"{DLQ} of QM1, run cli-")
    assert said[1:4] == [
        "       2  line 1: RETRY: 1 moved, 0 discarded, 1 left, 0 gone, 1 try failed",
        "       1 try failed with MQRC_PUT_INHIBITED",
        "2 planned = 1 moved + 0 discarded + 1 left + 0 gone: balances",
    ]
    assert manager.bodies("A") == [b"x"]


@pytest.mark.parametrize(
    ("arguments", "control", "queue"),
    [
        (["", "QM1"], "", DLQ),  # a blank queue is DEADQ
        (["OTHER.DLQ", "QM1"], "INPUTQ(NOT.THERE)", "OTHER.DLQ"),  # the argument beats the table
        (["", ""], "INPUTQ(OTHER.DLQ) INPUTQM(QM1)", "OTHER.DLQ"),
    ],
)
def test_the_queue_is_the_arguments_or_the_tables_or_deadq(manager, mqops, arguments, control, queue):
    manager.put(queue, [dead_letter("A", b"x")])
    summary = json.loads(mqops("dlq", "run", "--once", *arguments, "--json", text=f"{control}\n{RETRY}").stdout)
    assert (summary["queue"], summary["moved"], summary["balanced"]) == (queue, 1, True)


@pytest.mark.parametrize("may", ["both", "the alias"])
def test_a_queue_named_by_an_alias_is_dealt_with(manager, mqops, may):
    manager.mqsc(f"DEFINE QALIAS(DLQ.ALIAS) TARGET({DLQ})\n")
    manager.mqlite("user", "add", "QM1", "app", text="app's own\n")
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)\n")
    for queue in ("A", "DLQ.ALIAS", "MQOPS.LEDGER", *([DLQ] if may == "both" else [])):
        manager.mqsc(
            f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,PASSALL)\n"
        )
    app = {VARIABLE: replace(manager.connection, user="app", password="app's own").to_json()}
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("A", b"y")])
    command = ["dlq", "run", "DLQ.ALIAS", "QM1", "--once", "--json"]
    summary = json.loads(mqops(*command, text=RETRY, **app).stdout)
    assert (summary["planned"], summary["moved"], summary["balanced"]) == (2, 2, True)
    assert (manager.bodies("A"), manager.depth(DLQ)) == ([b"x", b"y"], 0)
    empty = json.loads(mqops(*command, text=RETRY, **app).stdout)
    assert (empty["planned"], empty["balanced"]) == (0, True)


def test_law2_a_dry_run_moves_nothing_and_says_what_it_would(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x")] * 2)
    said = mqops("dlq", "run", "--once", DLQ, "QM1", "--dry-run", text=RETRY).stdout
    assert "       2  line 1: RETRY to A@QM1  (MQRC_Q_FULL A@QM1; 346 bytes, oldest " in said
    assert said.endswith("dry run: nothing was moved\n")
    plan = json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--dry-run", "--json", text=RETRY).stdout)["plan"]
    assert (plan["rows"], plan["actions"]) == (2, {"RETRY": 2})
    assert manager.depth(DLQ) == 2
    assert manager.depth("MQOPS.LEDGER") == 0


def test_what_is_wrong_with_the_destinations_is_told_before_anything_is_moved(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("SHUT", b"y")])
    problem = "problem: SHUT@QM1: PUT(DISABLED). ALTER QLOCAL(SHUT) PUT(ENABLED)\n"
    idle = "warning: A@QM1: no program has it open for input. Check that the application runs\n"
    said = mqops("dlq", "run", "--once", DLQ, "QM1", "--dry-run", text=RETRY)
    assert said.stdout.index(problem) < said.stdout.index(idle)
    document = json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--dry-run", "--json", text=RETRY).stdout)
    assert document["preflight"]["plan"] == document["plan"]["digest"]
    assert [one["severity"] for one in document["preflight"]["findings"]] == ["problem", "warning", "warning"]
    done = mqops("dlq", "run", "--once", DLQ, "QM1", text=RETRY, expect=1)
    lines = [line for line in done.stderr.splitlines() if "AMQ" not in line]
    key, *doubts, _begin, _end, way_out = lines
    assert "raise RETRY of the rule" in way_out
    assert key.startswith("mqops: run cli-")
    assert doubts == [f"mqops: {problem}".rstrip()]  # warnings are for who looks at a plan
    assert "1 moved" in done.stdout


def test_D07_an_invalid_table_stops_everything(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x")])
    table = "ACTION(RETRY) ACTION(FWD)\nREASON(NO) ACTION(IGNORE)\n"
    said = mqops("dlq", "run", DLQ, "QM1", text=table, expect=1)
    assert said.stderr.splitlines()[-1].endswith("errors; nothing was done")
    assert "1:15: " in said.stderr
    assert "2:" in said.stderr
    assert manager.depth(DLQ) == 1


def test_known_errors_are_one_line_and_exit_code_1(manager, mqops):
    said = mqops("dlq", "run", "--once", "NOT.THERE", "QM1", text=RETRY, expect=1)
    assert said.stderr.splitlines()[-1] == (
        "mqops: MQOPEN on NOT.THERE failed: MQRC_UNKNOWN_OBJECT_NAME (2085). "
        "Define it, or correct the name: DEFINE QLOCAL(NOT.THERE)"
    )
    said = mqops("dlq", "run", "--once", DLQ, "NOBODY", text=RETRY, expect=1)
    assert said.stderr.splitlines()[-1].startswith("mqops: MQCONNX on NOBODY failed: MQRC_Q_MGR_NAME_ERROR (2058).")
    connection = {VARIABLE: MqConnection(queue_manager="QM2").to_json()}
    said = mqops("dlq", "run", "--once", DLQ, "QM1", text=RETRY, expect=1, **connection)
    assert said.stderr == f"mqops: {VARIABLE} is for queue manager QM2, not for QM1\n"


def test_usage_errors_are_exit_code_2(mqops):
    assert "No such option" in mqops("dlq", "run", "--once", "--nonsense", expect=2).stderr


def test_a_snapshot_copies_queues_and_changes_nothing(manager, mqops, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x"), ({}, b"no header")])
    manager.put("A", [({}, b"%d" % number) for number in range(5)])
    taken = json.loads(mqops("snapshot", DLQ, "A", "-m", "QM1", "--limit", "3", "--json").stdout)
    assert [(queue["queue"], queue["messages"]) for queue in taken["queues"]] == [(DLQ, 2), ("A", 3)]
    folder = Path(taken["folder"])
    assert folder.is_relative_to(tmp_path / "lake" / "QM1" / "runs")
    assert (folder / "observe.json").exists()
    said = mqops("snapshot", "-m", "QM1").stdout.splitlines()
    assert said[0] == f"       2  {DLQ}: 182 bytes, 1 without an MQDLH"
    assert said[1] == f"run {Path(said[-1]).parent.name}; look at it:"
    looks = shlex.split(" ".join(line.removesuffix("\\") for line in said[2:-1]))
    assert "no header" not in (shown := mqops(*looks[1:]).stdout)
    assert shown.count(DLQ) == 2
    assert (manager.depth(DLQ), manager.depth("A")) == (2, 5)


def test_the_ledger_is_checked_and_asked(manager, mqops, tmp_path):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"x")])
    mqops("dlq", "run", "--once", DLQ, "QM1", text=RETRY)
    assert mqops("ledger", "verify").stdout == "QM1: 2 lines, unbroken\n"
    (event,) = json.loads(mqops("ledger", "show", msg_id.hex(), "--json").stdout)["events"]
    assert [event[name] for name in ("action", "dest_q", "dest_q_mgr", "reason")] == ["RETRY", "A", "QM1", ""]
    assert [event[name] for name in ("queue", "outcome", "rule_line", "line")] == [DLQ, "acted", 1, 2]
    assert (event["table"], event["table_source"]) == (hashlib.sha256(RETRY.encode()).hexdigest(), "<stdin>")
    assert (event["requested_by"], event["approved_by"]) == (f"{getpass.getuser()}@{socket.gethostname()}", "")
    shown = mqops("ledger", "show", msg_id.hex()[:20].upper()).stdout
    assert "  QM1  RETRY A@QM1  run cli-" in shown
    assert f"    rule      line 1 of <stdin>, key {event['rule']}, table {event['table']}\n" in shown
    assert f"    asked     {event['requested_by']}; approved: by nobody\n" in shown
    assert "knows a message ffff" in mqops("ledger", "show", "ff" * 24, expect=1).stdout
    assert json.loads(mqops("ledger", "export").stdout)["msg_id"] == msg_id.hex()
    ledger = tmp_path / "lake" / "QM1" / "ledger" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"RETRY"', b'"FWD"'))
    said = json.loads(mqops("ledger", "verify", "--json", expect=1).stdout)
    assert (said["ok"], said["ledgers"][0]["error"]) == (False, "Line 2 of the ledger is damaged or has been changed")
    assert "Line 2 of the ledger is damaged" in mqops("ledger", "export", expect=1).stderr


def test_D11_several_passes_at_once_lose_nothing_and_do_nothing_twice(manager, tmp_path):
    bodies = [b"%d" % number for number in range(90)]
    manager.put(DLQ, [dead_letter("A" if number % 3 else "SHUT", body) for number, body in enumerate(bodies)])
    environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
    table = tmp_path / "table.rules"
    table.write_text(RETRY)
    command = [sys.executable, "-m", "mqops.cli", "dlq", "run", DLQ, "QM1", "--once", "--rules", str(table)]
    passes = [
        commands.Command([*command, "--unit-size", "5", "--json"], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    summaries = [json.loads(process.communicate()[0]) for process in passes]
    assert {process.returncode for process in passes} <= {0, 1}  # 1: its own tries failed
    assert all(summary["balanced"] for summary in summaries)
    assert sum(summary["moved"] for summary in summaries) == 60
    there = manager.bodies("A") + [body[172:] for body in manager.bodies(DLQ)]
    assert sorted(there) == sorted(bodies)
    events = commands.run(
        [sys.executable, "-m", "mqops.cli", "ledger", "export"], env=environment, text=True, capture_output=True
    ).stdout.splitlines()
    acted = [event["msg_id"] for event in map(json.loads, events) if event["outcome"] == "acted"]
    assert len(acted) == len(set(acted)) == 60


def test_markers_that_nobody_proved_are_drained(manager, mqops, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    planned = json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--dry-run", "--json", text=RETRY).stdout)
    act(manager.connection, RunFolder(Path(planned["run"])))
    manager.put("MQOPS.LEDGER", [({}, b"something else")])
    drained = json.loads(mqops("ledger", "drain", "-m", "QM1", "--json").stdout)
    assert drained == {"queue_manager": "QM1", "lines": 2, "set_aside": {"not a marker": 1}}
    assert mqops("ledger", "drain", "-m", "QM1").stdout == "QM1: 0 lines added\n"
    expected = "QM1: 2 lines, unbroken\nQM1: 1 message on MQOPS.LEDGER did not come from mqops (1 not a marker) "
    assert mqops("ledger", "verify").stdout.startswith(expected)
    assert manager.bodies("MQOPS.LEDGER") == []


def test_start_up_needs_neither_pymqi_nor_pyarrow_nor_spark():
    code = (
        "import sys, mqops.cli.dlq, mqops.cli.snapshot\n"
        "print([name for name in ('pymqi', 'pyarrow', 'pyspark') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], text=True, capture_output=True).stdout == "[]\n"


def test_a_pass_starts_no_jvm_and_loads_neither_spark_nor_pandas(manager, tmp_path):
    assert find_spec("pandas")
    code = (
        "import sys; sys.argv = ['mqops', 'dlq', 'run', '--once', 'SYSTEM.DEAD.LETTER.QUEUE', 'QM1']\n"
        "from mqops.cli import main\n"
        "try: main()\nexcept SystemExit: print({'pyspark', 'pandas'} & sys.modules.keys())"
    )
    manager.put(DLQ, [dead_letter("A", b"x")])
    environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=RETRY, env=environment, text=True, capture_output=True, cwd=tmp_path)
    assert "1 moved" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()", done.stderr


def test_a_careful_pass_says_what_became_of_its_canaries(manager, mqops, tmp_path):
    manager.put(
        DLQ, [dead_letter("A", b"%d" % n) for n in range(3)] + [dead_letter("SHUT", b"%d" % n) for n in range(3)]
    )
    options = ("--canary", "1", "--canary-wait", "0", "--pace", "1000", "--in-flight", "2", "--patience", "0")
    estate = {"MQOPS_ESTATE": storage_estate(tmp_path, "A")}
    dry = mqops("dlq", "run", "--once", DLQ, "QM1", "--dry-run", *options, text=RETRY, **estate).stdout.splitlines()
    remarks = [line for line in dry if line.startswith(("canaries:", "pace:", "in flight:"))]
    assert len(remarks) == 3
    assert not any("no program has it open for input" in line for line in dry if line.startswith("warning: A@"))
    said = mqops("dlq", "run", "--once", DLQ, "QM1", *options, text=RETRY, expect=1, **estate).stdout.splitlines()
    assert said[1 : 8 + len(remarks)] == [
        "       6  line 1: RETRY: 2 moved, 0 discarded, 4 left, 0 gone, 1 try failed",
        "       1 try failed with MQRC_PUT_INHIBITED",
        "       2  left: canary could not be put",
        "       1  left: its destination had 2 messages or more for 0 s",
        "A@QM1: 1 canary, 0 came back, 0 failed, 0 unread: the rest followed",
        "SHUT@QM1: 1 canary, 0 came back, 1 failed, 0 unread: stopped: canary could not be put",
        *remarks,
        "6 planned = 2 moved + 0 discarded + 4 left + 0 gone: balances",
    ]
    assert mqops("dlq", "run", "--once", DLQ, "QM1", "--pace", "-1", text=RETRY, expect=2)


def test_a_message_without_a_header_is_left_and_the_summary_says_why(manager, mqops_here):
    manager.put(DLQ, [({}, b"no header")])
    said = mqops_here("dlq", "run", "--once", DLQ, "QM1", text="ACTION(DISCARD)\n").stdout
    assert "ERROR (no MQDLH can be read, so it stays): 0 moved, 0 discarded, 1 left, 0 gone\n" in said
