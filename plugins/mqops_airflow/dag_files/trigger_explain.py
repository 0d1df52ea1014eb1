"""`mq_trigger_explain`: why a queue triggers, or not, by hand with a form."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops_airflow.forms import params
from mqops_airflow.operators.trigger_explain import TriggerExplainOperator
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.workflows.documentation import TRIGGER_EXPLAIN
from mqops_airflow.workflows.retry import default_args


def build(names: list[str]) -> DAG:
    """The DAG for all queue managers of the estate."""
    with DAG(
        "mq_trigger_explain",
        description="Why a queue triggers, or not: each condition for a trigger event",
        doc_md=TRIGGER_EXPLAIN,
        schedule=None,
        catchup=False,
        tags=["mq", "trigger_explain"],
        default_args=default_args(),
        params={"queue_manager": params.queue_manager(names), "queue": params.triggered_queue()},
    ) as dag:
        TriggerExplainOperator(task_id="explain")
    return dag


def dags() -> dict[str, DAG]:
    """The DAG by its id."""
    return {"mq_trigger_explain": build(list(estate_file().estate.queue_managers))}
