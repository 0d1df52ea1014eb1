"""Looking: `find` on a live queue beside a bare browse, `find` over a large snapshot, `runs` over many runs.

Aims: under 60 microseconds a message beside the bare browse; by property under 5 s for 1,000,000 messages of a
snapshot, warm; under 0.5 s for 10,000 runs. Processor time beside the time of the clock: a busy machine lengthens the
second only.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mq_support import DLQ, create, dead_letter
from pages_lake import settle

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.files import make_folder
from mqops.lake.parquet import write_parquet
from mqops.look.core.criteria import criteria
from mqops.look.find import find_live, find_recorded, live_batches
from mqops.look.runs import list_runs
from mqops.mq.browse import browse
from mqops.mq.connection import connect
from mqops.observe.arrow import SNAPSHOT
from mqops.rules import parse
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2

LIVE = int(os.environ.get("MQOPS_BENCH_MESSAGES", "20000"))
RECORDED = int(os.environ.get("MQOPS_BENCH_RECORDED", "1000000"))
RUNS = int(os.environ.get("MQOPS_BENCH_RUNS", "10000"))
ROUNDS = 3
SOUGHT = {
    "reason and destination": criteria("REASON(MQRC_Q_FULL) DESTQ(B*)"),
    "property": criteria("PROP('usr.country' = 'DE')"),
    "text of the body": criteria("BODY('*nowhere*')"),
    "age": criteria("AGE(>9999d)"),
}
T = TypeVar("T")


def message(number: int) -> tuple[dict[str, object], bytes]:
    """Every second one with properties, of which one in a thousand has the country that is sought."""
    if number % 2:
        return dead_letter("A", b"%012d" % number + b"x" * 500)
    usr = folder("usr", {"country": "DE" if number % 1000 == 0 else "FR", "number": str(number)})
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(usr).pack()
    return dead_letter("A", header + b"%012d" % number + b"x" * 500, inner=("MQHRF2", 546, 1208))


def least(work: Callable[[], T]) -> tuple[float, float, T]:
    """The least processor time and the least time of the clock of some rounds, in seconds, and the result."""
    cpu, clock = [], []
    for _ in range(ROUNDS):
        began, began_at = time.process_time(), time.perf_counter()
        result = work()
        cpu.append(time.process_time() - began)
        clock.append(time.perf_counter() - began_at)
    return min(cpu), min(clock), result


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mqops-bench") as name:
        home, lake = Path(name, "queue_managers"), Path(name, "lake")
        home.mkdir()
        os.environ["MQLITE_HOME"] = str(home)
        manager = create(home, mqsc="DEFINE QLOCAL(A) MAXDEPTH(999999)\n")
        manager.put(DLQ, [message(number) for number in range(LIVE)])
        with connect(manager.connection) as session:
            bare, _clock, _ = least(lambda: sum(1 for _ in browse(session, DLQ)))
            print(f"a bare browse: {bare / LIVE * 1e6:.0f} microseconds of processor a message")
            for what, wanted in SOUGHT.items():
                cpu, _clock, page = least(lambda wanted=wanted: find_live(session, [DLQ], wanted))
                more = (cpu - bare) / LIVE * 1e6
                print(
                    f"find by {what}: {more:.0f} microseconds of processor a message beside it, "
                    f"{len(page.messages)} found"
                )
            batches = list(live_batches(session, [DLQ]))
        recorded(Path(name, "snapshot"), batches)
        many_runs(manager, lake)


def recorded(snapshot: Path, batches: list[pa.RecordBatch]) -> None:
    """The same messages, often enough to be as many as wanted."""
    make_folder(snapshot)
    copies = (batch for _ in range(-(-RECORDED // LIVE)) for batch in batches)
    rows = write_parquet(snapshot, SNAPSHOT, copies)
    for what, wanted in SOUGHT.items():
        cpu, clock, page = least(lambda wanted=wanted: find_recorded(snapshot, wanted, limit=100_000))
        print(
            f"find by {what} in a snapshot of {rows}: {clock:.1f} s, {cpu:.1f} of processor, {len(page.messages)} found"
        )


def many_runs(manager: object, lake: Path) -> None:
    """One run, copied."""
    manager.put(DLQ, [dead_letter("A", b"1")])
    text = "DESTQ(B) ACTION(DISCARD)"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text)
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    for number in range(RUNS - 1):
        copy = run.path.with_name(f"copy-{number:06}")
        copy.mkdir(mode=0o700)
        for path in run.path.glob("*.json"):
            shutil.copy(path, copy)
    settle(run.lake_folder)
    began, began_at = time.process_time(), time.perf_counter()
    list_runs(lake)
    cpu, clock = time.process_time() - began, time.perf_counter() - began_at
    print(f"{RUNS} runs, the first time: {clock:.1f} s, {cpu:.1f} of processor")
    cpu, clock, lines = least(lambda: list_runs(lake))
    print(f"{len(lines)} runs, from then on: {clock:.2f} s, {cpu:.2f} of processor")


if __name__ == "__main__":
    main()
