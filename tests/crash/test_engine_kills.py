"""Processes of applications killed with SIGKILL in the middle of units of work: nothing is lost, nothing is doubled.

Workers are real processes that use pymqi. They tell the test of each step through a pipe, and the test kills them after
a random number of steps, so that the kill hits whatever the worker does next. $MQLITE_KILLS sets how many.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import BROWSE, INPUT, Application, home, make, refused, run_mqsc
from pymqi import CMQC

__all__ = ["home"]

KILLS = int(os.environ.get("MQLITE_KILLS", "12"))
MESSAGES = int(os.environ.get("MQLITE_KILL_MESSAGES", "300"))
MQSC = """\
DEFINE QLOCAL(IN) MAXDEPTH(100000)
DEFINE QLOCAL(OUT) MAXDEPTH(100000)
DEFINE QLOCAL(ALONE) NOSHARE
"""
HEAD = """
import os, random, sys
import pymqi
from pymqi import CMQC
chosen = random.Random(int(sys.argv[1]))
manager = pymqi.connect("QM1")
def step(): os.write(1, b".")
def opened(name, options): return pymqi.Queue(manager, name, options)
def get(queue): return queue.get(None, pymqi.MD(Version=2), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
def put(queue, body): queue.put(body, pymqi.MD(Version=2, Persistence=1), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
def wait(): step(); sys.stdin.read()
"""
MOVER = """
source, target = opened("IN", CMQC.MQOO_INPUT_SHARED), opened("OUT", CMQC.MQOO_OUTPUT)
while True:
    size = chosen.choice((1, 2, 7, 30))
    for _ in range(size):
        try:
            body = get(source)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            break
        step()
        put(target, body)
        step()
    if chosen.random() < 0.2:
        manager.backout()
    else:
        manager.commit()
    step()
"""


@pytest.fixture
def filled(home: Path) -> Iterator[Application]:
    """QM1 with MESSAGES numbered messages on IN."""
    make("QM1", MQSC)
    application = Application()
    for number in range(MESSAGES):
        application.put("IN", b"%06d" % number, Persistence=number % 2, options=CMQC.MQPMO_SYNCPOINT)
    application.manager.commit()
    yield application
    application.manager.disconnect()


@pytest.fixture
def worker() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts programs; none outlives the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(program: str, seed: int = 0) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", HEAD + program, str(seed)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()


def follow(process: subprocess.Popen[bytes], steps: int) -> None:
    """Return once the worker has done so many steps more."""
    assert process.stdout is not None
    done = len(process.stdout.read(steps))
    assert done == steps, f"the worker ended by itself ({process.wait()})"


def contents(application: Application, queue: str) -> list[tuple[bytes, int]]:
    """Body and BackoutCount of each message that can be seen, in order."""
    opened = application.open(queue, BROWSE)
    found: list[tuple[bytes, int]] = []
    while True:
        try:
            md, body = application.get(opened, CMQC.MQGMO_BROWSE_NEXT)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            opened.close()
            return found
        found.append((body, int(md.BackoutCount)))


def check_whole(application: Application) -> None:
    """Each message is in exactly one place, and the depths say so."""
    there = {queue: contents(application, queue) for queue in ("IN", "OUT")}
    bodies = Counter(body for found in there.values() for body, _ in found)
    assert bodies == Counter(b"%06d" % number for number in range(MESSAGES))
    for queue, found in there.items():
        assert application.depth(queue) == len(found), queue


def test_killed_movers_lose_and_double_nothing(filled: Application, worker: Any) -> None:
    chosen = random.Random(4711)
    movers = [worker(MOVER, seed) for seed in range(3)]
    for number in range(KILLS):
        place = number % len(movers)
        follow(movers[place], chosen.randrange(1, 120))
        kill(movers[place])
        movers[place] = worker(MOVER, 100 + number)
        follow(movers[place], 1)
    for mover in movers:
        kill(mover)
    check_whole(filled)
    move_back(filled)
    check_whole(filled)


def move_back(application: Application) -> None:
    """What is left can still be got and committed, every message of it."""
    source, target = application.open("OUT"), application.open("IN")
    for _ in range(application.depth("OUT")):
        md, body = application.get(source, CMQC.MQGMO_SYNCPOINT)
        target.put(body, pymqi.MD(Version=2, Persistence=md.Persistence), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    application.manager.commit()
    assert application.depth("OUT") == 0


def test_P07_messages_of_a_killed_unit_of_work_are_back_with_one_more_backout(filled: Application, worker: Any) -> None:
    for round_ in (1, 2):
        process = worker(
            'source, target = opened("IN", CMQC.MQOO_INPUT_SHARED), opened("OUT", CMQC.MQOO_OUTPUT)\n'
            "for _ in range(3): put(target, get(source))\n"
            "wait()"
        )
        follow(process, 1)
        assert filled.depth("IN") == MESSAGES - 3
        assert filled.depth("OUT") == 3
        kill(process)
        found = contents(filled, "IN")
        assert found[:4] == [(b"%06d" % number, round_ if number < 3 else 0) for number in range(4)]
        check_whole(filled)


def test_the_next_get_backs_out_for_the_dead(filled: Application, worker: Any) -> None:
    process = worker(f'source = opened("IN", CMQC.MQOO_INPUT_SHARED)\nfor _ in range({MESSAGES}): get(source)\nwait()')
    follow(process, 1)
    opened = filled.open("IN", INPUT)
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        filled.get(opened)
    kill(process)
    md, body = filled.get(opened)
    assert (body, md.BackoutCount) == (b"000000", 1)


def test_a_waiting_get_is_served_by_the_death_of_another(filled: Application, worker: Any) -> None:
    holder = worker(f'source = opened("IN", CMQC.MQOO_INPUT_SHARED)\nfor _ in range({MESSAGES}): get(source)\nwait()')
    follow(holder, 1)
    waiter = worker(
        'source = opened("IN", CMQC.MQOO_INPUT_SHARED)\n'
        "step()\n"
        "gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=CMQC.MQWI_UNLIMITED)\n"
        "assert source.get(None, pymqi.MD(), gmo) == b'000000'\n"
        "step()"
    )
    follow(waiter, 1)
    kill(holder)
    follow(waiter, 1)
    assert waiter.wait() == 0


def test_what_a_killed_process_held_is_free(filled: Application, worker: Any) -> None:
    process = worker(
        'alone = opened("ALONE", CMQC.MQOO_INPUT_EXCLUSIVE)\n'
        'source = opened("IN", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)\n'
        "source.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOCK))\n"
        'od = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"OF.THE.DEAD")\n'
        "own = pymqi.Queue(manager, od, CMQC.MQOO_INPUT_SHARED)\n"
        "wait()"
    )
    follow(process, 1)
    with refused(CMQC.MQRC_OBJECT_IN_USE):
        filled.open("ALONE", CMQC.MQOO_INPUT_EXCLUSIVE)
    assert contents(filled, "IN")[0] == (b"000001", 0)
    assert filled.depth("OF.THE.DEAD") == 0
    kill(process)
    Application().manager.disconnect()  # whoever connects clears up
    filled.open("ALONE", CMQC.MQOO_INPUT_EXCLUSIVE).close()
    assert contents(filled, "IN")[0] == (b"000000", 0)  # a lock is no unit of work: no backout counted
    with refused(CMQC.MQRC_UNKNOWN_OBJECT_NAME):
        filled.depth("OF.THE.DEAD")


def test_a_full_queue_has_room_again_after_the_death_of_a_putter(filled: Application, worker: Any) -> None:
    run_mqsc("DEFINE QLOCAL(SMALL) MAXDEPTH(5)")
    process = worker('target = opened("SMALL", CMQC.MQOO_OUTPUT)\nfor _ in range(5): put(target, b"x")\nwait()')
    follow(process, 1)
    with refused(CMQC.MQRC_Q_FULL):
        filled.put("SMALL", b"y")
    kill(process)
    filled.put("SMALL", b"y")
    assert filled.depth("SMALL") == 1
