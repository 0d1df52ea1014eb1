"""A year of runs without a person who cleans up: all workflows of the command line in turn, with a retention, new keys,
closed segments of the ledger, other versions of the estate, ends of the queue manager and killed runs between them.

At the end each message that was put is in exactly one place, or the ledger says that it was discarded; the ledger
verifies; the lake has no more snapshots than its policy keeps; this process has not grown. MQOPS_YEAR_RUNS says how
many runs (`make full`: 10,000). Where MQOPS_YEAR_BESIDE says how many runs lie between two, Airflow and a Spark Connect
server work on the same lake (`crash.year_beside`), and have not grown either. Figures are printed (`pytest -s`).
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pymqi
import pytest
from click.testing import CliRunner
from crash.year_beside import MOST_GROWTH as MOST_GROWTH_BESIDE
from crash.year_beside import Beside, beside
from mq_support import DLQ, Manager, create, dead_letter, let_expire
from pymqi import CMQC

from mqops.cli import main
from mqops.lake.files import size_of
from mqops.ledger import segments
from mqops.ledger.file import LedgerFile

RUNS = int(os.environ.get("MQOPS_YEAR_RUNS", "8"))
BESIDE = int(os.environ.get("MQOPS_YEAR_BESIDE", "0"))
SEED = int(os.environ.get("MQOPS_YEAR_SEED", "0")) or random.randrange(1_000_000)
SELDOM = RUNS // 200
EACH = {"prune": 5, "estate": 3, "consume": 9} | {
    name: max(SELDOM, few) for name, few in {"rekey": 6, "restart": 7, "kill": 8}.items()
}
"""What happens beside the runs → each so many runs."""
MOST_GROWTH = 64 << 20
"""Bytes by which this process may grow behind the first quarter of many runs."""
MANY = 400
"""Runs of which a quarter has loaded all that is loaded once."""
KEPT = 60 if BESIDE else 40
"""Snapshots that the policy keeps at most: the newest of each workflow and queue, and the runs since the last pass."""
KILLED = 30
"""Messages of a run that is killed, each in a unit of work of its own, as many a second."""
QUEUES = """\
DEFINE QLOCAL(A) MAXDEPTH(999999)
DEFINE QLOCAL(B) MAXDEPTH(999999)
DEFINE QLOCAL(IN) MAXDEPTH(999999) BOTHRESH(2) BOQNAME(IN.BOQ)
DEFINE QLOCAL(IN.BOQ) MAXDEPTH(999999)
DEFINE QLOCAL(MQOPS.QUARANTINE) MAXDEPTH(999999)
DEFINE QLOCAL(OFFERS) MAXDEPTH(999999)
DEFINE QLOCAL(MQOPS.INITQ)
"""
PLACES = (DLQ, "A", "B", "IN", "IN.BOQ", "MQOPS.QUARANTINE", "OFFERS")
CONSUMED = ("B", "IN", "MQOPS.QUARANTINE")
OWN = re.compile(rb"[A-Za-z]+ \d{6}$")
"""What this test wrote into a message, also behind an MQDLH."""
RULES = "DESTQ(A) ACTION(RETRY)\nDESTQ(WORTHLESS) ACTION(DISCARD)\nACTION(FWD) FWDQ(B) HEADER(NO)\n"


@dataclass
class Year:
    """Attributes: `put` the body of each message; of them `expired` that the queue manager discards, `discarded` that
    the rules do, and `consumed` that a program got."""

    manager: Manager
    folder: Path
    chance: random.Random
    put: list[bytes] = field(default_factory=list)
    expired: set[bytes] = field(default_factory=set)
    discarded: set[bytes] = field(default_factory=set)
    consumed: Counter[bytes] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)

    def body(self, kind: str) -> bytes:
        self.put.append(b"%s %06d" % (kind.encode(), len(self.put)))
        return self.put[-1]

    def command(self, *words: str, expect: tuple[int, ...] = (0,), text: str = "") -> Any:
        done = CliRunner().invoke(main, [*words, "--json"], input=text)
        assert done.exit_code in expect, (words, SEED, done.output, done.exception)
        return json.loads(done.stdout) if done.stdout else None

    # the workflows

    def dead_letters(self) -> None:
        letters = [(name, self.body(name)) for name in self.chance.choices(["A", "WORTHLESS", "GONE"], k=3)]
        self.discarded |= {body for name, body in letters if name == "WORTHLESS"}
        self.manager.put(DLQ, [dead_letter(name, body) for name, body in letters])
        self.balanced(self.command("dlq", "run", DLQ, "QM1", "--once", text=RULES, expect=(0, 1)))

    def backout(self) -> None:
        self.manager.put("IN.BOQ", [({}, self.body("poison"))])
        found = self.command("backout", "run", "IN.BOQ", "-m", "QM1", text="ACTION(FWD) FWDQ(IN)\n", expect=(0, 1))
        self.balanced(found)

    def scan(self) -> None:
        body = self.body("offer")
        self.expired.add(body)
        self.manager.put("OFFERS", [({"Expiry": 1}, body)])
        let_expire(1)
        self.command("expiry", "scan", "OFFERS", "-m", "QM1", expect=(0, 1))

    def moved(self) -> None:
        self.manager.put("A", [({}, self.body("moved"))])
        self.balanced(self.command("message", "move", "A", "--to", "B", "--all", "-m", "QM1", "--yes", expect=(0, 1)))

    def undone(self) -> None:
        self.moved()
        self.balanced(self.command("undo", self.last_run("recover"), "--yes", expect=(0, 1)))

    def guard(self) -> None:
        self.command("backout", "guard", "-m", "QM1", "--yes", expect=(0, 1))

    def look(self) -> None:
        self.command("snapshot", DLQ, "-m", "QM1")

    def dry(self) -> None:
        self.command("message", "move", "B", "--to", "A", "--all", "-m", "QM1", "--dry-run", expect=(0, 1))

    def last_run(self, workflow: str) -> str:
        return str(self.runs("--workflow", workflow, "--limit", "1")[0]["run"])

    def runs(self, *which: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.command("runs", "-m", "QM1", *which)["runs"]
        return found

    def balanced(self, found: Any) -> None:
        for one in found if isinstance(found, list) else [found]:
            summary = one.get("summary", one) if isinstance(one, dict) else {}
            assert summary.get("balanced", True), (SEED, found)

    # beside them

    def consume(self) -> None:
        """The programs get what waits for them: a run of December has no more to look at than one of January."""
        with self.manager.connected() as program:
            for queue in CONSUMED:
                handle = pymqi.Queue(program, queue, CMQC.MQOO_INPUT_SHARED)
                for _ in range(self.manager.depth(queue)):
                    self.consumed.update(OWN.findall(handle.get()))
                handle.close()

    def prune(self) -> None:
        policy = ("--snapshots", "1s", "--plans", "1s", "--runs", "1s", "--undo", "1s")
        found = self.command("lake", "prune", "QM1", *policy)
        self.done["runs pruned"] += found["queue_managers"][0]["runs"]

    def rekey(self) -> None:
        self.command("ledger", "rekey", "QM1")

    def estate(self) -> None:
        self.done["estates"] += 1
        text = f"lake: {self.folder / 'lake'}\nqueue_managers:\n  QM1:\n    connection: mq_qm1\n    storage: [B"
        (self.folder / "estate.yaml").write_text(f"{text}, OTHER.{self.done['estates']}]\n")
        self.command("estate", "check", str(self.folder / "estate.yaml"), expect=(0, 1))

    def restart(self) -> None:
        self.manager.mqlite("start", "QM1")
        self.manager.mqlite("end", "QM1")

    def kill(self) -> None:
        """A run of many units of work in a process of its own, killed in the middle; the next run finishes it."""
        self.manager.put("A", [({}, self.body("killed")) for _ in range(KILLED)])
        before, known = self.manager.depth("B"), set(self.run_folders())
        moved = self.chance.randrange(1, KILLED - 5)
        reached = {
            "a snapshot": lambda: self.new_run_has(known, "observe.json"),
            "begun": lambda: self.new_run_has(known, "issued.json"),
            "moving": lambda: self.manager.depth("B") >= before + moved,
            "moved": lambda: self.new_run_has(known, "act.json"),
        }
        marker = self.chance.choice(list(reached))
        words = ["message", "move", "A", "--to", "B", "--all", "-m", "QM1", "--yes", "--unit-size", "1"]
        command = [sys.executable, "-m", "mqops.cli", *words, "--pace", str(KILLED)]
        with subprocess.Popen(command, env=dict(os.environ), stdout=-3, stderr=-3) as process, ExitStack() as held:

            def wait(moment: Callable[[], bool]) -> None:
                while process.poll() is None and not moment():
                    pass

            if marker in {"moving", "moved"}:
                wait(lambda: self.manager.depth("B") > before)
                held.enter_context(LedgerFile(self.folder / "lake" / "QM1").lock())  # the proof waits, so it cannot end
            wait(reached[marker])
            process.send_signal(signal.SIGKILL)
        self.done[f"killed: {marker}"] += process.returncode == -signal.SIGKILL
        self.done["killed"] += process.returncode == -signal.SIGKILL
        for run in self.runs("--state", "begun", "--state", "unfinished"):
            self.command("resume", run["run"], "-m", "QM1", "--finish", expect=(0, 1))

    def run_folders(self) -> Iterator[Path]:
        return (self.folder / "lake" / "QM1" / "runs").glob("*")

    def new_run_has(self, known: set[Path], name: str) -> bool:
        return any((run / name).exists() for run in self.run_folders() if run not in known)

    # the end

    def snapshots(self) -> int:
        return len(list((self.folder / "lake" / "QM1" / "runs").glob("*/snapshot")))

    def is_accounted_for(self) -> None:
        """Each message is in one place or was consumed, once, but those that expired and those that rules discard."""
        there = Counter(found for queue in PLACES for body in self.manager.bodies(queue) for found in OWN.findall(body))
        ended = self.expired | self.discarded
        assert there + self.consumed == Counter(body for body in self.put if body not in ended), SEED


@pytest.fixture
def processes(year: Year) -> Iterator[Beside | None]:
    """What works beside the year, None without it."""
    if not BESIDE:
        yield None
        return
    with beside(year.folder / "beside", year.manager.home, year.folder / "lake", RULES) as found:
        yield found


@pytest.fixture
def year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Year:
    (tmp_path / "home").mkdir(mode=0o700)
    manager = create(tmp_path / "home", "QM1", QUEUES)
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    monkeypatch.setattr(segments, "SEGMENT_SIZE", 20_000)
    return Year(manager, tmp_path, random.Random(SEED))


def keep_nothing_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would keep all output of a year in this process, and is not there in one that runs a command: click keeps
    each stream to which it has written, `CliRunner` makes one for each command, and pytest keeps each log record (of
    loggers that do not propagate before the test begins, too)."""
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(f"click.utils._default_text_{name}", partial(getattr, sys, name))
    monkeypatch.setattr(logging.getLogger("mqops"), "propagate", False)


