"""`mq_stop`: the kill switch. Stops acting on a run or on a queue manager, by hand, and lets it go on."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops_airflow import params
from mqops_airflow.documentation import STOP
from mqops_airflow.retry import default_args
from mqops_airflow.stop import StopOperator
from mqops_airflow.workplace import estate_to_look


def build(names: list[str]) -> DAG:
    """The DAG for all queue managers that the estate names, also those whose settings are not valid."""
    with DAG(
        "mq_stop",
        description="Kill switch: stop acting on a run or a queue manager, or go on",
        doc_md=STOP,
        schedule=None,
        catchup=False,
        tags=["mq", "stop"],
        default_args=default_args(),
        params={
            "do": params.switch(),
            "queue_manager": params.queue_manager(names),
            "run": params.stopped_run(),
            "why": params.why(),
        },
    ) as dag:
        StopOperator(task_id="stop")
    return dag


mq_stop = build(estate_to_look().named)
