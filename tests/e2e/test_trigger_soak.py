"""10,000 messages over 50 triggered queues while the triggerer, the scheduler and the queue manager die (`make full`).

The queue manager counts the trigger messages that it puts on the initiation queues (Reset Queue Statistics). Each of
them must be exactly one run, or one dead letter with the reason that its queue's process is made for.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mq_support import DLQ, Manager, create, until
from pymqi import CMQC
from small_airflow import small_airflow

from mqops.trigger.core.trigger_message import RUN_ID_PREFIX
from mqops_demo.airflow import NO_PORT
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_home import AirflowHome
from mqops_demo.airflow_processes import running, signal_groups, start_airflow
from mqops_demo.estate import ROOT
from mqwire import constants as c
from mqwire.structures import MQDLH, MQTM

from .soak_application import QUEUE_MANAGER, SEEN, TRIGGER_DEPTH

MESSAGES = int(os.environ.get("MQOPS_SOAK_MESSAGES", "0"))
KILLS = {
    "triggerer": int(os.environ.get("MQOPS_SOAK_TRIGGERER_KILLS", "2")),
    "scheduler": int(os.environ.get("MQOPS_SOAK_SCHEDULER_KILLS", "1")),
    "queue manager": int(os.environ.get("MQOPS_SOAK_ENDS", "1")),
}
SEED = int(os.environ.get("MQOPS_SOAK_SEED", "0")) or random.randrange(1_000_000)
PATIENCE = 1800.0
pytestmark = pytest.mark.skipif(not MESSAGES, reason="long: MQOPS_SOAK_MESSAGES=10000, as make full has it")

MONITOR = "soak_trigger_monitor"
FIRST = [f"FIRST.{n}" for n in range(20)]
DEPTH = [f"DEPTH.{n}" for n in range(20)]
EVERY = [f"EVERY.{n}" for n in range(10)]
TRIGGERED = [*FIRST, *DEPTH, *EVERY]
INITIATION = ["IQ.ALONE", "IQ.HELD"]
"""The monitor alone has the first one open; another program holds the second one open, too."""
UNUSABLE = {
    "BAD.PAUSED": ("APPLTYPE(UNIX) APPLICID('soak_paused')", c.MQFB_APPL_CANNOT_BE_STARTED),
    "BAD.MISSING": ("APPLTYPE(UNIX) APPLICID('soak_missing')", c.MQFB_APPL_CANNOT_BE_STARTED),
    "BAD.NOT.ALLOWED": ("APPLTYPE(UNIX) APPLICID('mq_recover')", c.MQFB_APPL_CANNOT_BE_STARTED),
    "BAD.PATH": ("APPLTYPE(UNIX) APPLICID('../../soak')", c.MQFB_APPL_CANNOT_BE_STARTED),
    "BAD.TYPE": ("APPLTYPE(CICS) APPLICID('soak')", c.MQFB_APPL_TYPE_ERROR),
}
"""Queues whose trigger messages start nothing: their process, and the reason in the dead letter."""
NO_TRIGGER_MESSAGE = b"TM  cut short"
ESTATE = f"""\
lake: lake
queue_managers:
  {QUEUE_MANAGER}:
    connection: mq_soak
    trigger_monitor: {{queues: [IQ.ALONE, IQ.HELD], dags: [soak, soak_paused, soak_missing]}}
