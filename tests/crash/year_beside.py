"""The processes that stand beside a year of runs: Airflow's four and the Spark Connect server, on the same queue
manager and the same lake. They work meanwhile, and their memory is measured.

1. In turn, each step lets one workflow run to its end in Airflow (dead letters and data quality by the Connect server,
   expiry scan), reads pages, and has a DAG file parsed; the trigger monitor holds its initiation queue open all the
   time.
2. What counts of a process is its resident memory with that of its children that were there at the step before, too:
   not of those that end with one task or one parse.
3. Growth is that from the second quarter of the steps to the last one, each by its median: before, it warms up.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from statistics import median

import psutil

from mqops_demo import airflow_home
from mqops_demo.airflow import NO_PORT, spark_fields
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_processes import PROCESSES, start, stop

MIB = 1 << 20
MOST_GROWTH = dict.fromkeys(PROCESSES, 96 * MIB) | {"spark-connect": 384 * MIB}
"""Bytes by which a process may grow behind its warm-up; a JVM takes its heap bit by bit."""
ESTATE = """\
lake: {lake}
spark: spark_warm
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {{rules: year.rules}}
    snapshot_quality: {{queues: ["*"], suites: [year.yaml]}}
    expiry_scan: {{queues: [OFFERS]}}
    trigger_monitor: {{queues: [MQOPS.INITQ]}}
"""
SUITE = "suite: year\nexpectations:\n- {id: any, expect: column_values_to_not_be_null, column: msg_id}\n"
WORKFLOWS = ("dlq_rules", "snapshot_quality", "expiry_scan")
PAGES = ("estate", "expiry?queue_manager=QM1", "messages?queue_manager=QM1", "quality?queue_manager=QM1")


@dataclass
class Beside:
    """Attributes: `samples` process → its memory at each step, in bytes."""

    client: AirflowClient
    samples: dict[str, list[int]] = field(default_factory=dict)
    runs: int = 0
    failed: list[str] = field(default_factory=list)
    _before: set[int] = field(default_factory=set)

    def step(self) -> None:
        """Rule 1, then a look at the memory."""
        dag_id = f"qm1_{WORKFLOWS[self.runs % len(WORKFLOWS)]}"
        self.client.unpause(dag_id)
        result = self.client.follow(dag_id, self.client.trigger(dag_id), approve=lambda _question: True, report=len)
        if result.state != "success":
            self.failed.append(f"{dag_id} {result.run_id}: {result.tasks}")
        self.runs += 1
        for page in PAGES:
            answer = self.client.page(f"/mqops/{page}")
            if answer.status_code != HTTPStatus.OK:
                self.failed.append(f"{page}: {answer.status_code}: {answer.text}")
        self.client.parse_again(dag_id)
        there: set[int] = set()
        for name, process in self._processes():
            tree = [process, *process.children(recursive=True)]
            there |= {one.pid for one in tree}
            lasting = (one for one in tree if one is process or one.pid in self._before)
            self.samples.setdefault(name, []).append(sum(map(_memory, lasting)))
        self._before = there

    def _processes(self) -> Iterator[tuple[str, psutil.Process]]:
        known = json.loads((self.client.home.folder / "processes.json").read_text())
        for name, one in known.items():
            yield name, psutil.Process(one["pid"])

    def growth(self) -> dict[str, tuple[float, float]]:
        """Process → its memory in the second quarter of the steps and in the last one, in bytes."""
        found = {}
        for name, samples in self.samples.items():
            quarter = max(1, len(samples) // 4)
            found[name] = (median(samples[quarter : 2 * quarter] or samples), median(samples[-quarter:]))
        return found

    def told(self) -> str:
        """The figures."""
        memory = (
            f"{name} {before / MIB:.0f} → {after / MIB:.0f} MiB" for name, (before, after) in self.growth().items()
        )
        return f"beside them {self.runs} runs in Airflow, {len(self.failed)} failed: {'; '.join(memory)}"


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_info().rss)
    return 0


@contextmanager
def beside(folder: Path, queue_managers: Path, lake: Path, rules: str) -> Iterator[Beside]:
    """They run meanwhile. Parameters: `folder` of their own; `rules` of the dead letters."""
    folder.mkdir(mode=0o700)
    (folder / "estate.yaml").write_text(ESTATE.format(lake=lake))
    (folder / "year.rules").write_text(rules)
    (folder / "year.yaml").write_text(SUITE)
    settings = {"MQOPS_ESTATE": str(folder / "estate.yaml"), "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "60"}
    home = replace(airflow_home.home(folder, **settings), queue_managers=queue_managers, lake=lake)
    try:
        start(home)
        client = AirflowClient(home)
        client.wait_until_healthy()
        extra = json.dumps({"queue_manager": "QM1", "home": str(queue_managers)})
        client.set_connection("mq_qm1", conn_type="mq", port=NO_PORT, extra=extra)
        client.set_connection("spark_warm", **spark_fields(home))
        for workflow in (*WORKFLOWS, "trigger_monitor"):
            client.wait_for_dag(f"qm1_{workflow}")
        client.unpause("qm1_trigger_monitor")
        client.parse_again("qm1_trigger_monitor")
        yield Beside(client)
    finally:
        stop(home)
        shutil.rmtree(home.folder, ignore_errors=True)
