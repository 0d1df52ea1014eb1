"""From the form of a dead-letter run to its question, in real Airflow with a warm Spark Connect server.

A run plans 2,330 messages: check, observe, decide, route. It is over when the task approve waits for its answer. The
question is rejected, the messages stay, and the next run plans them again. Aim: at most 12 s. The first run, in which
Spark's Python workers start, does not count.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_redrive import folder
from mq_support import DLQ, create, dead_letter

from mqops_demo import airflow_home
from mqops_demo.airflow import connections
from mqops_demo.airflow_client import AirflowClient
from mqops_demo.airflow_processes import start, stop

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "2330"))
RUNS = int(os.environ.get("MQOPS_BENCH_FORMS", "7"))
POLL = 0.25
DAG = "qm1_dlq_rules"
ESTATE = "lake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1, spark: spark_warm, dlq_rules: {rules: dlq.rules}}\n"
RULES = "REASON(MQRC_Q_FULL) ACTION(RETRY)\nACTION(FWD) FWDQ(OTHERS) HEADER(YES)\n"


def asked(client: AirflowClient) -> dict[str, float]:
    """Start a run; seconds from the form to the end of each task, and to its question."""
    begun = time.time()
    run_id = client.trigger(DAG, dry_run=False)
    while (tasks := client.task_instances(DAG, run_id))["approve"]["state"] != "awaiting_input":
        failed = [name for name, task in tasks.items() if task["state"] == "failed"]
        assert not failed, client.log(DAG, run_id, failed[0])
        time.sleep(POLL)
    ends = {name: tasks[name]["end_date"] for name in ("check", "observe", "decide", "route")}
    found = {name: datetime.fromisoformat(end).timestamp() - begun for name, end in ends.items()}
    question = client.question(DAG, run_id, "approve")
    found["question"] = datetime.fromisoformat(str(question["created_at"])).timestamp() - begun
    client.answer(DAG, run_id, "approve", "Reject")
    client.follow(DAG, run_id, report=lambda _line: None)
    return found


def main() -> None:
    with folder() as place:
        below = Path(place)
        (below / "estate.yaml").write_text(ESTATE)
        (below / "dlq.rules").write_text(RULES)
        manager = create(below / "queue_managers", mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(OTHERS)\n")
        manager.put(DLQ, [dead_letter("A", b"x" * 1024, reason=2053 + n % 2) for n in range(MESSAGES)])
        settings = {
            "MQOPS_ESTATE": str(below / "estate.yaml"),
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        }
        home = replace(airflow_home.home(below, **settings), queue_managers=manager.home)
        try:
            start(home)
            client = AirflowClient(home)
            client.wait_until_healthy()
            for conn_id, fields in connections(home).items():
                client.set_connection(conn_id, **fields)
            client.wait_for_dag(DAG)
            client.unpause(DAG)
            print(f"load of the machine: {os.getloadavg()[0]:.1f}")
            runs = [asked(client) for _ in range(RUNS + 1)][1:]
            print(f"{MESSAGES:,} messages, {RUNS} runs, seconds from the form to")
            print(f"{'':10}{'median':>8}{'most':>8}")
            for name in runs[0]:
                values = [one[name] for one in runs]
                print(f"{name:10}{statistics.median(values):8.1f}{max(values):8.1f}", flush=True)
        finally:
            stop(home)


if __name__ == "__main__":
    main()
