"""RabbitMQ beside the embedded queue manager, in the same run: put, get, and redrive to 20 destinations.

Persistent messages of 1 KB on durable queues. Put: publisher confirms, awaited a unit at a time. Get: manual ack of a
unit at a time, not more than a unit on the way. Redrive: RabbitMQ's dynamic shovel, acknowledging on confirm, from one
queue through a headers exchange to 20 queues; here the pass that a rules table makes over a dead-letter queue, without
observing and deciding. The last line is that pass when the gets and puts of its messages are answered at once, by no
queue manager: what is left is the pass itself, the ledger and the commits, and no queue manager behind pymqi can make
it faster. The clients are pika and pymqi. RabbitMQ is used where Debian's rabbitmq-server is installed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import pika
import rabbitmq
from bench_mqlite import PROCESSES, QUEUES, UNITS, fastest, together
from bench_redrive import MESSAGES, ONE_BY_ONE, ROUNDS, best, folder, rate
from ledger_opened import act
from mq_support import DLQ, Manager, create, dead_letter
from pymqi import pymqe

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.mq.browse import browse
from mqops.mq.connection import connect
from mqops.rules import parse
from mqops.short_process import collect_seldom
from mqwire.structures import MQMD_LAYOUT

TARGETS = [f"TARGET.{number:02}" for number in range(20)]
RULES = "ACTION(RETRY)\n"
BODY = b"x" * 1024
HEADER = 172  # bytes of the MQDLH, which the body is shorter by
Answered: TypeAlias = Callable[[Manager], AbstractContextManager[object]]
_IDS = slice(MQMD_LAYOUT.offset("msg_id"), MQMD_LAYOUT.offset("backout_count"))
WORKER = "import sys; sys.path.insert(0, sys.argv[1]); import bench_rabbitmq as b; b.worker(*sys.argv[2:])"


def worker(port: str, queue: str, count: str, unit: str) -> None:
    """One of several processes: waits for a line, puts, says so; waits for a line, gets."""
    publisher = rabbitmq.Publisher(int(port), queue)
    consumer = rabbitmq.Consumer(int(port), queue, int(unit))
    for work in (lambda: publisher.put(BODY, int(count), int(unit)), lambda: consumer.get(int(count))):
        print("ready", flush=True)
        sys.stdin.readline()
        work()
    print("ready", flush=True)
    publisher.close()
    consumer.close()


def there(broker: rabbitmq.Broker, processes: int, count: int, unit: int) -> tuple[float, float]:
    """Messages a second of all processes on RabbitMQ, each on its own queue: put, get."""
    each = count // processes
    command = [sys.executable, "-c", WORKER, str(Path(__file__).parent), str(broker.port)]
    workers = [
        subprocess.Popen(
            [*command, f"WORK{n}", str(each), str(unit)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for n in range(processes)
    ]

    def go() -> None:
        for one in workers:
            assert one.stdin is not None
            print(file=one.stdin, flush=True)
        all_ready()

    def all_ready() -> None:
        for one in workers:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"

    all_ready()
    rates = rate(each * processes, go), rate(each * processes, go)
    for one in workers:
        one.communicate()
    return rates


def shovel(broker: rabbitmq.Broker, count: int) -> float:
    """Messages a second from one queue through a headers exchange to 20 queues, from the first one that arrives."""
    with broker.connection() as connection:
        channel = connection.channel()
        channel.exchange_declare("redrive", "headers", durable=True)
        channel.queue_declare("DEAD", durable=True)
        for name in TARGETS:
            channel.queue_declare(name, durable=True)
            channel.queue_bind(name, "redrive", arguments={"x-match": "all", "DestQName": name})
        channel.confirm_delivery()
        for number in range(count):
            headers = {"DestQName": TARGETS[number % len(TARGETS)]}
            channel.basic_publish("", "DEAD", BODY, pika.BasicProperties(delivery_mode=2, headers=headers))

        def arrived() -> int:
            return sum(channel.queue_declare(name, passive=True).method.message_count for name in TARGETS)

        beginning = threading.Thread(target=lambda: broker.shovel("DEAD", "redrive"))  # its command takes a second
        beginning.start()
        while not (first := arrived()):
            time.sleep(0.001)
        started = time.perf_counter()
        while arrived() < count:
            time.sleep(0.001)
        result = (count - first) / (time.perf_counter() - started)
        beginning.join()
        broker.end_shovel()
        for name in TARGETS:
            channel.queue_purge(name)
        return result


def redrive(
    manager: Manager,
    lake: Path,
    count: int,
    answered: Callable[[Manager], AbstractContextManager[object]] | None = None,
) -> float:
    """Messages a second from the dead-letter queue to 20 queues by a rule, 200 a unit of work.

    Parameters: `answered` makes what answers some of the calls instead of the queue manager.
    """
    manager.put(DLQ, [dead_letter(TARGETS[n % len(TARGETS)], BODY[HEADER:]) for n in range(count)])
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(RULES).table, text=RULES)
    run, _plan = plan_run(DEAD_LETTERS, what)
    with answered(manager) if answered else nullcontext():
        started = time.perf_counter()
        summary = act(manager.connection, run)
        result = count / (time.perf_counter() - started)
    assert summary.moved == count
    manager.mqsc("".join(f"CLEAR QLOCAL({name})\n" for name in (DLQ, *TARGETS)))
    return result


def at_once(manager: Manager) -> AbstractContextManager[object]:
    """The gets and puts of the dead letters are answered by a look into a dictionary; all other calls are real."""
    with connect(manager.connection) as session:
        found = {got.md[_IDS]: (got.body, got.md) for got in browse(session, DLQ)}
    real_get, real_put = pymqe.MQGET, pymqe.MQPUT

    def get(connection: int, queue: int, md: bytes, gmo: bytes, length: int) -> Any:
        if message := found.get(md[_IDS]):
            body, descriptor = message
            return body, descriptor, gmo, len(body), 0, 0
        return real_get(connection, queue, md, gmo, length)

    def put(connection: int, queue: int, md: bytes, pmo: bytes, body: bytes) -> Any:
        return (md, pmo, 0, 0) if md[_IDS] in found else real_put(connection, queue, md, pmo, body)

    return mock.patch.multiple(pymqe, MQGET=get, MQPUT=put)


def main() -> None:
    if not rabbitmq.installed():
        print("RabbitMQ is not installed (Debian: rabbitmq-server): nothing to compare with")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the broker ends with us
    collect_seldom()  # as the command `mqops` does
    targets = "".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999) DEFPSIST(YES)\n" for name in TARGETS)
    with folder() as path, rabbitmq.broker(path) as broker:
        print(f"persistent messages of 1 KB; best of {ROUNDS}; messages/s, put and get")
        print(f"{'':<32} {'RabbitMQ ' + broker.control('version').strip():>17}   {'this':>17}   this / that")
        manager = create(path / "queue_managers", "QM1", QUEUES + targets)
        with broker.connection() as connection:
            for number in range(max(PROCESSES)):
                connection.channel().queue_declare(f"WORK{number}", durable=True)
        for unit in UNITS:
            count = MESSAGES if unit > 1 else ONE_BY_ONE
            for processes in PROCESSES:
                theirs = fastest([there(broker, processes, count, unit) for _ in range(ROUNDS)])
                ours = fastest([together(manager, processes, count, unit) for _ in range(ROUNDS)])
                show(f"{unit} a unit, {processes} process{'es' if processes > 1 else ''}", theirs, ours)
        theirs_redrive = best(lambda: shovel(broker, MESSAGES))
        ours_redrive = best(lambda: redrive(manager, path / "lake", MESSAGES))
        show(f"redrive of {MESSAGES} to {len(TARGETS)} queues", (theirs_redrive,), (ours_redrive,))
        alone = best(lambda: redrive(manager, path / "lake", MESSAGES, at_once))
        show("  gets and puts answered at once", (theirs_redrive,), (alone,))


def show(name: str, theirs: tuple[float, ...], ours: tuple[float, ...]) -> None:
    """RabbitMQ's figures, ours, and how many times as many ours are."""
    figures = (" ".join(f"{one:>8,.0f}" for one in some).rjust(17) for some in (theirs, ours))
    times = " ".join(f"{own / other:.2f}" for own, other in zip(ours, theirs, strict=True))
    print(f"{name:<32} {'   '.join(figures)}   {times:>10}", flush=True)


if __name__ == "__main__":
    main()
