"""A DAG for the tests: the operator under test in every situation; run in a process of its own."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path

from airflow.sdk import DAG, Asset

from mqops_airflow.spark.submit import MqSparkSubmitOperator

FOLDER = Path(os.environ["TEST_FOLDER"])
JOB = str(Path(__file__).with_name("submitted_job.py"))
ASSET = Asset(name="tested", uri="x-mqops://tested")


class LookedAt(MqSparkSubmitOperator):
    """A job that reads the lake only, as those of the data quality workflow."""

    needs_queue_manager = False


def task(name: str, how: str = "fine", **kwargs: object) -> MqSparkSubmitOperator:
    (FOLDER / name).mkdir(exist_ok=True)
    given = {"conn_id": "spark_test", "mq_conn_id": "mq_test", "summary": f"{FOLDER}/{name}/summary.json", **kwargs}
    return MqSparkSubmitOperator(
        task_id=name, application=JOB, application_args=[f"{FOLDER}/{name}", how], retries=0, **given
    )


with DAG("submitting", schedule=None) as dag:
    task(
        "fine",
        shown=("user", "secret_length", "processes_with_the_secret_in_their_arguments", "arguments", "python"),
        env_vars={"GIVEN_TO_THE_OPERATOR": "here"},
        repeated={"--message-id": "0a,0b"},
        asset=ASSET,
    )
    LookedAt(
        task_id="looked_at",
        application=JOB,
        application_args=[f"{FOLDER}/looked_at", "looked_at"],
        conn_id="spark_test",
        mq_conn_id="mq_test",
        summary=f"{FOLDER}/looked_at/summary.json",
        conf={"spark.shuffle.spill.numElementsForceSpillThreshold": "1000", "spark.sql.shuffle.partitions": "2"},
        retries=0,
    )
    task("taken_once", how="named", once=True)
    task("named_error", how="named")
    task("unnamed_error", how="unnamed")
    task("unknown_spark", conn_id="spark_nowhere")
    task("unreachable_spark", conn_id="spark_down")
    task("cluster_mode", conn_id="spark_cluster_mode")
    task("unknown_mq", mq_conn_id="mq_nowhere")
    task(
        "connect_fine",
        conn_id="spark_warm",
        repeated={"--message-id": "0a,0b"},
        env_vars={"GIVEN_TO_THE_OPERATOR": "for a client"},
    )
    task("connect_named_error", how="named", conn_id="spark_warm")
    task("connect_unforeseen_error", how="unforeseen", conn_id="spark_warm")
    task("connect_unnamed_error", how="unnamed", conn_id="spark_warm")
    task("connect_killed", how="killed", conn_id="spark_warm")
    task("connect_unreachable", conn_id="connect_down")
    task("connect_without_tls", conn_id="connect_plain")


def accept(listening: socket.socket) -> None:
    """Accept all connections, as a server does: one that nobody accepts is refused."""
    kept = []
    while True:
        kept.append(listening.accept()[0])


def main() -> None:
    (FOLDER / "looked_at").mkdir()
    (FOLDER / "taken_once" / "summary.json").write_text('{"kept": 1}')
    held = socket.socket()  # nobody listens there, and no other process can take the port meanwhile
    held.bind(("127.0.0.1", 0))
    down = held.getsockname()[1]
    os.environ["AIRFLOW_CONN_SPARK_DOWN"] = json.dumps(
        {"conn_type": "spark", "host": "spark://127.0.0.1", "port": down}
    )
    os.environ["AIRFLOW_CONN_CONNECT_DOWN"] = json.dumps(
        {"conn_type": "spark_connect", "host": "localhost", "port": down}
    )
    with socket.create_server(("127.0.0.1", 0)) as warm:  # the job under test asks no Spark for anything
        threading.Thread(target=accept, args=[warm], daemon=True).start()
        os.environ["AIRFLOW_CONN_SPARK_WARM"] = json.dumps(
            {
                **{"conn_type": "spark_connect", "host": "127.0.0.1", "port": warm.getsockname()[1]},
                **{"login": "batch", "password": os.environ["TEST_TOKEN"]},
            }
        )
        run = dag.test()
    states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
    print("PROCESS", os.getpid())
    print("STATES " + json.dumps(states), flush=True)


if __name__ == "__main__":
    sys.exit(main())
