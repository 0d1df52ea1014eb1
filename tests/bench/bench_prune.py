"""A pass of retention over 10,000 runs with snapshot and plan: what it removes, and a pass that finds nothing.

MQOPS_BENCH_RUNS says how many runs. Aim: 60 s by the clock for the pass that removes (issue: a year of running).
Processor time beside it: a busy machine lengthens the other.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mq_support import DLQ, create, dead_letter
from pages_lake import settle

from mqops.clock import utc
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.run import RunFolder
from mqops.retention.core.due import Ages, Policy
from mqops.retention.prune import prune, survey
from mqops.rules import parse

RUNS = int(os.environ.get("MQOPS_BENCH_RUNS", "10000"))
POLICY = Policy(ages=Ages(snapshots=timedelta(days=30), plans=timedelta(days=60)), undo=timedelta(days=7))
TEXT = "DESTQ(B) ACTION(DISCARD)"


def proved_run(home: Path, lake: Path) -> RunFolder:
    """A genuine run that discarded a message."""
    manager = create(home, mqsc="DEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter("B", b"1")])
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TEXT).table, text=TEXT)
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    return run


def one_pass(lake: Path, days: int) -> str:
    """A pass as many days from now, in words."""
    now = utc() + timedelta(days=days)
    began, began_at = time.process_time(), time.perf_counter()
    done = prune(lake, "QM1", survey(lake, "QM1", POLICY, now=now), who="bench", now=now)
    cpu, clock = time.process_time() - began, time.perf_counter() - began_at
    return f"{clock:.1f} s by the clock, {cpu:.1f} of processor, {done.runs:,} runs, {done.parts}"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mqops-bench") as name:
        home, lake = Path(name, "queue_managers"), Path(name, "lake")
        home.mkdir()
        os.environ["MQLITE_HOME"] = str(home)
        run = proved_run(home, lake)
        for number in range(RUNS - 1):
            shutil.copytree(run.path, run.path.with_name(f"copy-{number:06}"))
        settle(run.lake_folder)
        survey(lake, "QM1", POLICY, now=utc())  # the index has them
        print(f"{RUNS:,} runs, a pass that finds nothing: {one_pass(lake, 0)}")
        print(f"the pass that removes snapshots and plans: {one_pass(lake, 90)}")
        print(f"the next one: {one_pass(lake, 90)}")


if __name__ == "__main__":
    main()
