"""Messages a second through the embedded queue manager: put, get, browse, and redrive by rule.

One process, persistent messages of 1 KB, every unit of work on disk when it ends. Beside it, with the same messages and
the same durability: a plain one-by-one pymqi loop such as an operator writes, and persist-queue and litequeue, put, get
and moving messages from one queue to another. Aim: redrive at 200 a unit of work at 5,000 messages/s or more, and at
least 5 times the one-by-one loop.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import litequeue
import persistqueue
import pymqi
from persistqueue import sqlbase
from pymqi import CMQC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ledger_opened import act, prove
from mq_support import DLQ, Manager, create, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.rules import parse

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "10000"))
ONE_BY_ONE = max(200, MESSAGES // 10)
"""Messages of the measurements with one commit a message."""
ROUNDS = 5
QUEUES = "DEFINE QLOCAL(TARGET) MAXDEPTH(999999) DEFPSIST(YES)\nDEFINE QLOCAL(WORK) MAXDEPTH(999999) DEFPSIST(YES)\n"
RULES = "REASON(MQRC_Q_FULL) DESTQ(T*) ACTION(RETRY)\nACTION(FWD) FWDQ(WORK)\n"
BODY = b"x" * (1024 - 172)
SYNCPOINT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NEW_MSG_ID
T = TypeVar("T")


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="mqops-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def rate(count: int, work: Callable[[], object]) -> float:
    """Messages a second."""
    started = time.perf_counter()
    work()
    return count / (time.perf_counter() - started)


def best(measure: Callable[[], float]) -> float:
    """The best of a few rounds: the others were disturbed by what else runs."""
    return max(measure() for _ in range(ROUNDS))


def fill(manager: Manager, count: int) -> None:
    manager.put(DLQ, [dead_letter("TARGET", BODY, PutApplName="bench")] * count)


# The queue manager through plain pymqi


def put(manager: Manager, count: int, unit: int) -> float:
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, "WORK", CMQC.MQOO_OUTPUT)

        def work() -> None:
            for number in range(count):
                queue.put(b"y" * 1024, pymqi.MD(Persistence=1), pymqi.PMO(Options=SYNCPOINT))
                if number % unit == unit - 1:
                    connection.commit()
            connection.commit()

        result = rate(count, work)
        queue.close()
        return result


def read(manager: Manager, count: int, unit: int, options: int) -> float:
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, "WORK", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)

        def work() -> None:
            for number in range(count):
                queue.get(2048, pymqi.MD(), pymqi.GMO(Options=options))
                if number % unit == unit - 1:
                    connection.commit()
            connection.commit()

        result = rate(count, work)
        queue.close()
        return result


def plain_loop(manager: Manager, count: int) -> float:
    """What an operator writes: get, cut the header off, put, commit; the next one."""
    fill(manager, count)
    with manager.connected() as connection:
        source = pymqi.Queue(connection, DLQ, CMQC.MQOO_INPUT_AS_Q_DEF | CMQC.MQOO_SAVE_ALL_CONTEXT)

        def work() -> None:
            for _ in range(count):
                md = pymqi.MD(Version=2)
                body = source.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
                name = body[12:60].rstrip()
                md.Format, md.Encoding, md.CodedCharSetId = body[116:124], 546, 1208
                target = pymqi.Queue(connection, name, CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
                pmo = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_PASS_ALL_CONTEXT)
                pmo.Context = source.get_handle()
                target.put(body[172:], md, pmo)
                target.close()
                connection.commit()

        result = rate(count, work)
        source.close()
        return result


# Redrive by rule


def redrive(manager: Manager, lake: Path, count: int, unit: int) -> tuple[float, float]:
    """Act alone, and the whole pass: observe, decide, act, prove."""
    fill(manager, count)
    what = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parse(RULES).table, text=RULES, unit_size=unit
    )
    started = time.perf_counter()
    run, plan = plan_run(DEAD_LETTERS, what)
    acting = time.perf_counter()
    summary = act(manager.connection, run, unit_size=unit)
    acted = time.perf_counter()
    proof = prove(manager.connection, run)
    ended = time.perf_counter()
    assert plan.rows == summary.moved == proof.moved == count
    return count / (acted - acting), count / (ended - started)


# The same work elsewhere. Neither of them browses, and litequeue has no units of work.


def persist_queue(path: Path, unit: int) -> persistqueue.SQLiteQueue:
    """SQLite's default, synchronous=FULL, is a commit on disk."""
    return persistqueue.SQLiteQueue(str(path), auto_commit=unit == 1, multithreading=False)


def in_and_out_of_persist_queue(path: Path, count: int, unit: int) -> tuple[float, float]:
    """Messages a second: put, get."""
    queue = persist_queue(path / "a", unit)

    def work(call: Callable[[], object]) -> None:
        for number in range(count):
            call()
            if number % unit == unit - 1 and unit > 1:
                queue.task_done()

    puts = rate(count, lambda: work(lambda: queue.put(b"x" * 1024)))
    return puts, rate(count, lambda: work(queue.get))


