"""From MQPUT until the DAG run is queued, in real Airflow: by the trigger monitor, and by a sensor that polls.

The sensor polls each 5 seconds, holds a worker slot meanwhile, and starts the run by TriggerDagRunOperator. Messages
come one by one, at random times. Aim for the trigger monitor: p95 less than 2 s. The first messages do not count.

Airflow's database is SQLite, where a run waits up to a second for the next whole one. For an empty database of
PostgreSQL install psycopg2-binary and asyncpg, and set AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=postgresql+psycopg2://...
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_redrive import folder
from mq_support import Manager, create
from small_airflow import small_airflow

from mqops_demo.airflow import NO_PORT
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.estate import ROOT

MESSAGES = int(os.environ.get("MQOPS_BENCH_TRIGGERS", "100"))
POLLED = int(os.environ.get("MQOPS_BENCH_POLLS", "20"))
WARM_UP = 3
POLL = 0.5
"""Seconds between two looks whether the run is there: each costs Airflow's API server tens of milliseconds."""
MONITOR = "qm1_trigger_monitor"
ESTATE = """\
lake: lake
queue_managers:
  QM1: {connection: mq_qm1, trigger_monitor: {queues: [IQ], dags: [started_by_message]}}
"""
DEFINITIONS = """\
DEFINE QLOCAL(IQ) DEFPSIST(YES)
DEFINE PROCESS(P) APPLTYPE(UNIX) APPLICID('started_by_message')
DEFINE QLOCAL(TRIGGERED) TRIGGER TRIGTYPE(EVERY) INITQ(IQ) PROCESS(P)
DEFINE QLOCAL(POLLED)
"""


def count(client: AirflowClient, dag_id: str) -> int:
    """How many runs the DAG has."""
    return int(client.call("GET", f"/dags/{dag_id}/dagRuns", params={"limit": 1})["total_entries"])


def queued(client: AirflowClient, dag_id: str) -> list[float]:
    """When the runs of a DAG were queued, seconds since 1970, oldest first."""
    found: list[float] = []
    while len(found) < count(client, dag_id):
        asked = {"limit": 100, "offset": len(found), "order_by": "id"}
        runs = client.call("GET", f"/dags/{dag_id}/dagRuns", params=asked)["dag_runs"]
        found += [datetime.fromisoformat(run["queued_at"]).timestamp() for run in runs]
    return found


def delays(client: AirflowClient, manager: Manager, queue: str, dag_id: str, messages: int) -> list[float]:
    """Seconds from each MQPUT until its run was queued; the next message comes when the run is there."""
    puts = []
    for number in range(messages):
        time.sleep(random.uniform(0, 3))
        puts.append(time.time())
        manager.put(queue, [({}, b"x")])
        while count(client, dag_id) <= number:
            time.sleep(POLL)
    return [run - put for put, run in zip(puts, queued(client, dag_id), strict=True)][WARM_UP:]


def show(what: str, seconds: list[float]) -> None:
    p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    print(f"{what:40}{len(seconds):5}{statistics.median(seconds):10.2f}{p95:8.2f}{max(seconds):8.2f}", flush=True)


def main() -> None:
    with folder() as place:
        home = Path(place)
        (home / "queue_managers").mkdir(mode=0o700)
        manager = create(home / "queue_managers", mqsc=DEFINITIONS)
        here = Path(__file__).parent
        files = [here / "trigger_dags.py", ROOT / "dags" / "trigger_monitor.py"]
        with small_airflow(home, estate=ESTATE, dag_files=files, modules=here) as client:
            extra = json.dumps({"queue_manager": "QM1", "home": str(manager.home)})
            client.set_connection("mq_qm1", conn_type="mq", port=NO_PORT, extra=extra)
            for dag_id in (MONITOR, "started_by_message", "started_by_sensor"):
                client.wait_for_dag(dag_id)
                client.unpause(dag_id)
            client.parse_again(MONITOR)
            database = os.environ.get("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "sqlite").partition(":")[0]
            print(f"load of the machine: {os.getloadavg()[0]:.1f}; Airflow's database: {database}")
            print(f"{'from MQPUT until the run is queued':40}{'runs':>5}{'median s':>10}{'p95':>8}{'most':>8}")
            by_message = delays(client, manager, "TRIGGERED", "started_by_message", MESSAGES + WARM_UP)
            show("trigger monitor", by_message)
            client.pause(MONITOR)
            client.unpause("sensor")
            by_sensor = delays(client, manager, "POLLED", "started_by_sensor", POLLED + WARM_UP)
            show("sensor that polls every 5 s", by_sensor)
            client.pause("sensor")
            print(f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
