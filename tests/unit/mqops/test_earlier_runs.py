"""What a killed run left on the ledger queue counts for the next one, which names what is not finished."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import commands
import pymqi
import pytest
from act_support import after_commits, planned
from ledger_opened import act
from mq_support import DLQ, Manager, dead_letter, until

from mqops.deciders.run import finish_run
from mqops.errors import MqopsError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import LedgerQueue
from mqops.mq.connection import connect
from mqops.prove.records import LOAD_RECORD
from mqops.prove.recovery import drain_earlier_runs

TABLE = "WAIT(NO)\nDESTQ(SHUT) ACTION(RETRY)\nDESTQ(SHUT) ACTION(FWD) FWDQ(DEAD)\nACTION(RETRY)\n"


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(
        mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(Z)\nDEFINE QLOCAL(DEAD)\nDEFINE QLOCAL(SHUT) PUT(DISABLED)\n"
    )


def markers_on_queue(manager: Manager, lake: Path) -> list[str]:
    with connect(manager.connection) as session:
        return [marker.kind for marker in LedgerQueue(session, KeyRing(lake / "QM1")).markers()]


def test_D03_D12_the_tries_of_a_killed_run_count_and_it_is_named(manager, tmp_path):
    manager.put(DLQ, [dead_letter("SHUT", b"f%d" % n) for n in range(2)])
    manager.put(DLQ, [dead_letter("Z", b"z%d" % n) for n in range(9)])
    environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
    rules = tmp_path / "table.rules"
    rules.write_text(TABLE)
    command = [sys.executable, "-m", "mqops.cli", "dlq", "run", DLQ, "QM1", "--once", "--rules", str(rules)]
    process = commands.Command([*command, "--unit-size", "1", "--pace", "1"], env=environment)
    until(lambda: markers_on_queue(manager, tmp_path / "lake").count("failed") == 2)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    (killed,) = (RunFolder(path) for path in (tmp_path / "lake" / "QM1" / "runs").iterdir())
    assert not (tmp_path / "lake" / "QM1" / "ledger" / "ledger.jsonl").exists()
    done = commands.run([*command, "--json"], env=environment, text=True, capture_output=True, check=True)
    assert manager.bodies("DEAD")[0][172:] == b"f0"
    assert {body[172:] for body in manager.bodies("DEAD")} == {b"f0", b"f1"}
    counts = {rule["rule_line"]: rule["moved"] for rule in json.loads(done.stdout)["rules"]}
    assert counts[3] == 2
    assert 2 not in counts
    resume = f"`mqops resume {killed.run} --finish -m QM1 --lake {tmp_path / 'lake'}`"
    named = f"mqops: run {killed.run} was begun and is not finished. To finish it: {resume}"
    assert named in done.stderr
    plan = read_json(killed.plan_json)["digest"]
    kinds = [marker.kind for marker in LedgerFile(killed.lake_folder, str).markers() if marker.plan == plan]
    assert kinds.count("failed") == 2
    resume = [sys.executable, "-m", "mqops.cli", "resume", killed.run, "--finish", "-m", "QM1"]
    commands.run(resume, env=environment, check=True, capture_output=True)
    again = commands.run([*command, "--json"], env=environment, text=True, capture_output=True, check=True)
    assert killed.run not in again.stderr
    assert sorted(manager.bodies("Z")) == sorted(b"z%d" % n for n in range(9))


def test_a_run_that_somebody_acts_on_is_passed_over(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(4)])
    run, _plan = planned(manager, lake)
    found = []

    def look(number: int) -> None:
        if number == 2:
            with connect(manager.connection) as session:
                found.append(drain_earlier_runs(session, lake, "QM1"))

    act(manager.connection, run, unit_size=2, port=after_commits(look))
    assert [(one.lines, one.unfinished) for one in found] == [(0, ())]
    with connect(manager.connection) as session:
        left = drain_earlier_runs(session, lake, "QM1")
        assert (left.lines, left.unfinished) == (3, (run,))  # acted on, not proved
        assert drain_earlier_runs(session, lake, "QM1").lines == 0


def test_a_run_that_was_stopped_is_named_until_it_is_finished(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(4)])
    run, _plan = planned(manager, lake)
    halt = after_commits(lambda number: stop(run.path, Stop(by="carol", at="now")) if number == 1 else None)
    with pytest.raises(MqopsError):
        act(manager.connection, run, unit_size=2, port=halt)
    with connect(manager.connection) as session:
        assert list(drain_earlier_runs(session, lake, "QM1").remarks()) == [
            f"run {run.run} was begun and is not finished. To finish it: "
            f"`mqops resume {run.run} --finish -m QM1 --lake {lake.resolve()}`"
        ]
        lift(run.path)
        assert finish_run(manager.connection, run).moved == 4
        assert not drain_earlier_runs(session, lake, "QM1").unfinished


def test_law5_a_run_at_work_with_another_lake_keeps_its_markers(manager, tmp_path):
    manager.put(DLQ, [dead_letter("Z", b"%d" % n) for n in range(6)])

    def command(lake: str, *options: str) -> dict[str, Any]:
        environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / lake)}
        rules = tmp_path / "table.rules"
        rules.write_text(TABLE)
        run = [sys.executable, "-m", "mqops.cli", "dlq", "run", DLQ, "QM1", "--rules", str(rules)]
        return {"args": [*run, *options], "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    waits = ("--once", "--unit-size", "1", "--in-flight", "5", "--patience", "600", "--json")
    at_work = commands.Command(**command("one", *waits), text=True)
    until(lambda: markers_on_queue(manager, tmp_path / "one").count("acted") == 5)
    other = commands.run(**command("two", "--dry-run"), text=True, check=True)
    key = json.loads((next((tmp_path / "one" / "QM1" / "runs").iterdir()) / "plan.json").read_text())["run"]
    drain = [sys.executable, "-m", "mqops.cli", "ledger", "drain", "-m", "QM1", "--orphan", key, "--why", "gone"]
    refused = commands.run(drain, env=command("two")["env"], text=True, capture_output=True)
    assert (refused.returncode, "Somebody is at work with MQOPS.LEDGER now" in refused.stderr) == (1, True)
    assert not (tmp_path / "two" / "QM1" / "ledger" / "taken_off.jsonl").exists()
    with manager.connected() as queue_manager:
        pymqi.Queue(queue_manager, "Z").get()  # now there is room for the last one
    said, errors = at_work.communicate()
    assert at_work.returncode == 0, errors
    summary = json.loads(said)
    assert (summary["moved"], summary["balanced"]) == (6, True)
    [line] = [line for line in other.stderr.splitlines() if summary["run"] in line]
    assert line.startswith(
        f"mqops: markers of run {summary['run']} on MQOPS.LEDGER belong to another lake, {tmp_path / 'two'} does not "
        "have its plan (6 markers, put by "
    )
    assert ", signed with a key that this lake does not have). They stay there: `mqops ledger drain -m QM1" in line
    assert line.endswith("Without them that run cannot be proved, resumed or undone in its own lake")
    assert "mqops: Somebody is at work with MQOPS.LEDGER now: " in other.stderr
    assert "--orphan" not in other.stderr  # nothing proposes to destroy its record
    assert not (tmp_path / "two" / "QM1" / "ledger" / "ledger.jsonl").exists()


@pytest.mark.parametrize("has_key", [True, False])
def test_the_markers_of_a_lake_that_is_gone_are_recorded_by_whoever_has_its_key(
    manager, lake, tmp_path, monkeypatch, has_key
):
    if has_key:
        monkeypatch.setenv("MQOPS_LEDGER_KEYS", str(tmp_path / "keys"))
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, lake)
    act(manager.connection, run)

    def drain(*options: str, text: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **manager.environment, "MQOPS_LAKE": str(tmp_path / "new")}
        command = [sys.executable, "-m", "mqops.cli", "ledger", "drain", "-m", "QM1", *options]
        return commands.run(command, input=text, env=environment, text=True, capture_output=True)

    without = drain("--orphan", run.run)  # there is nobody to ask
    assert (without.returncode, "markers of run" in without.stderr, "Aborted!" in without.stderr) == (1, True, True)
    assert drain("--orphan", run.run, "--json").returncode == 2
    assert manager.depth("MQOPS.LEDGER") > 0
    why = ("--why", "its lake was lost")
    for options in ((), ("--orphan", "another", *why)):
        passed_over = drain(*options)
        assert passed_over.stdout == "QM1: 0 lines added\n"
        assert f"markers of run {run.run} on MQOPS.LEDGER belong to another lake" in passed_over.stderr
    recorded = drain("--orphan", run.run, *why)
    noted = (tmp_path / "new" / "QM1" / "ledger" / "taken_off.jsonl").read_text().splitlines()
    assert [json.loads(line)["why"] for line in noted] == ["its lake was lost"] * 2
    assert json.loads(noted[1])["runs"] == [run.run]
    assert recorded.stdout == f"QM1: {2 if has_key else 0} lines added\n"
    set_aside = "mqops: 2 messages on MQOPS.LEDGER did not come from mqops (2 forged) and were not acted on: kept in"
    assert recorded.stderr.startswith("" if has_key else set_aside)
    assert bool(recorded.stderr) is not has_key
    assert manager.depth("MQOPS.LEDGER") == 0


@pytest.mark.parametrize("plan", ['{"digest": "another"}', "{}", "half a fi"])
def test_a_run_of_the_same_key_is_another_run_where_its_plan_is(manager, lake, plan):
    manager.put(DLQ, [dead_letter("A", b"x")])
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    kept = run.plan_json.read_text()
    issued = run.issued_json.read_text()
    run.plan_json.write_text(plan)
    with connect(manager.connection) as session:
        left = drain_earlier_runs(session, lake, "QM1")
        assert (left.lines, left.elsewhere, left.unfinished) == (0, (run.run,), ())
        run.plan_json.write_text(kept)
        assert drain_earlier_runs(session, lake, "QM1").lines == 2
    assert run.issued_json.read_text() == issued


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "DELETE QLOCAL(MQOPS.LEDGER)",
            "MQOPEN on MQOPS.LEDGER failed: MQRC_UNKNOWN_OBJECT_NAME (2085). Define it: DEFINE QLOCAL(MQOPS.LEDGER)",
        ),
        (
            "ALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(1)",
            "MQPUT on MQOPS.LEDGER failed: MQRC_Q_FULL (2053). Let `mqops ledger drain` empty it, or raise",
        ),
    ],
)
def test_law2_a_dry_run_needs_no_ledger_queue_and_act_says_what_it_lacks(manager, mqops_here, tmp_path, change, told):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.mqsc(change)
    mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=TABLE)
    assert told in mqops_here("dlq", "run", "--once", DLQ, "QM1", text=TABLE, expect=1).stderr
    assert manager.depth(DLQ) == 1
    assert not (tmp_path / "lake" / "QM1" / "ledger" / "ledger.jsonl").exists()


def test_a_load_tells_which_loads_of_the_same_messages_were_begun_before_it(manager, mqops_here, tmp_path):
    file = tmp_path / "a.msg"
    file.write_text('* DMPMQMSG Version:9.3.0.0\nA VER 2\nS "x"\n')
    load = ["message", "load", str(file), "Z", "-m", "QM1", "--run", "--yes", "--json"]
    first = json.loads(mqops_here(*load).stdout)
    plan = first["plan"]
    manager.mqsc("CLEAR QLOCAL(Z)")
    again = json.loads(mqops_here(*load, "--again").stdout)
    assert (first["moved"], again["moved"], manager.bodies("Z")) == (1, 1, [b"x"])
    record = LOAD_RECORD.find(RunFolder.at(tmp_path / "lake", "QM1", again["run"]))
    assert record
    assert (record.queue, record.file, record.earlier) == ("Z", str(file), {plan})
