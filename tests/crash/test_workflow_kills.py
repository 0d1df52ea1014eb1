"""Law 1 over the whole workflow: any process of observe, decide, act or prove is killed with -9 at any moment.

After each kill comes a next run: another pass of the command, the same run taken up again, or a run by Spark (driver,
JVM, workers, and what starts them), in the second test by clients of a Spark Connect server, whose JVM and workers are
killed, too. New messages arrive all the time. MQOPS_WORKFLOW_KILLS and MQOPS_CONNECT_KILLS say how often is killed
(`make crash`: 100 and 30). The moments and victims are random. The seed is printed; MQOPS_CRASH_SEED gives it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cold_spark_connect
import commands
import psutil
import pytest
from crash.test_kill_nine import DESTINATIONS, QUEUES, SEED, check_places, family, keys_of, kill_one, run_until, verify
from crash.workflow_chain import FINISH
from mq_support import DLQ, Manager, dead_letter
from spark_support import ENVIRONMENT

from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.spark_private import TOKEN_FILE
from mqops_demo import spark_connect
from mqops_demo.airflow_home import free_port

KILLS = int(os.environ.get("MQOPS_WORKFLOW_KILLS", "3"))
CONNECT_KILLS = int(os.environ.get("MQOPS_CONNECT_KILLS", "2"))
BATCH = 300
"""Messages that arrive when there are fewer than half as many left."""
CHAIN = Path(__file__).with_name("workflow_chain.py")
RULES = """\
DESTQ(DROP) ACTION(DISCARD)
DESTQ(PARK) ACTION(FWD) FWDQ(PARKED) HEADER(YES)
ACTION(RETRY) RETRY(2)
ACTION(FWD) FWDQ(PARKED) HEADER(YES)
"""
TARGETS = [name for name in DESTINATIONS if name != "AGAIN"]
WITH_FAILURES = '"finished": true, "balanced": true'
"""What a pass says that ends with 1 because puts failed: those on SHUT and MISSING."""
STEPS = ("start", "observe", "decide", "act", "prove", "end")
BUSY = ("InProgress", "Another process", "by another process", "has a snapshot already")
"""What a run says that meets another one, or what a killed one left: work that is not backed out yet, or a job that
goes on without whoever started it, and finishes the snapshot that the next one was about to make.
"""


@dataclass
class Site:
    """The queue manager, the lake, and what was started and put so far."""

    manager: Manager
    folder: Path
    dice: random.Random
    before: Counter[bytes] = field(default_factory=Counter)
    seconds: dict[str, float] = field(
        default_factory=lambda: {"command": 3.0, "again": 3.0, "spark": 40.0, "connect": 20.0}
    )
    server: subprocess.Popen[bytes] | None = None
    port: int = 0
    left_alone: list[psutil.Process] = field(default_factory=list)
    started: int = 0
    current: RunFolder | None = None
    earlier: set[Path] = field(default_factory=set)

    @property
    def runs(self) -> list[RunFolder]:
        found = (self.folder / "lake" / "QM1" / "runs").glob("*")
        return [RunFolder(path) for path in sorted(found)]

    @property
    def unfinished(self) -> list[RunFolder]:
        """Runs with a plan that were not proved to be finished."""
        planned = [run for run in self.runs if run.plan_json.exists()]
        return [
            one
            for one in planned
            if not (
                one.path.joinpath("summary.json").exists() and read_json(one.path.joinpath("summary.json"))["finished"]
            )
        ]

    def fill(self) -> None:
        """Messages arrive; one in twenty has the identifiers of the one before."""
        if self.manager.depth(DLQ) >= BATCH // 2:
            return
        first = self.before.total()
        messages = []
        for number in range(first, first + BATCH):
            same = {"MsgId": b"%024d" % (number - number % 20), "CorrelId": b"c" * 24} if number % 20 in {0, 1} else {}
            messages.append(dead_letter(TARGETS[number % len(TARGETS)], b"message %d" % number, **same))
        self.manager.put(DLQ, messages)
        self.before.update(body[172:] for _md, body in messages)

    def start(self, kind: str) -> subprocess.Popen[bytes]:
        """Start a run: a pass of the command, one that is not finished again (act and prove), or one by Spark."""
        rules = self.folder / "table.rules"
        rules.write_text(RULES)
        lake = self.folder / "lake"
        self.earlier, self.current = {run.path for run in self.runs}, None
        if kind == "command":
            command = ["-m", "mqops.cli", "dlq", "run", "--once", DLQ, "QM1", "--rules", str(rules)]
            command += ["--lake", str(lake), "--unit-size", "10", "--json"]
        elif kind == "again":
            self.current = self.dice.choice(self.unfinished)
            command = ["-c", FINISH, str(self.current.path), "act"]
        else:
            mine = [
                run
                for run in self.runs
                if run.run.startswith("spark") and not run.path.joinpath("summary.json").exists()
            ]
            self.current = mine[-1] if mine else RunFolder.at(lake, "QM1", f"spark{self.started}")
            command = [str(CHAIN), str(self.current.path), str(rules), DLQ]
        self.started += 1
        environment = {
            **self.manager.environment,
            **ENVIRONMENT,
            "MQOPS_CONNECTION": self.manager.connection.to_json(),
        }
        if kind == "connect":
            self.until_served(lambda: spark_connect.answers(self.port))
            token_file = str(self.folder / "spark" / spark_connect.TOKEN_FILE)
            environment |= {"SPARK_REMOTE": f"sc://localhost:{self.port}", TOKEN_FILE: token_file}
        with self.log.open("wb") as log:
            return commands.Command([sys.executable, *command], env=environment, stdout=log, stderr=log)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.started}.log"

    def ended_well(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether a run that nobody killed did its work; it may meet another one, and nothing else."""
        said = self.log.read_text(errors="replace")
        done = process.returncode == 0 or (process.returncode == 1 and WITH_FAILURES in said)
        assert done or any(word in said for word in BUSY), said[-3000:]
        return done

    def stage(self) -> str:
        """The step that the run just started is at."""
        run = self.current or next((run for run in self.runs if run.path not in self.earlier), None)
        if run is None:
            return STEPS[0]
        files = {
            "observe": run.path.joinpath("observe.json"),
            "decide": run.plan_json,
            "act": run.path.joinpath("act.json"),
            "prove": run.path.joinpath("summary.json"),
        }
        return next((step for step, file in files.items() if not file.exists()), STEPS[-1])

    def kill(self, kind: str) -> str:
        """Start a run and kill one of its processes at a moment of a random step; "" where it had ended before."""
        begun = time.monotonic()
        process = self.start(kind)
        step = self.dice.choice(STEPS)
        reached = run_until(process, lambda: self.looks() >= STEPS.index(step))
        moment = time.monotonic() + self.dice.random() * self.seconds[kind] / len(STEPS)
        if not (reached and run_until(process, lambda: time.monotonic() >= moment)):
            self.seconds[kind] = time.monotonic() - begun
            self.ended_well(process)
            return ""
        stage = self.stage()
        self.left_alone += family(process)
        return f"{kind} in {stage}: {kill_one(process, self.dice, self.of_server() if kind == 'connect' else [])}"

    def of_server(self) -> list[psutil.Process]:
        """The JVM of the Spark Connect server and its Python workers; not the process that starts it again."""
        assert self.server is not None
        return family(self.server)[1:]

    def until_served(self, condition: Callable[[], bool]) -> None:
        """Wait for the Spark Connect server, as long as there is somebody who starts it."""
        assert self.server is not None
        while not condition():
            assert self.server.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.1)

    def looks(self) -> int:
        """The number of the step that the run is at; with a pause, because this is asked in a loop."""
        time.sleep(0.02)
        return STEPS.index(self.stage())

    def work_to_the_end(self) -> None:
        """Runs that nobody kills, until the dead-letter queue is empty and every run is finished and proved."""
        psutil.wait_procs(self.left_alone)
        while self.manager.depth(DLQ):
            process = self.start("command")
            process.wait()
            self.ended_well(process)
        while self.unfinished:
            process = self.start("again")
            process.wait()
            self.ended_well(process)


