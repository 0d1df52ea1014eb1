"""Law 1 for chosen messages: a move and a copy of mixed messages are killed with -9 at any moment and finished, and one
that a gate looks at, also while the gate looks.

MQOPS_CRASH_KILLS and MQOPS_CRASH_SEED are as in test_kill_nine.py. MQOPS_RECOVER_MESSAGES makes it larger.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import commands
import pytest
from crash.test_kill_nine import KILLS, SEED, Watch, further, kill_one, run_until, verify
from ledger_opened import prove
from mixed_messages import ALL_CONTEXT, alike, mixed, whole
from mq_support import Manager
from pymqi import CMQC

from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account

MESSAGES = int(os.environ.get("MQOPS_RECOVER_MESSAGES", "600"))
LARGEST = 4_000_000 if MESSAGES > 10_000 else 100_000
UNIT_SIZE = max(1, MESSAGES // (80 * KILLS))
COMMAND = ("-m", "mqops.cli")
LOOKS = """\
import time
from mqops.cli import main
from mqops.decide import gate

gate.write_found = lambda *_found: time.sleep(600)
main()
"""
"""The command, whose gate never says what it has found."""


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(
        mqsc="".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999) MAXMSGL(4194304)\n" for name in ("IN", "OUT", "BAD"))
    )


@pytest.fixture
def mqops(manager, tmp_path):
    """Starts a command on the manager, whose lake is in the test's folder; what it says of errors is in a log."""

    def start(*arguments: str, program: Sequence[str] = COMMAND, **environment: str) -> subprocess.Popen[bytes]:
        given = {**manager.environment, "MQOPS_CONNECTION": manager.connection.to_json(), **environment}
        command = [sys.executable, *program, *arguments, "--lake", str(tmp_path / "lake"), "--json"]
        with (tmp_path / "log").open("ab") as log:
            return commands.Command(command, env=given, stdout=subprocess.PIPE, stderr=log)

    return start


@pytest.mark.parametrize("do", ["move", "copy"])
def test_law1_chosen_messages_are_moved_and_copied_once_whatever_is_killed(manager, mqops, tmp_path, do):
    print(f"MQOPS_CRASH_SEED={SEED}")
    dice = random.Random(SEED)
    manager.put("IN", mixed(MESSAGES, largest=LARGEST), options=ALL_CONTEXT)
    before, there = alike(whole(manager, "IN")), manager.depth("IN")
    unit_size = ("--unit-size", str(UNIT_SIZE))
    chosen = ("message", do, "IN", "--all", "--to", "OUT", "-m", "QM1", *unit_size)
    plan = json.loads(mqops(*chosen, "--dry-run").communicate()[0])
    name, digest = plan["plan"]["run"], plan["plan"]["digest"]
    killed, watch = 0, Watch(manager)
    try:
        for _ in range(KILLS):
            process = mqops("dlq", "act", name, "--approve", digest, *unit_size)
            if run_until(process, further(watch, dice)):
                killed += kill_one(process, dice) != "nobody"
            process.communicate()
    finally:
        watch.close()
    assert killed
    run = RunFolder(tmp_path / "lake" / "QM1" / "runs" / name)
    finish(lambda: mqops("resume", name, "--finish", *unit_size), tmp_path / "log")
    summary = prove(manager.connection, run)
    assert (summary.planned, summary.moved, summary.left, summary.gone) == (there, there, 0, 0)
    assert (summary.balanced, summary.arrived, summary.returned) == (True, 0, 0)
    assert alike(whole(manager, "OUT")) == before
    assert alike(whole(manager, "IN")) == (before if do == "copy" else {})
    assert not account(marker for marker in verify(run) if marker.plan == digest).problems
    assert manager.depth("MQOPS.LEDGER") == 0
    print(f"{killed} kills")


def finish(start: Callable[[], subprocess.Popen[bytes]], log: Path) -> None:
    """Start a command again while a killed one's work is not backed out yet."""
    while '"finished": true' not in (output := start().communicate()[0].decode()):
        said = log.read_text() + output
        assert "nother process" in said[-3000:], said[-3000:]


SUITE = """\
suite: orders
columns: {$.amount: number}
expectations:
- {id: amount, expect: column_values_to_be_between, column: $.amount, min_value: MIN, on_failure: quarantine}
- {id: reply, expect: column_values_to_be_in_set, column: reply_to_q, value_set: [''], on_failure: leave}
"""


def test_law1_a_gate_decides_once_whatever_is_killed(manager, mqops, tmp_path):
    """A run that is killed while its gate looks has no plan and moves nothing. With a plan, a suite that says something
    else by now changes nothing of it."""
    suite, estate = tmp_path / "orders.yaml", tmp_path / "estate.yaml"
    suite.write_text(SUITE.replace("MIN", "1"))
    gate = "{suites: [orders.yaml], quarantine: BAD}"
    estate.write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq\n    gate: {gate}\n")
    orders = [b'{"amount": %d, "order": %d}' % (number % 3, number) for number in range(300)]
    text = {"Format": CMQC.MQFMT_STRING, "CodedCharSetId": 1208}
    replies = [b"" if number % 7 else b"ANSWERS" for number in range(300)]
    manager.put("IN", [({**text, "ReplyToQ": reply}, body) for reply, body in zip(replies, orders, strict=True)])
    stays = Counter(body for number, body in enumerate(orders) if number % 7 == 0)
    bad = Counter(body for number, body in enumerate(orders) if number % 3 == 0) - stays
    runs = tmp_path / "lake" / "QM1" / "runs"

    def command(*arguments: str, program: Sequence[str] = COMMAND) -> subprocess.Popen[bytes]:
        return mqops(*arguments, program=program, MQOPS_ESTATE=str(estate))

    def in_the_gate() -> bool:
        return any(not one.with_name("gated.json").exists() for one in runs.glob("*/observe.json"))

    move = ("message", "move", "IN", "--all", "--to", "OUT", "-m", "QM1", "--unit-size", "10")
    killed = command(*move, "--yes", program=("-c", LOOKS))
    assert run_until(killed, in_the_gate)
    killed.kill()
    killed.communicate()
    (half,) = [one.name for one in runs.iterdir()]
    assert command("resume", half, "--finish").wait()
    assert "no plan" in (tmp_path / "log").read_text()
    assert manager.depth("IN") == 300

    plan = json.loads(command(*move, "--dry-run").communicate()[0])["plan"]
    run = RunFolder(runs / plan["run"])
    verdicts = run.gated.read_bytes()
    suite.write_text(SUITE.replace("MIN", "9"))
    watch = Watch(manager)
    try:
        acts = command("dlq", "act", run.run, "--approve", plan["digest"], "--unit-size", "2")
        assert run_until(acts, lambda: watch.depth("MQOPS.LEDGER") > 2, pause=0.001)
        acts.kill()
        acts.communicate()
    finally:
        watch.close()
    finish(lambda: command("resume", run.run, "--finish"), tmp_path / "log")
    assert run.gated.read_bytes() == verdicts
    assert {name: Counter(manager.bodies(name)) for name in ("IN", "BAD", "OUT")} == {
        "IN": stays,
        "BAD": bad,
        "OUT": Counter(orders) - stays - bad,
    }
    summary = prove(manager.connection, run)
    assert (summary.balanced, summary.planned, summary.left) == (True, 300, len(stays))
