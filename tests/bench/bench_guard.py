"""The poison guard over 1,000 queues of which 100 have a message that loops: from the look to the written plan.

MQOPS_BENCH_GUARD_QUEUES says how many queues, one in ten with poison. Of the time, `watch` seconds are waited for by
design: BackoutCount has to rise between two looks. Aim: 10 s by the clock, of the command as a person enters it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pymqi
from pymqi import CMQC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mq_support import Manager, create

QUEUES = int(os.environ.get("MQOPS_BENCH_GUARD_QUEUES", "1000"))
POISONED = QUEUES // 10
ROUNDS = 3
BOTHRESH = 3


def definitions() -> str:
    lines = ["DEFINE QLOCAL(BOQ) MAXDEPTH(999999)"]
    lines += [f"DEFINE QLOCAL(APP.{number:05}) BOTHRESH({BOTHRESH}) BOQNAME(BOQ)" for number in range(QUEUES)]
    return "\n".join(lines) + "\n"


def put_messages(manager: Manager) -> None:
    """Two messages on each queue; the first of one in ten was backed out as often as BOTHRESH says."""
    with manager.connected() as connection:
        for number in range(QUEUES):
            name = f"APP.{number:05}"
            handle = pymqi.Queue(connection, name, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
            for body in (b"first", b"second"):
                handle.put(body, pymqi.MD(), pymqi.PMO())
            for _ in range(BOTHRESH if number < POISONED else 0):
                handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
                connection.backout()
            handle.close()


def guarded(manager: Manager, lake: Path) -> tuple[float, float, int]:
    """Seconds by the clock and of the processor, and messages of the plan, of a dry run."""
    command = [sys.executable, "-m", "mqops.cli", "backout", "guard", "-m", "QM1", "--dry-run", "--json"]
    began = time.perf_counter()
    process = psutil.Popen([*command, "--lake", str(lake)], env=manager.environment, stdout=subprocess.PIPE, text=True)
    output, _errors = process.communicate()
    taken = os.times()
    assert process.returncode == 0, output
    return time.perf_counter() - began, taken.children_user + taken.children_system, json.loads(output)["plan"]["rows"]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "home").mkdir()
        manager = create(base / "home", mqsc=definitions())
        put_messages(manager)
        for _round in range(ROUNDS):
            before = os.times()
            seconds, processor, rows = guarded(manager, base / "lake")
            processor -= before.children_user + before.children_system
            print(
                f"{QUEUES:,} queues, {POISONED:,} with poison: {seconds:6.1f} s by the clock, {processor:6.1f} s of "
                f"processor, {rows:,} messages in the plan"
            )
            assert rows == POISONED
    return 0


if __name__ == "__main__":
    sys.exit(main())
