"""From the form of a dead-letter run to its question, and from the answer to its proof, beside a run of empty tasks.

In real Airflow with a warm Spark Connect server. A run plans 2,330 messages: check, observe, decide, route; the task
approve asks, and is answered as soon as Airflow has settled that it waits; act, prove. The times of the empty tasks
are Airflow's own: what is more is of mqops and Spark. Both kinds of run alternate. Between two runs a program gets what
the run put on its queues. Aims: at most 2.5 s to the question, and 4 s from the answer to the proof. The first run of
each, in which Spark's Python workers start, does not count.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_redrive import folder
from mq_support import DLQ, Manager, create, dead_letter

from mqops_demo import airflow_home
from mqops_demo.airflow import connections
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_processes import start, stop

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "2330"))
RUNS = int(os.environ.get("MQOPS_BENCH_FORMS", "7"))
POLL = 1.0
"""Seconds between two looks at a run. Each costs the API server, which serves the tasks too, 15 ms of processor."""
DAG, FLOOR = "qm1_dlq_rules", "floor"
ESTATE = "lake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1, spark: spark_warm, dlq_rules: {rules: dlq.rules}}\n"
RULES = "REASON(MQRC_Q_FULL) ACTION(RETRY)\nACTION(FWD) FWDQ(OTHERS) HEADER(YES)\n"
QUEUES = "".join(f"DEFINE QLOCAL({name}) MAXDEPTH(999999999)\n" for name in ("A", "OTHERS"))


def at(text: object) -> float:
    """A time of Airflow's API, as seconds."""
    return datetime.fromisoformat(str(text)).timestamp()


def waited_for(client: AirflowClient, dag: str, run_id: str, task_id: str, state: str) -> dict[str, dict[str, Any]]:
    """The tasks of a run when one of them is in a state; a task that fails ends the benchmark."""
    while (tasks := client.task_instances(dag, run_id))[task_id]["state"] != state:
        failed = [name for name, task in tasks.items() if task["state"] == "failed"]
        assert not failed, client.log(dag, run_id, failed[0])
        time.sleep(POLL)
    return tasks


def timed(client: AirflowClient, dag: str) -> dict[str, float]:
    """Make a run, approve its plan; seconds from the form to the end of each task and to its question, and from the
    answer to the end of each task behind it."""
    begun = time.time()
    run_id = client.trigger(dag, dry_run=False)
    tasks = waited_for(client, dag, run_id, "approve", "awaiting_input")
    found = {name: at(tasks[name]["end_date"]) - begun for name in ("check", "observe", "decide", "route")}
    found["question"] = at(client.question(dag, run_id, "approve")["created_at"]) - begun
    client.wait_until_asked(dag, run_id, "approve")
    answered = time.time()
    client.answer(dag, run_id, "approve", "Approve")
    tasks = waited_for(client, dag, run_id, "prove", "success")
    return found | {name: at(tasks[name]["end_date"]) - answered for name in ("approve", "act", "prove")}


def fill(manager: Manager) -> None:
    """The messages of one run. Those of the run before are got."""
    manager.mqsc("CLEAR QLOCAL(A)\nCLEAR QLOCAL(OTHERS)\n")
    manager.put(DLQ, [dead_letter("A", b"x" * 1024, reason=2053 + n % 2) for n in range(MESSAGES)])


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Airflow ends with us
    with folder() as place:
        below = Path(place)
        (below / "estate.yaml").write_text(ESTATE)
        (below / "dlq.rules").write_text(RULES)
        dags = below / "dags"
        dags.mkdir()
        for file in (Path(airflow_home.ROOT, "dags", "dlq_rules.py"), Path(__file__).with_name("floor_dags.py")):
            (dags / file.name).write_text(file.read_text())
        manager = create(below / "queue_managers", mqsc=QUEUES)
        settings = {
            "MQOPS_ESTATE": str(below / "estate.yaml"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        }
        home = replace(airflow_home.home(below, **settings), queue_managers=manager.home)
        try:
            start(home)
            client = AirflowClient(home)
            client.wait_until_healthy()
            for conn_id, fields in connections(home).items():
                client.set_connection(conn_id, **fields)
            for dag in (DAG, FLOOR):
                client.wait_for_dag(dag)
                client.unpause(dag)
            print(f"load of the machine: {os.getloadavg()[0]:.1f}")
            runs: list[tuple[dict[str, float], dict[str, float]]] = []
            for _ in range(RUNS + 1):
                fill(manager)
                runs.append((timed(client, DAG), timed(client, FLOOR)))
            print(f"{MESSAGES:,} messages, {RUNS} runs; seconds from the form to, and from the answer to the end of")
            print(f"{'':10}{'median':>8}{'most':>8}{'empty':>8}{'most':>8}")
            for name in runs[0][0]:
                own, empty = ([one[way][name] for one in runs[1:]] for way in (0, 1))
                figures = (statistics.median(own), max(own), statistics.median(empty), max(empty))
                print(f"{name:10}" + "".join(f"{value:8.1f}" for value in figures), flush=True)
            print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        finally:
            stop(home)


if __name__ == "__main__":
    main()
