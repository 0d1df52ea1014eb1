"""Law 1: while a plan is acted on, any process is killed with -9 at any moment; every message is in exactly one place.

Small by default. MQOPS_CRASH_MESSAGES and MQOPS_CRASH_KILLS make it larger (`make crash`: 20,000 messages, 20 kills).
The moments are random; the seed is printed and can be given again as MQOPS_CRASH_SEED.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import commands
import psutil
import pymqi
import pytest
from ledger_opened import prove
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC
from spark_support import ENVIRONMENT

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.errors import InProgress
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile
from mqops.model import RunSummary
from mqops.rules import parse

MESSAGES = int(os.environ.get("MQOPS_CRASH_MESSAGES", "960"))
KILLS = int(os.environ.get("MQOPS_CRASH_KILLS", "3"))
SEED = int(os.environ.get("MQOPS_CRASH_SEED", str(random.randrange(1_000_000))))
UNIT_SIZE = max(1, MESSAGES // (160 * KILLS))
"""So that there are many units of work to die in: before a kill come 39 at most, and some until it has come to all."""
KINDS = ("driver", "JVM", "worker")
ACT_JOB = Path(__file__).resolve().parents[2] / "spark_jobs" / "act.py"

TARGETS = [f"T{number}" for number in range(6)]
QUEUES = "".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999)\n" for name in (*TARGETS, "PARKED"))
QUEUES += f"DEFINE QLOCAL(SMALL) MAXDEPTH({MESSAGES // 20})\nDEFINE QLOCAL(SHUT) PUT(DISABLED)\n"
RULES = f"""\
DESTQ(DROP) ACTION(DISCARD)
DESTQ(PARK) ACTION(FWD) FWDQ(PARKED) HEADER(YES)
DESTQ(AGAIN) ACTION(FWD) FWDQ({DLQ}) HEADER(YES)
ACTION(RETRY)
"""
DESTINATIONS = [*TARGETS, *TARGETS, "SMALL", "SHUT", "MISSING", "DROP", "PARK", "AGAIN"]


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def dice() -> random.Random:
    print(f"MQOPS_CRASH_SEED={SEED}")
    return random.Random(SEED)


def fill(manager: Manager) -> Counter[bytes]:
    """Dead-letter messages for all kinds of destinations; one in twenty has the identifiers of the one before."""
    messages = []
    for number in range(MESSAGES):
        same = {"MsgId": b"%024d" % (number - number % 20), "CorrelId": b"c" * 24} if number % 20 in {0, 1} else {}
        messages.append(dead_letter(DESTINATIONS[number % len(DESTINATIONS)], b"message %d" % number, **same))
    manager.put(DLQ, messages)
    return Counter(body[172:] for _md, body in messages)


class Watch:
    """Sees how many messages are on the dead-letter queue and how many markers were written."""

    def __init__(self, manager: Manager) -> None:
        self._connection = pymqi.connect(manager.name)
        self._queues = {name: pymqi.Queue(self._connection, name, CMQC.MQOO_INQUIRE) for name in (DLQ, "MQOPS.LEDGER")}

    def depth(self, queue: str) -> int:
        return int(self._queues[queue].inquire(CMQC.MQIA_CURRENT_Q_DEPTH))

    def close(self) -> None:
        self._connection.disconnect()


def further(watch: Watch, dice: random.Random) -> Callable[[], bool]:
    """A moment: when some more units of work have been committed (each leaves a marker on the queue).

    They are counted from now, or from when a process has brought the markers of an earlier one into the ledger.
    """
    lowest, more = watch.depth("MQOPS.LEDGER"), dice.randrange(1, 40)

    def reached() -> bool:
        nonlocal lowest
        there = watch.depth("MQOPS.LEDGER")
        lowest = min(lowest, there)
        return there >= lowest + more

    return reached


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """A process and all it has started, oldest first."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        return [parent, *parent.children(recursive=True)]
    return []


def run_until(process: subprocess.Popen[bytes], reached: Callable[[], bool], pause: float = 0.004) -> bool:
    """Wait for a moment, asked for every `pause` seconds; False where the process ended before."""
    while process.poll() is None:
        if reached():
            return True
        time.sleep(pause)
    return False


