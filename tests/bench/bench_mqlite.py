"""The embedded queue manager beside the bare SQLite below it, in several processes, and on deep queues.

Persistent messages of 1 KB through plain pymqi. The floor is what the same SQLite does with the same file settings when
one process inserts and deletes the same bytes, one transaction a unit of work, and nothing else. pymqi alone is what
its own descriptors cost when each call is answered at once, by no queue manager: nobody behind it can be faster. Aims:
put and get within 3 times of the floor; get by MsgId and from a queue of mixed priorities cost at a depth of 1,000,000
less than 1.3 times of what they cost at 1,000.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pymqi
from pymqi import CMQC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_redrive import ROUNDS, folder, rate
from mq_support import Manager, create

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "10000"))
DEPTH = int(os.environ.get("MQOPS_BENCH_DEPTH", "1000000"))
SHALLOW = 1000
PROBES = 500
BODY = b"y" * 1024
UNITS = (1, 200)
PROCESSES = (1, 4)
QUEUES = "".join(f"DEFINE QLOCAL(WORK{n}) MAXDEPTH(999999999) DEFPSIST(YES)\n" for n in range(max(PROCESSES)))
PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NEW_MSG_ID
WORKER = "import sys; sys.path.insert(0, sys.argv[1]); import bench_mqlite as b; b.worker(*sys.argv[2:])"


def put(connection: pymqi.QueueManager, queue: pymqi.Queue, count: int, unit: int) -> None:
    """Put `count` messages of mixed priorities, `unit` a unit of work."""
    for number in range(count):
        queue.put(BODY, pymqi.MD(Persistence=1, Priority=number % 4), pymqi.PMO(Options=PUT))
        if number % unit == unit - 1:
            connection.commit()
    connection.commit()


def get(connection: pymqi.QueueManager, queue: pymqi.Queue, count: int, unit: int) -> None:
    """Get `count` messages, `unit` a unit of work."""
    for number in range(count):
        queue.get(2048, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        if number % unit == unit - 1:
            connection.commit()
    connection.commit()


def opened(connection: pymqi.QueueManager, name: str) -> pymqi.Queue:
    return pymqi.Queue(connection, name, CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)


def worker(name: str, count: str, unit: str) -> None:
    """One of several processes: waits for a line, puts, says so; waits for a line, gets."""
    connection = pymqi.connect("QM1")
    queue = opened(connection, name)
    for work in (put, get):
        print("ready", flush=True)
        sys.stdin.readline()
        work(connection, queue, int(count), int(unit))
    print("ready", flush=True)
    connection.disconnect()


def together(manager: Manager, processes: int, count: int, unit: int) -> tuple[float, float]:
    """Messages a second of all processes, each on its own queue: put, get."""
    command = [sys.executable, "-c", WORKER, str(Path(__file__).parent)]
    each = count // processes
    workers = [
        subprocess.Popen(
            [*command, f"WORK{n}", str(each), str(unit)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=manager.environment,
        )
        for n in range(processes)
    ]  # fmt: skip

    def all_ready() -> None:
        for one in workers:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"

    def go() -> None:
        for one in workers:
            assert one.stdin is not None
            print(file=one.stdin, flush=True)
        all_ready()

    all_ready()
    rates = rate(each * processes, go), rate(each * processes, go)
    for one in workers:
        one.communicate()
    return rates


def pymqi_alone(connection: pymqi.QueueManager, count: int, unit: int) -> tuple[float, float]:
    """Calls a second of pymqi when a queue manager takes no time at all: put, get."""
    queue = opened(connection, "WORK0")
    answers = {
        "MQPUT": lambda _connection, _queue, md, pmo, _body: (md, pmo, 0, 0),
        "MQGET": lambda _connection, _queue, md, gmo, _length: (BODY, md, gmo, len(BODY), 0, 0),
        "MQCMIT": lambda _connection: (0, 0),
    }
    with mock.patch.multiple(pymqi.pymqe, **answers):
        puts = rate(count, lambda: put(connection, queue, count, unit))
        return puts, rate(count, lambda: get(connection, queue, count, unit))


def floor(place: Path, count: int, unit: int) -> tuple[float, float]:
    """What SQLite itself does: insert, and delete what comes first; one durable transaction a unit of work."""
    database = sqlite3.connect(place / f"floor{unit}.db", isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "CREATE TABLE IF NOT EXISTS m (b BLOB)",
    ):
        database.execute(statement)

    def units(work: Callable[[], object]) -> None:
        for number in range(count):
            if number % unit == 0:
                database.execute("BEGIN IMMEDIATE")
            work()
            if number % unit == unit - 1 or number == count - 1:
                database.execute("COMMIT")

    def take() -> None:
        row = database.execute("SELECT rowid, b FROM m ORDER BY rowid LIMIT 1").fetchone()
        database.execute("DELETE FROM m WHERE rowid = ?", (row[0],))

    rates = (
        rate(count, lambda: units(lambda: database.execute("INSERT INTO m (b) VALUES (?)", (BODY,)))),
        rate(count, lambda: units(take)),
    )
    database.close()
    return rates


def deep(manager: Manager, depth: int) -> dict[str, float]:
    """Microseconds of a get on a queue of that depth: of a given MsgId, and of what comes first by priority."""
    with manager.connected() as connection:
        queue = opened(connection, "WORK0")
        put(connection, queue, depth - PROBES, 5000)
        wanted = []
        for _ in range(PROBES):
            md = pymqi.MD(Persistence=1)
            queue.put(BODY, md, pymqi.PMO(Options=PUT))
            wanted.append(md.MsgId)
        connection.commit()
        options = pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT, Version=CMQC.MQGMO_VERSION_2)
        options.MatchOptions = CMQC.MQMO_MATCH_MSG_ID

        def by_id() -> None:
            for msg_id in wanted:
                queue.get(2048, pymqi.MD(MsgId=msg_id), options)

        found = {"get by MsgId": 1e6 / rate(PROBES, by_id)}
        connection.backout()
        found["get in priority order"] = 1e6 / rate(PROBES, lambda: get(connection, queue, PROBES, PROBES + 1))
        return found


def fastest(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    """The best put and the best get of some rounds: the others were disturbed by what else runs."""
    return max(one[0] for one in rounds), max(one[1] for one in rounds)


def show(unit: int, name: str, lowest: tuple[float, float], rates: tuple[float, float]) -> None:
    """Puts and gets a second, and how many times as slow as the floor that is."""
    times = " ".join(f"{low / own:.1f}" for low, own in zip(lowest, rates, strict=True))
    print(f"{unit:>4} a unit: {name:<14} {rates[0]:>10,.0f} {rates[1]:>10,.0f}   floor / this: {times}", flush=True)


def main() -> None:
    print(f"{MESSAGES} persistent messages of 1 KB; messages/s, put and get")
    with folder() as place:
        manager = create(place, "QM1", QUEUES)
        for unit in UNITS:
            count = MESSAGES if unit > 1 else max(200, MESSAGES // 10)
            lowest = fastest([floor(place, count, unit) for _ in range(ROUNDS)])
            show(unit, "SQLite floor", lowest, lowest)
            with manager.connected() as connection:
                rates = fastest([pymqi_alone(connection, count, unit) for _ in range(ROUNDS)])
            show(unit, "pymqi alone", lowest, rates)
            for processes in PROCESSES:
                rates = fastest([together(manager, processes, count, unit) for _ in range(ROUNDS)])
                show(unit, f"{processes} process{'es' if processes > 1 else ''}", lowest, rates)
    costs = []
    for depth in (SHALLOW, DEPTH):
        with folder() as place:
            started = time.perf_counter()
            costs.append(deep(create(place, "QM1", QUEUES), depth))
            print(f"depth {depth:,} filled and read in {time.perf_counter() - started:,.0f} s")
    for name in costs[0]:
        few, many = costs[0][name], costs[1][name]
        print(f"{name:<24} {few:6.0f} us at {SHALLOW:,}, {many:6.0f} us at {DEPTH:,}: {many / few:.2f} times")


if __name__ == "__main__":
    main()