"""
SETTINGS = {
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "8",  # a new triggerer takes over from a killed one
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "10",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",  # and a new scheduler
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
}


def definitions() -> str:
    lines = [f"DEFINE QLOCAL({name}) DEFPSIST(YES) MAXDEPTH(999999)" for name in (*INITIATION, SEEN)]
    lines.append("DEFINE PROCESS(SOAK) APPLTYPE(UNIX) APPLICID('soak')")
    kinds = {"FIRST": "FIRST", "DEPTH": f"DEPTH) TRIGDPTH({TRIGGER_DEPTH}", "EVERY": "EVERY"}
    for number, queue in enumerate(TRIGGERED):
        where = f"TRIGTYPE({kinds[queue[:5]]}) INITQ({INITIATION[number % 2]}) PROCESS(SOAK)"
        lines.append(f"DEFINE QLOCAL({queue}) MAXDEPTH(999999) TRIGGER {where}")
    for number, (queue, (process, _reason)) in enumerate(UNUSABLE.items()):
        lines.append(f"DEFINE PROCESS({queue}) {process}")
        where = f"TRIGTYPE(EVERY) INITQ({INITIATION[number % 2]}) PROCESS({queue})"
        lines.append(f"DEFINE QLOCAL({queue}) TRIGGER {where}")
    return "\n".join(lines)


@dataclass
class Soak:
    """The Airflow, the queue manager, and what was put. Attributes: `put` bodies of all messages for TRIGGERED."""

    client: AirflowClient
    manager: Manager
    chance: random.Random
    put: list[bytes] = field(default_factory=list)
    not_triggers: int = 0
    holder: Any = None

    @property
    def home(self) -> AirflowHome:
        return self.client.home

    def hold(self) -> None:
        """Another program opens IQ.HELD for input, so that no monitor's opening triggers there (T13c)."""
        self.holder = pymqi.QueueManager(None)
        self.holder.connect_with_options(QUEUE_MANAGER, opts=CMQC.MQCNO_HANDLE_SHARE_BLOCK)
        self.held = pymqi.Queue(self.holder, "IQ.HELD", CMQC.MQOO_INPUT_SHARED)

    def let_go(self) -> None:
        self.held.close()
        self.holder.disconnect()

    def messages(self, count: int) -> Iterator[tuple[str, int]]:
        """Queues, and how many messages they get next, `count` in all: most on FIRST and DEPTH queues."""
        left = count
        while left > 0:
            for queue, most in (
                (self.chance.choice(EVERY), 1),
                *((self.chance.choice(FIRST), self.chance.randint(1, 25)) for _ in range(2)),
                *((self.chance.choice(DEPTH), TRIGGER_DEPTH) for _ in range(1)),
            ):
                number = most if queue in DEPTH else min(most, left)
                if 0 < number <= left or queue in DEPTH:
                    left -= number
                    yield queue, number

    def put_messages(self, count: int) -> None:
        for queue, number in self.messages(count):
            bodies = [b"%s %d" % (queue.encode(), len(self.put) + n) for n in range(number)]
            self.manager.put(queue, [({}, body) for body in bodies])
            self.put += bodies
        self.manager.put(self.chance.choice(list(UNUSABLE)), [({}, b"starts nothing")])
        self.manager.put(self.chance.choice(INITIATION), [({"Format": "MQTRIG"}, NO_TRIGGER_MESSAGE)])
        self.not_triggers += 1

    def runs(self, dag_id: str, *, unfinished: bool = False) -> int:
        asked: dict[str, Any] = {"limit": 1} | ({"state": ["queued", "running"]} if unfinished else {})
        return int(self.client.call("GET", f"/dags/{dag_id}/dagRuns", params=asked)["total_entries"])

    def all_runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < self.runs("soak"):
            asked = {"limit": 100, "offset": len(found), "order_by": "id"}
            found += self.client.call("GET", "/dags/soak/dagRuns", params=asked)["dag_runs"]
        return found

    def kill(self, name: str) -> None:
        """Kill one of Airflow's processes with its children, and start it again."""
        pid = running(self.home)[name]
        signal_groups([pid], signal.SIGKILL)
        until(lambda: name not in running(self.home), PATIENCE)
        start_airflow(self.home, name)

    def works(self, kind: str) -> bool:
        """Whether it is worth a kill: the monitor serves the initiation queues, the scheduler has a run at work."""
        if kind == "scheduler":
            return self.runs("soak", unfinished=True) > 0
        handles = "DISPLAY QSTATUS(IQ.*) TYPE(HANDLE) PID\n"  # this process has IQ.HELD open: there is always one
        shown = self.manager.mqlite("mqsc", QUEUE_MANAGER, text=handles)
        pids = re.findall(r"QUEUE\(IQ\.ALONE\)[^=]*?PID\((\d+)\)", shown)
        return any(group_of(int(pid)) == running(self.home)["triggerer"] for pid in pids)

    def end_queue_manager(self, how: str) -> None:
        self.let_go()
        self.manager.mqlite("end", QUEUE_MANAGER, how)  # --quiesce: returns when all programs have let go
        self.manager.mqlite("start", QUEUE_MANAGER)
        self.hold()

    def quiet(self) -> bool:
        """Whether nothing is left to do."""
        if any(self.manager.depth(queue) for queue in (*INITIATION, *TRIGGERED)):
            return False
        return not any(self.runs(dag_id, unfinished=True) for dag_id in (MONITOR, "soak"))


