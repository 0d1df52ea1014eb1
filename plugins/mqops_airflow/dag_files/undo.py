"""`mq_undo`: puts back what a run moved and discarded, by hand, after a person has approved the plan."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops_airflow.forms import params
from mqops_airflow.operators.undo import UndoPlanOperator
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.workflows.documentation import UNDO
from mqops_airflow.workflows.pipeline import for_all


def dags() -> dict[str, DAG]:
    """The DAG by its id."""
    dag = for_all(
        "undo",
        UndoPlanOperator,
        estate_file(),
        description="Undo a run: put back what it moved and discarded",
        page=UNDO,
        form={"run": params.run(), "first_tell": params.first_tell(leaves="all of the run's queues")},
    )
    return {"mq_undo": dag}
