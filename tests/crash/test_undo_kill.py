"""Law 1 for the undo: it is killed with -9 at any moment of its acting and started anew; nothing is lost or doubled.

MQOPS_CRASH_MESSAGES, MQOPS_CRASH_KILLS and MQOPS_CRASH_SEED are as in test_kill_nine.py.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import commands
import pytest
from crash.test_kill_nine import KILLS, MESSAGES, SEED, UNIT_SIZE, Watch, further, kill_one, run_until, verify
from ledger_opened import prove
from mq_support import DLQ, Manager, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.mq.connection import MqConnection
from mqops.rules import parse

QUEUES = "".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999)\n" for name in ("A", "B", "PARKED"))
RULES = """\
DESTQ(DROP) ACTION(DISCARD)
DESTQ(PARK) ACTION(FWD) FWDQ(PARKED) HEADER(YES)
ACTION(RETRY)
"""


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


def undo(manager: Manager, run: RunFolder, log: Path) -> subprocess.Popen[bytes]:
    """`mqops undo RUN --yes --json`."""
    environment = {**manager.environment, "MQOPS_CONNECTION": manager.connection.to_json()}
    command = [sys.executable, "-m", "mqops.cli", "undo", run.run, "--yes", "--json", "--unit-size", str(UNIT_SIZE)]
    command += ["--lake", str(run.lake_folder.parent)]
    with log.open("ab") as stream:
        return commands.Command(command, env=environment, stdout=subprocess.PIPE, stderr=stream)


def test_law1_undo_is_killed_and_started_anew(manager, tmp_path):
    print(f"MQOPS_CRASH_SEED={SEED}")
    dice = random.Random(SEED)
    targets = ("A", "DROP", "B", "PARK", "DROP")
    messages = []
    for number in range(MESSAGES):
        same = {"MsgId": b"%024d" % (number - number % 20), "CorrelId": b"c" * 24} if number % 20 in {0, 1} else {}
        messages.append(dead_letter(targets[number % len(targets)], b"message %d" % number, **same))
    manager.put(DLQ, messages)
    before = whole(manager, DLQ)
    table = parse(RULES).table
    assert table
    connection: MqConnection = manager.connection
    what = DeadLetterRequest(connection=connection, lake=tmp_path / "lake", table=table, text=RULES)
    run, plan = plan_run(DEAD_LETTERS, what)
    assert carry_out(DEAD_LETTERS, what, run, plan).discarded == 2 * MESSAGES // len(targets)
    assert manager.depth(DLQ) == 0
    killed = 0
    watch = Watch(manager)
    try:
        for _ in range(KILLS):
            process = undo(manager, run, tmp_path / "log")
            if run_until(process, further(watch, dice)):
                killed += kill_one(process, dice) != "nobody"
    finally:
        watch.close()
    assert killed, "the undo was never seen at work"
    while (last := undo(manager, run, tmp_path / "log")).wait():
        errors = (tmp_path / "log").read_text().splitlines()
        assert "another process" in errors[-1].lower() or "hide messages" in errors[-1], errors[-5:]
    assert last.stdout
    document = json.loads(last.stdout.read())
    assert document["balanced"]
    assert set(document["actions"]) == {"UNDONE"}
    assert whole(manager, DLQ) == before
    assert [manager.depth(queue) for queue in ("A", "B", "PARKED", "MQOPS.LEDGER")] == [0, 0, 0, 0]
    markers = verify(run)
    for mine in {(marker.run, marker.plan) for marker in markers}:
        assert not account(marker for marker in markers if (marker.run, marker.plan) == mine).problems
    for folder in (run.path.parent).iterdir():
        if RunFolder(folder).plan_json.exists():
            assert prove(connection, RunFolder(folder)).balanced


def whole(manager: Manager, queue: str) -> Counter[tuple[str, bytes]]:
    """The messages of a queue, descriptor and body, however often."""
    return Counter((repr(sorted(md.items())), body) for md, body in manager.messages(queue))
