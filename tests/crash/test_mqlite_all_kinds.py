"""Puts, gets, commits, channel batches and expiry scans in processes of their own, killed at random, all in one go.

MQLITE_CRASH_KILLS says how many kills; `make crash` has 200. Afterwards every message is in one place: no unit of work
is lost that its commit was told of, none is doubled, none is half there, and every message that expired was reported
once.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pytest
from mq_support import Manager, create
from mqlite_support import home, until

from mqlite.storage import service_lock

__all__ = ["home"]

KILLS = int(os.environ.get("MQLITE_CRASH_KILLS", "6"))
WORKER = Path(__file__).with_name("engine_worker.py")
KINDS = ("put", "move", "send", "expire", "browse")
SERVICES = ("A", "B")
EVERYBODY = (*KINDS, *SERVICES)
FOR_A = """\
DEFINE QLOCAL(IN) MAXDEPTH(999999)
DEFINE QLOCAL(OUT) MAXDEPTH(999999)
DEFINE QLOCAL(SHORT.LIVED) MAXDEPTH(999999)
DEFINE QLOCAL(REPORTS) MAXDEPTH(999999)
DEFINE QLOCAL(B) USAGE(XMITQ) MAXDEPTH(999999) TRIGGER TRIGTYPE(FIRST) INITQ(SYSTEM.CHANNEL.INITQ) TRIGDATA(A.TO.B)
DEFINE QREMOTE(FAR) RNAME(TARGET) RQMNAME(B) XMITQ(B)
DEFINE CHANNEL(A.TO.B) CHLTYPE(SDR) CONNAME('localhost(1414)') XMITQ(B) BATCHSZ(20) SHORTTMR(0) SHORTRTY(999999999)
ALTER QMGR EXPRYINT(1)
"""
FOR_B = """\
DEFINE QLOCAL(TARGET) MAXDEPTH(999999)
DEFINE CHANNEL(A.TO.B) CHLTYPE(RCVR)
"""


class Estate:
    """Queue managers A (z/OS-like, so that it has EXPRYINT) and B, their services, and one worker of each kind."""

    def __init__(self, home: Path) -> None:
        self.acknowledged = home / "told"
        self.acknowledged.touch()
        self.managers = {"A": create(home, "A", FOR_A, platform="zos"), "B": create(home, "B", FOR_B)}
        self.workers: dict[str, subprocess.Popen[str]] = {}
        self.started = 0
        for name in SERVICES:
            self.managers[name].mqlite("start", name)
        self.begin(KINDS)

    @property
    def sender(self) -> Manager:
        return self.managers["A"]

    def begin(self, kinds: Iterable[str]) -> None:
        """Start workers; what each puts has a name of its own."""
        started = []
        for kind in kinds:
            self.started += 1
            command = [sys.executable, str(WORKER), kind, f"{kind}{self.started}", str(self.acknowledged)]
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.sender.environment)
            self.workers[kind] = worker
            started.append(worker)
        for worker in started:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "working\n"

    def end(self, kinds: Iterable[str]) -> None:
        """Kill workers, none of which has ended by itself."""
        ended = {kind: self.workers.pop(kind) for kind in kinds}
        for worker in ended.values():
            worker.kill()
        for kind, worker in ended.items():
            worker.communicate()
            assert worker.returncode == -signal.SIGKILL, kind

    def kill(self, victims: Collection[str]) -> None:
        """Kill workers and services of queue managers, and start others."""
        for name in SERVICES:
            if name in victims:
                folder = self.managers[name].home / name
                os.kill(service_lock.holder(folder), signal.SIGKILL)
                service_lock.wait_until_ended(folder)
        kinds = [kind for kind in KINDS if kind in victims]
        self.end(kinds)
        for name in SERVICES:
            if name in victims:
                self.managers[name].mqlite("start", name)
        self.begin(kinds)

    def under_way(self) -> dict[str, tuple[int, bool]]:
        """The queues on the way that are not empty → their messages, and whether a unit of work has some: who holds
        them may put them back, and CURDEPTH does not count them.
        """
        found = {queue: self._status(queue) for queue in ("IN", "OUT", "B", "SHORT.LIVED")}
        return {queue: one for queue, one in found.items() if one != (0, False)}

    def _status(self, queue: str) -> tuple[int, bool]:
        shown = self.sender.mqlite("mqsc", "A", text=f"DISPLAY QSTATUS({queue}) CURDEPTH UNCOM\n")
        (depth,) = re.findall(r"CURDEPTH\((\d+)\)", shown)
        return int(depth), "UNCOM(NO)" not in shown


@pytest.fixture
def estate(home: Path) -> Iterator[Estate]:
    home.mkdir()
    made = Estate(home)
    yield made
    for worker in made.workers.values():
        worker.kill()
        worker.communicate()
    for name, manager in made.managers.items():
        if service_lock.holder(manager.home / name):
            manager.mqlite("end", name)


def check(bodies: list[bytes], acknowledged: set[str]) -> None:
    """All of a unit of work or nothing of it, each message once, and all of those whose commit returned."""
    units: dict[str, list[int]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for body in bodies:
        name, unit, number, size = body.decode().split("/")
        units[f"{name}/{unit}"].append(int(number))
        sizes[f"{name}/{unit}"] = int(size)
    assert {unit: sorted(numbers) for unit, numbers in units.items()} == {
        unit: list(range(size)) for unit, size in sizes.items()
    }
    assert acknowledged <= units.keys()


def test_killed_at_random_in_all_kinds_of_work(estate: Estate) -> None:
    chance = random.Random(os.environ.get("PYTEST_SEED", "all kinds"))
    killed: Counter[str] = Counter()
    while killed.total() < KILLS:
        time.sleep(chance.uniform(0.005, 0.3))  # the moment of death is what is tried
        victims = chance.sample(EVERYBODY, min(chance.randint(1, 4), KILLS - killed.total()))
        estate.kill(victims)
        killed.update(victims)
    estate.end(("put", "expire"))
    while before := estate.under_way():  # a slow machine has more to drain: each step is waited for
        until(lambda before=before: estate.under_way() != before)
    acknowledged = set(estate.acknowledged.read_text().split())
    arrived = estate.managers["B"].bodies("TARGET")
    reported = estate.sender.bodies("REPORTS")
    print(f"killed: {dict(killed)}; {len(arrived)} messages arrived, {len(reported)} expired and were reported")
    assert arrived
    assert reported
    check(arrived, {unit for unit in acknowledged if unit.startswith("put")})
    check(reported, {unit for unit in acknowledged if unit.startswith("expire")})
    assert estate.managers["B"].depth("SYSTEM.DEAD.LETTER.QUEUE") == 0