@pytest.fixture
def site(queue_manager, tmp_path) -> Site:
    print(f"MQOPS_CRASH_SEED={SEED}")
    return Site(manager=queue_manager(mqsc=QUEUES), folder=tmp_path, dice=random.Random(SEED))


def kinds(site: Site) -> Iterator[str]:
    """One run in ten by Spark, which takes longest; the others by the command or taken up again."""
    while True:
        if site.started % 10 == 2:
            yield "spark"
        else:
            yield "again" if site.unfinished and site.dice.random() < 0.4 else "command"


@pytest.fixture
def connect_site(site: Site) -> Iterator[Site]:
    """With a Spark Connect server, started as `make up` starts it, but not warmed up: it is killed."""
    site.port, listener = free_port(spark_connect.FIRST_PORT)
    command = [*cold_spark_connect.COMMAND, str(site.folder / "spark"), str(site.port)]
    command.append(f"--listener={listener}")
    with (site.folder / "server.log").open("wb") as log:
        site.server = subprocess.Popen(
            command,
            env=spark_connect.environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[listener],
        )
    try:
        site.until_served(lambda: "listens on" in (site.folder / "server.log").read_text())
        yield site
    finally:
        os.killpg(site.server.pid, signal.SIGTERM)
        site.server.wait()
        os.close(listener)


def test_law1_any_process_of_the_workflow_is_killed_and_the_next_run_finishes_the_work(site):
    killed: Counter[str] = Counter()
    for kind in kinds(site):
        site.fill()
        if victim := site.kill(kind):
            killed[victim] += 1
        if killed.total() == KILLS:
            break
    finished(site, killed)


def test_law1_a_spark_connect_server_its_workers_and_its_clients_are_killed(connect_site):
    site, killed = connect_site, Counter()
    while killed.total() < CONNECT_KILLS:
        site.fill()
        if victim := site.kill("again" if site.unfinished and site.dice.random() < 0.2 else "connect"):
            killed[victim] += 1
            print(time.strftime("%X"), victim, flush=True)
    finished(site, killed)


def finished(site: Site, killed: Counter[str]) -> None:
    """Runs that nobody kills do the rest. Then nothing is lost or doubled, and every run balances."""
    site.work_to_the_end()
    print(
        f"{killed.total()} kills in {site.started} runs, {site.before.total()} messages: {dict(sorted(killed.items()))}"
    )
    markers = verify(site.runs[0])
    keys = {
        key: bodies
        for run in site.runs
        if run.path.joinpath("observe.json").exists()
        for key, bodies in keys_of(run).items()
    }
    check_places(site.manager, site.before, markers, keys)
    for mine in {(marker.run, marker.plan) for marker in markers}:
        assert not account(marker for marker in markers if (marker.run, marker.plan) == mine).problems
    for run in site.runs:
        if run.plan_json.exists():
            assert read_json(run.path.joinpath("summary.json"))["balanced"], run
    assert site.manager.depth("MQOPS.LEDGER") == 0
