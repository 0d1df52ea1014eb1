"""A dead-letter queue of a million messages: snapshot, plan, act and prove as the jobs that Airflow submits.

Messages of 1 KB for 20 destinations, 50 rules, local Spark. For each stage: seconds (the start of its process and its
JVM included, or the fork of its task on Spark Connect), processor seconds, messages a second, peak memory of its
process tree, and microseconds a message beside those of a tenth of the messages.

`python tests/bench/dlq_million.py [MESSAGES [connect]]`: with `connect` on a warm Spark Connect server, as Airflow
submits the jobs, else by spark-submit. The server's time and memory are in the figures; in its first run, over 2,330
messages, its Python workers start. MQOPS_BENCH_FOLDER says where the data goes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from connect_server import connect_server
from mq_support import DLQ, Manager, create, dead_letter

from mqops.lake.run import RunFolder

MESSAGES = 1_000_000
FIRST = 2330
DESTINATIONS = [f"T{number:02}" for number in range(20)]
REASONS = {"MQRC_Q_FULL": 2053, "MQRC_PUT_INHIBITED": 2051}
QUEUES = "".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999999)\n" for name in (*DESTINATIONS, "PARKED"))
QUEUES += "".join(f"ALTER QLOCAL({name}) MAXDEPTH(999999999)\n" for name in (DLQ, "MQOPS.LEDGER"))
CHUNK = 10_000
LOOK = 0.2
"""Seconds between two looks at the memory."""
JOBS = Path(__file__).resolve().parents[2] / "spark_jobs"
FORKED = str(Path(__file__).with_name("forked_job.py"))
PROVE = str(Path(__file__).with_name("prove_job.py"))


def rules() -> str:
    """50 rules: ten that match nothing, two for each destination."""
    never = [f"DESTQ(NOWHERE.{number:02}*) FORMAT(MQSTR) ACTION(DISCARD)" for number in range(10)]
    retry, forward = REASONS
    pairs = [
        (f"DESTQ({name}) REASON({retry}) ACTION(RETRY)", f"DESTQ({name}) REASON({forward}) ACTION(FWD) FWDQ(PARKED)")
        for name in DESTINATIONS
    ]
    return "".join(f"{rule}\n" for rule in (*never, *(rule for pair in pairs for rule in pair)))


def fill(manager: Manager, count: int) -> None:
    """Put the messages; one in ten was refused for the other reason."""
    retry, forward = REASONS.values()
    for first in range(0, count, CHUNK):
        letters = [
            dead_letter(
                DESTINATIONS[number % len(DESTINATIONS)],
                (b"%012d" % number).ljust(1024 - 172, b"x"),
                reason=forward if number % 10 == 9 else retry,
            )
            for number in range(first, min(first + CHUNK, count))
        ]
        manager.put(DLQ, letters)


def tree(pids: Collection[int]) -> tuple[int, dict[int, float]]:
    """Resident bytes of processes and all they have started, and pid → processor seconds of each."""
    memory, processor = 0, {}
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            parent = psutil.Process(pid)
            for one in (parent, *parent.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    memory += one.memory_info().rss
                    processor[one.pid] = sum(one.cpu_times()[:2])
    return memory, processor


def measured(
    command: list[str], environment: dict[str, str], log: Path, server: Collection[int]
) -> tuple[float, int, float]:
    """Seconds that a command takes, the most memory that its tree was seen with, and its processor seconds.

    Parameters: `server` processes whose trees count as well; of their processor time what is new.
    """
    with log.open("ab") as stream:
        forked = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} if command[0] == FORKED else {"stdout": stream}
        _memory, before = tree(server)
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], env=environment, stderr=stream, text=True, **forked)
        if process.stdin and process.stdout:  # the task's parent, which is there already in Airflow
            process.stdout.readline()
            _memory, before = tree([process.pid, *server])
            started = time.perf_counter()
            process.stdin.write("\n")
            process.stdin.close()
        peak, processor = 0, before
        while process.poll() is None:
            memory, now = tree([process.pid, *server])
            peak = max(peak, memory)
            processor = processor | now
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK)
    if process.returncode:
        raise SystemExit(f"{command[:2]} ended with {process.returncode}:\n{log.read_text()[-3000:]}")
    return time.perf_counter() - started, peak, sum(processor.values()) - sum(before.values())


SUBMITTED = {"PYSPARK_SUBMIT_ARGS": "--master local[*] --conf spark.ui.enabled=false pyspark-shell"}


def stages(
    count: int, place: Path, spark: Mapping[str, str], server: Collection[int]
) -> dict[str, tuple[float, int, float]]:
    """Stage → seconds, peak memory in bytes, processor seconds.

    Parameters: `spark` the variables that say where the jobs run, a Java of their own or a Spark Connect server;
    `server` the processes of that server.
    """
    manager = create(place / "queue_managers", mqsc=QUEUES)
    table = place / "table.rules"
    table.write_text(rules())
    run = RunFolder.at(place / "lake", "QM1", "bench")
    environment = {
        **manager.environment,
        **{"MQOPS_CONNECTION": manager.connection.to_json(), "PYSPARK_PYTHON": sys.executable},
        **spark,
    }
    started = time.perf_counter()
    fill(manager, count)
    results = {"(put)": (time.perf_counter() - started, 0, 0.0)}
    where = ["--run", str(run.path)]
    commands: dict[str, Callable[[], list[str]]] = {
        "snapshot": lambda: [str(JOBS / "observe.py"), *where, "--queue", DLQ],
        "plan": lambda: [str(JOBS / "decide.py"), *where, "--rules", str(table)],
        "act": lambda: [str(JOBS / "act.py"), *where, "--plan-digest", json.loads(run.plan_json.read_text())["digest"]],
        "prove": lambda: [PROVE, str(run.path)],
    }
    task = [FORKED] if "SPARK_REMOTE" in spark else []
    for name, command in commands.items():
        results[name] = measured([*task, *command()], environment, place / "log", server)
        print(f"  {count:,} messages: {name} took {results[name][0]:,.1f} s", flush=True)
    summary = json.loads(run.path.joinpath("summary.json").read_text())
    assert (summary["planned"], summary["moved"], summary["balanced"]) == (count, count, True), summary
    return results


def measure(
    count: int, spark: Mapping[str, str] = SUBMITTED, server: Collection[int] = ()
) -> dict[str, tuple[float, int, float]]:
    """As `stages`, in a folder that is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="mqops-bench-", dir=os.environ.get("MQOPS_BENCH_FOLDER")))
    try:
        return stages(count, place, spark, server)
    finally:
        shutil.rmtree(place)


def main(count: int, way: str) -> None:
    small_count = count // 10
    if way == "connect":
        with connect_server() as (connect, pid):
            measure(FIRST, connect, [pid])
            small, large = (measure(each, connect, [pid]) for each in (small_count, count))
    else:
        small, large = measure(small_count), measure(count)
    print(f"{count:,} messages of 1 KB, {len(DESTINATIONS)} destinations, {len(rules().splitlines())} rules, by {way}")
    heads = ("seconds", "processor", "messages/s", "peak MB", "us/message", f"at {small_count:,}", "ratio")
    print(f"{'':10}" + "".join(f"{head:>12}" for head in heads))
    for name, (seconds, peak, processor) in large.items():
        cost, cost_small = seconds / count * 1e6, small[name][0] / small_count * 1e6
        rates = f"{seconds:12,.1f}{processor:12,.1f}{count / seconds:12,.0f}{peak / 2**20:12,.0f}"
        print(f"{name:10}{rates}{cost:12,.0f}{cost_small:12,.0f}{cost / cost_small:12.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else MESSAGES, sys.argv[2] if sys.argv[2:] else "spark-submit")