def test_a_year_of_runs_is_accounted_for_and_nothing_grows(
    year: Year, processes: Beside | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_nothing_of_commands(monkeypatch)
    print(f"seed {SEED}")
    workflows = (year.dead_letters, year.backout, year.scan, year.moved, year.undone, year.guard, year.look, year.dry)
    memory, most = 0, 0
    for number in range(RUNS):
        workflow = workflows[number % len(workflows)]
        workflow()
        year.done[workflow.__name__] += 1
        for name, each in EACH.items():
            if number % each == each - 1:
                getattr(year, name)()
                year.done[name] += 1
        if processes and number % BESIDE == BESIDE - 1:
            processes.step()
        most = max(most, year.snapshots())
        if number == RUNS // 4:
            memory = psutil.Process().memory_info().rss
    year.moved()  # finishes what was killed last
    year.is_accounted_for()
    assert CliRunner().invoke(main, ["ledger", "verify", "QM1"]).exit_code == 0
    grown = psutil.Process().memory_info().rss - memory
    lake = size_of(year.folder / "lake" / "QM1" / "runs")
    closed = len(list((year.folder / "lake" / "QM1" / "ledger").rglob("*.jsonl*")))
    print(
        f"{dict(year.done)}; {len(year.put):,} messages; {closed} segments; at most {most} snapshots at once; "
        f"{lake:,} bytes in folders of runs; this process grew by {grown / 2**20:.1f} MiB"
    )
    if processes:
        print(processes.told())
        assert processes.failed == []
        grew = {name: after - before for name, (before, after) in processes.growth().items()}
        assert {name: by for name, by in grew.items() if by > MOST_GROWTH_BESIDE[name]} == {}
    assert year.done["killed"] * 2 >= year.done["kill"]
    assert most <= KEPT
    assert RUNS < MANY or grown < MOST_GROWTH, f"this process grew by {grown:,} bytes"