def kill_one(process: subprocess.Popen[bytes], dice: random.Random, server: Sequence[psutil.Process] = ()) -> str:
    """Kill one of a process's family, or one of `server`, with -9 and wait until the process itself has ended."""
    mine, victims = True, family(process)
    if server and dice.random() < 0.7:
        mine, victims = False, dice.choice([server[:1], server])
    if not victims:
        return "nobody"
    victim = dice.choice(victims)
    name = "?"
    with suppress(psutil.NoSuchProcess):
        name = "driver" if victim.pid == process.pid else victim.name() if mine else f"server's {victim.name()}"
        victim.kill()
    process.wait()
    return name


def kill_kind(kind: str, process: subprocess.Popen[bytes], manager: Manager, dice: random.Random) -> bool:
    """Kill one of a Spark job's processes with -9: its driver, its JVM, or a Python worker that has a connection.

    False where there is none of this kind just now. A job without driver or JVM ends, which is waited for; one that
    lost a worker may find that the worker had done its part, and go on.
    """
    driver, *others = family(process) or [None]
    victims = {
        "driver": lambda: [driver] if driver else [],
        "JVM": lambda: [one for one in others if one.name() == "java"],
        "worker": lambda: [one for one in others if any(at_work_on(manager, file.path) for file in one.open_files())],
    }
    with suppress(psutil.NoSuchProcess):
        if found := victims[kind]():
            dice.choice(found).kill()
            return kind == "worker" or process.wait() == -signal.SIGKILL or kind == "JVM"
    return False


def at_work_on(manager: Manager, file: str) -> bool:
    return Path(file).is_relative_to(manager.home / manager.name)


def places(manager: Manager) -> dict[str, Counter[bytes]]:
    """Queue → the messages on it, told by their bodies without MQDLH."""
    queues = (*TARGETS, "SMALL", "SHUT", "PARKED", DLQ)
    found = {}
    for queue in queues:
        bodies = (body[172:] if body.startswith(b"DLH ") else body for body in manager.bodies(queue))
        found[queue] = Counter(bodies)
    return found


def check_places(manager: Manager, before: Counter[bytes], markers: list[Marker], keys: dict[str, list[bytes]]) -> None:
    """Every message is in one place, and the ledger says which."""
    now = places(manager)
    recorded: dict[str, Counter[str]] = {}
    for marker in markers:
        for _row, key, _id, action, _rule, dest_q, *_rest in marker.rows if marker.kind == "acted" else ():
            recorded.setdefault("" if action == "DISCARD" else dest_q, Counter())[key] += 1
    dropped = Counter(message for key in recorded.get("", Counter()) for message in keys[key])
    assert sum(now.values(), dropped) == before
    assert set(dropped.values()) <= {1}
    for queue, found in now.items():
        if queue != DLQ:
            in_ledger = Counter(message for key in recorded.get(queue, Counter()) for message in keys[key])
            assert in_ledger == found, queue


def keys_of(run: RunFolder) -> dict[str, list[bytes]]:
    """msg_key → bodies behind the MQDLH, from the snapshot."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pq.read_table(run.snapshot, columns=["msg_key", "body"])
    return {row["msg_key"]: [row["body"][172:]] for row in table.to_pylist()}


def proved(manager: Manager, run: RunFolder, by: Callable[..., RunSummary] = prove) -> RunSummary:
    """Prove (or go on), waiting for what a killed process left to be backed out."""
    for _ in range(100):
        try:
            return by(manager.connection, run)
        except InProgress:
            time.sleep(0.1)
    raise AssertionError("the run stays in progress")


def kill_prove(manager: Manager, run: RunFolder, dice: random.Random) -> None:
    """Kill prove while it drains, at a few different lines of the ledger."""
    code = (
        "import sys; from pathlib import Path; from mqops.mq.connection import MqConnection; "
        "from mqops.lake.run import RunFolder; from mqops.ledger.file import LedgerFile; "
        "from mqops.prove.prove import prove; run = RunFolder(Path(sys.argv[1])); "
        "prove(MqConnection.from_environment(), run, file=LedgerFile(run.lake_folder))"
    )
    ledger = run.lake_folder / "ledger" / "ledger.jsonl"
    environment = {**manager.environment, "MQOPS_CONNECTION": manager.connection.to_json()}
    for _ in range(3):
        size = ledger.stat().st_size if ledger.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", code, str(run.path)], env=environment)
        run_until(process, lambda size=size: ledger.exists() and ledger.stat().st_size > size)
        kill_one(process, dice)


def verify(run: RunFolder) -> list[Marker]:
    """The ledger's chain is whole; gives its markers."""
    return [Marker.from_json(entry) for entry in LedgerFile(run.lake_folder, str).entries()]


