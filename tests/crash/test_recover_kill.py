"""Law 1 for chosen messages: a move and a copy of mixed messages are killed with -9 at any moment and finished.

MQOPS_CRASH_KILLS and MQOPS_CRASH_SEED are as in test_kill_nine.py. MQOPS_RECOVER_MESSAGES makes it larger.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import commands
import pytest
from crash.test_kill_nine import KILLS, SEED, Watch, further, kill_one, run_until, verify
from mixed_messages import ALL_CONTEXT, alike, mixed, whole
from mq_support import Manager

from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.prove.prove import prove

MESSAGES = int(os.environ.get("MQOPS_RECOVER_MESSAGES", "600"))
LARGEST = 4_000_000 if MESSAGES > 10_000 else 100_000
UNIT_SIZE = max(1, MESSAGES // (80 * KILLS))


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(
        mqsc="".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999) MAXMSGL(4194304)\n" for name in ("IN", "OUT"))
    )


@pytest.mark.parametrize("do", ["move", "copy"])
def test_law1_chosen_messages_are_moved_and_copied_once_whatever_is_killed(manager, tmp_path, do):
    print(f"MQOPS_CRASH_SEED={SEED}")
    dice = random.Random(SEED)
    manager.put("IN", mixed(MESSAGES, largest=LARGEST), options=ALL_CONTEXT)
    before, there = alike(whole(manager, "IN")), manager.depth("IN")
    lake = str(tmp_path / "lake")

    def mqops(*arguments: str) -> subprocess.Popen[bytes]:
        environment = {**manager.environment, "MQOPS_CONNECTION": manager.connection.to_json()}
        command = [sys.executable, "-m", "mqops.cli", *arguments, "--lake", lake, "--unit-size", str(UNIT_SIZE)]
        with (tmp_path / "log").open("ab") as log:
            return commands.Command([*command, "--json"], env=environment, stdout=subprocess.PIPE, stderr=log)

    plan = json.loads(mqops("message", do, "IN", "--all", "--to", "OUT", "-m", "QM1", "--dry-run").communicate()[0])
    name, digest = plan["plan"]["run"], plan["plan"]["digest"]
    killed, watch = 0, Watch(manager)
    try:
        for _ in range(KILLS):
            process = mqops("dlq", "act", name, "--approve", digest)
            if run_until(process, further(watch, dice)):
                killed += kill_one(process, dice) != "nobody"
            process.communicate()
    finally:
        watch.close()
    assert killed
    run = RunFolder(tmp_path / "lake" / "QM1" / "runs" / name)
    while True:
        last = mqops("resume", name, "--finish")
        output = last.communicate()[0]
        if not last.returncode:
            break
        said = (tmp_path / "log").read_text() + output.decode()
        assert "nother process" in said[-3000:], said[-3000:]
    summary = prove(manager.connection, run)
    assert (summary.planned, summary.moved, summary.left, summary.gone) == (there, there, 0, 0)
    assert (summary.balanced, summary.arrived, summary.returned) == (True, 0, 0)
    assert alike(whole(manager, "OUT")) == before
    assert alike(whole(manager, "IN")) == (before if do == "copy" else {})
    assert not account(marker for marker in verify(run) if marker.plan == digest).problems
    assert manager.depth("MQOPS.LEDGER") == 0
    print(f"{killed} kills")