def in_and_out_of_litequeue(path: Path, count: int, _unit: int) -> tuple[float, float]:
    """Messages a second: put, and pop with done."""
    queue = litequeue.LiteQueue(path / "a.db")
    queue.conn.execute("PRAGMA synchronous = FULL")

    def work(call: Callable[[], object]) -> None:
        for _ in range(count):
            call()

    puts = rate(count, lambda: work(lambda: queue.put("x" * 1024)))
    return puts, rate(count, lambda: work(lambda: queue.done(queue.pop().message_id)))


def with_persist_queue(path: Path, count: int, unit: int) -> float:
    """From one persist-queue to another."""
    source, target = (persist_queue(path / name, unit) for name in "ab")
    for _ in range(count):
        source.put(b"x" * 1024)
    sqlbase.commit_ignore_error(source._putter)

    def work() -> None:
        for number in range(count):
            target.put(source.get())
            if number % unit == unit - 1 and unit > 1:
                target.task_done()
                source.task_done()

    return rate(count, work)


def with_litequeue(path: Path, count: int, _unit: int) -> float:
    """From one litequeue to another. Its pop, put and done are a transaction each; there are no units of work."""
    source, target = (litequeue.LiteQueue(path / f"{name}.db") for name in "ab")
    source.conn.execute("BEGIN")
    for _ in range(count):
        source.conn.execute("SAVEPOINT filling")
        source.put("x" * 1024)
        source.conn.execute("RELEASE filling")
    source.conn.execute("COMMIT")
    for queue in (source, target):
        queue.conn.execute("PRAGMA synchronous = FULL")

    def work() -> None:
        for _ in range(count):
            message = source.pop()
            target.put(message.data)
            source.done(message.message_id)

    return rate(count, work)


def show(name: str, single: float, many: float | None = None) -> None:
    many_text = "" if many is None else f"{many:12,.0f}"
    print(f"{name:44}{single:12,.0f}{many_text}", flush=True)


def main() -> None:
    print(f"{MESSAGES} messages of 1 KB at 200 a unit of work, {ONE_BY_ONE} at 1; best of {ROUNDS}; messages/s")
    print(f"{'':44}{'1 a unit':>12}{'200 a unit':>12}")
    with folder() as path:
        manager = create(path / "queue_managers", mqsc=QUEUES)
        sizes = ((ONE_BY_ONE, 1), (MESSAGES, 200))
        show("put (pymqi.Queue.put)", *(best(lambda n=n, unit=unit: put(manager, n, unit)) for n, unit in sizes))
        browse = CMQC.MQGMO_BROWSE_NEXT
        show("browse (pymqi.Queue.get)", best(lambda: read(manager, MESSAGES, MESSAGES, browse)))
        gets = [best(lambda n=n, unit=unit: read(manager, n, unit, CMQC.MQGMO_SYNCPOINT)) for n, unit in sizes]
        show("get (pymqi.Queue.get)", *gets)
        loop = best(lambda: plain_loop(manager, ONE_BY_ONE))
        show("redrive, one-by-one pymqi loop", loop)
        acts = {
            unit: best_of_pairs(lambda n=n, unit=unit: redrive(manager, path / "lake", n, unit)) for n, unit in sizes
        }
        show("redrive by rule, act", acts[1][0], acts[200][0])
        show("redrive by rule, observe to prove", acts[1][1], acts[200][1])
    alone = [best_of_pairs(lambda n=n, unit=unit: elsewhere(in_and_out_of_persist_queue, n, unit)) for n, unit in sizes]
    show("put (persist-queue)", alone[0][0], alone[1][0])
    show("get (persist-queue)", alone[0][1], alone[1][1])
    lite_puts, lite_gets = best_of_pairs(lambda: elsewhere(in_and_out_of_litequeue, ONE_BY_ONE, 1))
    show("put (litequeue)", lite_puts)
    show("get (litequeue)", lite_gets)
    persist = [best(lambda n=n, unit=unit: elsewhere(with_persist_queue, n, unit)) for n, unit in sizes]
    show("persist-queue, queue to queue", *persist)
    lite = best(lambda: elsewhere(with_litequeue, ONE_BY_ONE, 1))
    show("litequeue, queue to queue", lite)
    act_rate = acts[200][0]
    print(f"redrive at 200 a unit / one-by-one pymqi loop: {act_rate / loop:.1f}")
    ratios = f"{act_rate / persist[0]:.1f} and {act_rate / persist[1]:.1f}"
    print(f"redrive at 200 a unit / persist-queue at 1 and at 200: {ratios}")
    print(f"redrive at 200 a unit / litequeue: {act_rate / lite:.1f}")


def elsewhere(work: Callable[[Path, int, int], T], count: int, unit: int) -> T:
    with folder() as path:
        return work(path, count, unit)


def best_of_pairs(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """The best of a few rounds, each figure by itself."""
    pairs = [measure() for _ in range(ROUNDS)]
    return max(first for first, _ in pairs), max(second for _, second in pairs)


if __name__ == "__main__":
    main()
