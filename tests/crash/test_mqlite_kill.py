"""Processes killed in the middle of units of work: nothing lost, nothing twice, nothing half.

MQLITE_CRASH_KILLS raises the number of kills; two die at a time.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pymqi
import pytest
from mqlite_support import Application, application, home, refused, run_mqsc
from pymqi import CMQC
from sharing_support import SHARED, Group, group

__all__ = ["application", "group", "home"]

KILLS = int(os.environ.get("MQLITE_CRASH_KILLS", "8"))
WORKER = Path(__file__).with_name("mqlite_worker.py")
DIES_IN_UNIT_OF_WORK = """
import os, signal, pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
source = pymqi.Queue(manager, "Q1", CMQC.MQOO_INPUT_SHARED)
for _ in range(3):
    source.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
target = pymqi.Queue(manager, "Q2", CMQC.MQOO_OUTPUT)
for _ in range(4):
    target.put(b"never", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def worker(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A worker that has begun; killed at the end if it is still there."""
    command = [sys.executable, str(WORKER), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def bodies_of(number: int) -> list[bytes]:
    return [b"message %05d" % i for i in range(number)]


def fill(application: Application, queue: str, number: int) -> None:
    opened = application.open(queue, CMQC.MQOO_OUTPUT)
    for i, body in enumerate(bodies_of(number)):
        opened.put(body, pymqi.MD(Persistence=i % 2), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    application.manager.commit()


def test_P07_K01_killed_process_is_backed_out_by_the_next(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    fill(application, "Q1", 5)
    died = subprocess.run([sys.executable, "-c", DIES_IN_UNIT_OF_WORK])
    assert died.returncode == -signal.SIGKILL
    other = Application()  # whoever connects next backs out
    assert other.bodies("Q1") == bodies_of(5)
    assert (other.depth("Q1"), other.depth("Q2")) == (5, 0)
    assert other.bodies("Q2") == []
    counts = [other.get("Q1")[0].BackoutCount for _ in range(5)]
    assert counts == [1, 1, 1, 0, 0]
    other.manager.disconnect()


def test_K01_who_is_connected_already_gets_them_too(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    fill(application, "Q1", 3)
    opened = application.open("Q1")
    subprocess.run([sys.executable, "-c", DIES_IN_UNIT_OF_WORK])
    gmo = pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_WAIT, WaitInterval=CMQC.MQWI_UNLIMITED)
    md = pymqi.MD()
    assert opened.get(None, md, gmo) == bodies_of(1)[0]
    assert md.BackoutCount == 1


def test_killed_at_random_while_they_move_messages(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    fill(application, "Q1", 300)
    chance = random.Random(os.environ.get("PYTEST_SEED", ""))
    for _ in range(KILLS // 2):
        with worker("Q1", "Q2", "20", "kill") as first, worker("Q2", "Q1", "20", "kill") as second:
            time.sleep(chance.uniform(0.01, 0.2))  # the moment of death is what is tried
            first.kill()
            second.kill()
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        application.get("SYSTEM.DEFAULT.LOCAL.QUEUE")  # meets the dead
    there = Application()
    found = Counter(there.bodies("Q1") + there.bodies("Q2"))
    assert found == Counter(bodies_of(300))
    assert there.depth("Q1") + there.depth("Q2") == 300
    there.manager.disconnect()


def test_members_of_a_group_killed_at_random_while_they_move_messages(group: Group) -> None:
    """T03b: whoever of the queue-sharing group looks next puts back what a dead process of any member held."""
    run_mqsc(f"DEFINE QLOCAL(Q2) {SHARED} SHARE")
    fill(group["QM1"], "Q1", 300)
    chance = random.Random(os.environ.get("PYTEST_SEED", ""))
    for _ in range(KILLS // 2):
        with worker("Q1", "Q2", "20", "kill", "QM1") as first, worker("Q2", "Q1", "20", "kill", "QM2") as second:
            time.sleep(chance.uniform(0.01, 0.2))  # the moment of death is what is tried
            first.kill()
            second.kill()
    there = group["QM3"]
    assert Counter(there.bodies("Q1") + there.bodies("Q2")) == Counter(bodies_of(300))
    assert there.depth("Q1") + there.depth("Q2") == 300


def test_four_processes_at_once(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(Q2)")
    fill(application, "Q1", 1000)
    with (
        worker("Q1", "Q2", "30", "empty") as a, worker("Q1", "Q2", "3", "empty") as b,
        worker("Q1", "Q2", "1", "empty") as c, worker("Q1", "Q2", "100", "empty") as d,
    ):  # fmt: skip
        assert [process.wait() for process in (a, b, c, d)] == [0, 0, 0, 0]
    moved = application.bodies("Q2")
    left = application.bodies("Q1")  # backed out by one after the others had seen nothing more
    assert Counter(moved + left) == Counter(bodies_of(1000))
    assert (application.depth("Q1"), application.depth("Q2")) == (len(left), len(moved))


def test_process_that_ends_without_disconnecting_is_backed_out(application: Application) -> None:
    program = (
        "import os, pymqi; m = pymqi.connect('QM1'); q = pymqi.Queue(m, 'Q1');"
        "q.put(b'x', pymqi.MD(), pymqi.PMO(Options=pymqi.CMQC.MQPMO_SYNCPOINT)); os._exit(0)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
    other = Application()
    assert other.bodies("Q1") == []
    assert other.depth("Q1") == 0
    other.manager.disconnect()


def test_threads_with_their_own_connections(application: Application) -> None:
    def work(number: int) -> None:
        own = Application()
        for i in range(50):
            own.put("Q1", b"%d/%d" % (number, i), options=CMQC.MQPMO_SYNCPOINT)
            if i % 10 == 9:
                own.manager.commit()
        own.manager.disconnect()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(application.bodies("Q1")) == Counter(b"%d/%d" % (n, i) for n in range(4) for i in range(50))


def test_threads_that_share_a_connection(application: Application) -> None:
    opened = application.open("Q1", CMQC.MQOO_OUTPUT)

    def work() -> None:
        for _ in range(50):
            opened.put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert application.depth("Q1") == 200


def true_in_child(work: Callable[[], bool]) -> bool:
    """What a forked child answers; False where it fails."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def puts_on_its_own() -> bool:
    """Put on Q1 with a connection of one's own."""
    own = Application()
    own.put("Q1", b"child")
    own.manager.disconnect()
    return True


@pytest.mark.parametrize("way", ["inherited", "own"])
def test_forked_child(application: Application, way: str) -> None:
    """A child cannot use its parent's connection and can make one of its own; neither disturbs the parent."""
    application.put("Q1", b"parent", options=CMQC.MQPMO_SYNCPOINT)
    handle = application.manager.get_handle()

    def uses_its_parents() -> bool:
        return bool(pymqi.pymqe.MQCMIT(handle) == (2, CMQC.MQRC_HCONN_ERROR))

    assert true_in_child(uses_its_parents if way == "inherited" else puts_on_its_own)
    application.manager.commit()
    wanted = {b"parent", b"child"} if way == "own" else {b"parent"}
    assert set(application.bodies("Q1")) == wanted


def test_fork_while_threads_are_inside_calls(application: Application) -> None:
    """A child never inherits a lock that a thread of its parent holds."""
    stop = threading.Event()

    def work() -> None:
        own = Application()
        while not stop.is_set():
            own.put("Q1", b"x")
        own.manager.disconnect()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            assert true_in_child(puts_on_its_own)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert application.bodies("Q1").count(b"child") == 15
