"""`mq_trigger_explain`: why a queue triggers, or not, by hand with a form."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops_airflow.forms import params
from mqops_airflow.operators.trigger_explain import TriggerExplainOperator
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.workflows.dag import made
from mqops_airflow.workflows.documentation import TRIGGER_EXPLAIN


def build(names: list[str]) -> DAG:
    """The DAG for all queue managers of the estate."""
    with made(
        "mq_trigger_explain",
        "trigger_explain",
        description="Why a queue triggers, or not: each condition for a trigger event",
        page=TRIGGER_EXPLAIN,
        form={"queue_manager": params.queue_manager(names), "queue": params.triggered_queue()},
    ) as dag:
        TriggerExplainOperator(task_id="explain")
    return dag


def dags() -> dict[str, DAG]:
    """The DAG by its id."""
    return {"mq_trigger_explain": build(list(estate_file().estate.queue_managers))}
