"""`mq_stop`: the kill switch. Stops acting on a run or on a queue manager, by hand, and lets it go on."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops_airflow.forms import params
from mqops_airflow.operators.stop import StopOperator
from mqops_airflow.runs.workplace import estate_to_look
from mqops_airflow.workflows.dag import made
from mqops_airflow.workflows.documentation import STOP


def build(names: list[str]) -> DAG:
    """The DAG for all queue managers that the estate names, also those whose settings are not valid."""
    with made(
        "mq_stop",
        "stop",
        description="Kill switch: stop acting on a run or a queue manager, or go on",
        page=STOP,
        form={
            "do": params.switch(),
            "queue_manager": params.queue_manager(names),
            "run": params.stopped_run(),
            "why": params.why(),
        },
    ) as dag:
        StopOperator(task_id="stop")
    return dag


def dags() -> dict[str, DAG]:
    """The DAG by its id."""
    return {"mq_stop": build(estate_to_look().named)}