@pytest.fixture
def soak(tmp_path: Path) -> Iterator[Soak]:
    (tmp_path / "queue_managers").mkdir(mode=0o700)
    manager = create(tmp_path / "queue_managers", QUEUE_MANAGER, definitions())
    manager.mqlite("start", QUEUE_MANAGER)
    os.environ["MQLITE_HOME"] = str(manager.home)
    try:
        here = Path(__file__).parent
        files = [here / "soak_dag.py", ROOT / "dags" / "trigger_monitor.py"]
        with small_airflow(tmp_path, estate=ESTATE, dag_files=files, modules=here, settings=SETTINGS) as client:
            extra = json.dumps({"queue_manager": QUEUE_MANAGER, "home": str(manager.home)})
            client.set_connection("mq_soak", conn_type="mq", port=NO_PORT, extra=extra)
            for dag_id in ("soak", MONITOR):
                client.wait_for_dag(dag_id)
                client.unpause(dag_id)
            client.parse_again(MONITOR)
            made = Soak(client=client, manager=manager, chance=random.Random(SEED))
            made.hold()
            yield made
            made.let_go()
    finally:
        manager.mqlite("end", QUEUE_MANAGER)


def group_of(pid: int) -> int:
    """The process group of a process, 0 where it has ended."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def put_on_initiation_queues(manager: Manager) -> int:
    """The messages that were ever put on the initiation queues, as the queue manager has counted them."""
    with manager.connected() as connection:
        pcf = pymqi.PCFExecute(connection)
        rows = pcf.MQCMD_RESET_Q_STATS({CMQC.MQCA_Q_NAME: b"IQ.*"})
        pcf.disconnect()
    return sum(row[CMQC.MQIA_MSG_ENQ_COUNT] for row in rows)


def test_nothing_is_lost_or_doubled_whatever_is_killed(soak: Soak) -> None:
    began = time.monotonic()
    kinds = [kind for kind, number in KILLS.items() for _ in range(number)]
    soak.chance.shuffle(kinds)
    print(f"seed {SEED}: {MESSAGES} messages, {KILLS}")
    ways = iter(["--quiesce", "--immediate"] * len(kinds))
    for number, kind in enumerate(kinds, start=1):
        share = (MESSAGES - len(soak.put)) // (len(kinds) - number + 2)
        soak.put_messages(share // 2)
        until(lambda kind=kind: soak.works(kind), PATIENCE)
        before = soak.runs("soak")
        if kind == "queue manager":
            soak.end_queue_manager(next(ways))
        else:
            soak.kill(kind)
        soak.put_messages(share - share // 2)
        until(lambda before=before: soak.runs("soak") > before or soak.quiet(), PATIENCE)
        print(f"{time.monotonic() - began:5.0f} s: {kind} {number}/{len(kinds)}, {len(soak.put)} put, {before} runs")
    soak.put_messages(max(0, MESSAGES - len(soak.put)))
    until(soak.quiet, PATIENCE)
    print(f"{time.monotonic() - began:5.0f} s: quiet")

    runs = soak.all_runs()
    letters = [(MQDLH.unpack(body), body[MQDLH.LAYOUT.size :]) for body in soak.manager.bodies(DLQ)]
    seen = [body.split(b" ", 1) for body in soak.manager.bodies(SEEN)]
    served = Counter(body for _run_id, body in seen)
    print(f"{len(soak.put)} messages, {len(runs)} runs, {len(letters)} dead letters")

    assert served == Counter(soak.put), "each message was got once"
    assert {run["dag_run_id"] for run in runs} >= {run_id.decode() for run_id, _body in seen}
    assert Counter(run["state"] for run in runs) == {"success": len(runs)}
    assert all(run["dag_run_id"].startswith(RUN_ID_PREFIX) for run in runs)
    wrong = [(header.reason, body[:60]) for header, body in letters if header.reason != expected_reason(body)]
    assert wrong == []
    garbage = sum(body == NO_TRIGGER_MESSAGE for _header, body in letters)
    assert garbage == soak.not_triggers, "each was dead-lettered once"
    assert put_on_initiation_queues(soak.manager) == len(runs) + len(letters)


def expected_reason(body: bytes) -> int:
    """The reason of the dead letter of a message of an initiation queue."""
    if body == NO_TRIGGER_MESSAGE:
        return c.MQFB_TM_ERROR
    return UNUSABLE[MQTM.unpack(body, ccsid=1208).q_name][1]
