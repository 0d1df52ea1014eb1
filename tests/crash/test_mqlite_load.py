"""Eight processes on one queue manager, mixed puts, gets and browses in units of work: the totals are exact.

MQLITE_LOAD_SECONDS makes it longer (`make full`: two minutes). Any reason code but "no message" and "full" ends a
worker, and with it the test: so no busy store ever reaches an application.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mqlite_support import Application, application, home, run_mqsc

__all__ = ["application", "home"]

PROCESSES = 8
SECONDS = os.environ.get("MQLITE_LOAD_SECONDS", "3")
WORKER = Path(__file__).with_name("load_worker.py")


def test_eight_processes_leave_exact_totals(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(A) MAXDEPTH(500)\nDEFINE QLOCAL(B) MAXDEPTH(999999) MSGDLVSQ(FIFO)")
    commands = [[sys.executable, str(WORKER), str(seed), SECONDS] for seed in range(PROCESSES)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    outputs = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * PROCESSES
    done = [json.loads(output) for output in outputs]
    put, got = (Counter(body for one in done for body in one[what]) for what in ("put", "got"))
    assert min(len(put), len(got), sum(one["browsed"] for one in done)) > PROCESSES
    left = {name: application.bodies(name) for name in ("A", "B")}
    assert got + Counter(body.decode() for bodies in left.values() for body in bodies) == put
    assert max(put.values()) == 1
    assert {name: application.depth(name) for name in left} == {name: len(bodies) for name, bodies in left.items()}