def spark_act(manager: Manager, run: RunFolder) -> subprocess.Popen[bytes]:
    environment = {
        **manager.environment,
        **ENVIRONMENT,
        "MQOPS_CONNECTION": manager.connection.to_json(),
    }
    command = [sys.executable, str(ACT_JOB), "--run", str(run.path), "--unit-size", str(UNIT_SIZE), "--lanes", "4"]
    with (run.path.parent / "act.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def test_law1_spark_processes_are_killed_while_a_plan_is_acted_on(manager, tmp_path, dice):
    before = fill(manager)
    what = DeadLetterRequest(
        connection=manager.connection, lake=tmp_path / "lake", table=parse(RULES).table, text=RULES
    )
    run, plan = plan_run(DEAD_LETTERS, what)
    watch = Watch(manager)
    killed: Counter[str] = Counter()
    try:
        process = spark_act(manager, run)
        while killed.total() < KILLS:
            kind = min(dice.sample(KINDS, len(KINDS)), key=lambda kind: killed[kind])  # each as often as the others
            if run_until(process, further(watch, dice), pause=0.02):  # Java starts for seconds
                killed[kind] += kill_kind(kind, process, manager, dice)
            else:
                assert process.returncode, f"the plan was carried out after {killed.total()} of {KILLS} kills"
                process = spark_act(manager, run)
        process.wait()
    finally:
        watch.close()
    assert killed.total() == KILLS
    assert len(KINDS) > KILLS or all(killed[kind] for kind in KINDS), killed
    while (last := spark_act(manager, run)).wait():
        log = (run.path.parent / "act.log").read_text().splitlines()
        assert log[-1].startswith("mqops: InProgress"), log[-20:]
    assert last.returncode == 0
    kill_prove(manager, run, dice)
    summary = proved(manager, run)
    markers = verify(run)
    assert summary.finished
    assert (summary.planned, summary.gone, summary.returned) == (MESSAGES, 0, 0)
    assert summary.planned == plan.rows
    assert not account(marker for marker in markers if marker.plan == plan.digest).problems
    assert manager.depth("MQOPS.LEDGER") == 0
    check_places(manager, before, markers, keys_of(run))
    print(f"killed: {dict(killed)}")


def cli_passes(manager: Manager, lake: Path, dice: random.Random) -> int:
    """Passes of `mqops dlq run`, each killed at a random moment of its acting, and a last one; says how many kills."""
    environment = {**manager.environment, "MQOPS_CONNECTION": manager.connection.to_json()}
    command = [sys.executable, "-m", "mqops.cli", "dlq", "run", "--once", DLQ, "QM1", "--lake", str(lake)]
    command += ["--unit-size", str(UNIT_SIZE), "--json"]
    rules = lake.parent / "table.rules"
    rules.write_text(RULES)
    watch, killed = Watch(manager), 0
    try:
        while killed < KILLS:
            moment = further(watch, dice)
            with rules.open("rb") as table:
                process = commands.Command(command, env=environment, stdin=table, stdout=subprocess.DEVNULL)
            if run_until(process, moment):
                kill_one(process, dice)
                killed += process.returncode == -signal.SIGKILL
    finally:
        watch.close()
    with rules.open("rb") as table:
        last = commands.run(command, env=environment, stdin=table, stdout=subprocess.PIPE)
    assert last.returncode == 1  # what SHUT does not take has no try left
    assert json.loads(last.stdout)["balanced"]
    commands.run(
        [sys.executable, "-m", "mqops.cli", "ledger", "drain", "--lake", str(lake)], env=environment, check=True
    )
    return killed


def test_law1_the_command_is_killed_and_started_anew(manager, tmp_path, dice):
    before = fill(manager)
    lake = tmp_path / "lake"
    assert cli_passes(manager, lake, dice) == KILLS
    runs = [RunFolder(path) for path in sorted((lake / "QM1" / "runs").iterdir())]
    markers = verify(runs[0])
    keys = {
        key: bodies
        for run in runs
        if run.path.joinpath("observe.json").exists()
        for key, bodies in keys_of(run).items()
    }
    check_places(manager, before, markers, keys)
    for run_and_plan in {(marker.run, marker.plan) for marker in markers}:
        assert not account(marker for marker in markers if (marker.run, marker.plan) == run_and_plan).problems
    for run in runs:  # those that were killed are proved as well, and say what they left
        if run.plan_json.exists():
            assert proved(manager, run).balanced
