"""`mq_recover`: chosen messages are replayed, moved, copied, parked or discarded, or a run is undone, by hand."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops.estate_workflows import PacingSection
from mqops_airflow.forms import params
from mqops_airflow.operators.recover import RecoverPlanOperator
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.workflows.documentation import RECOVER
from mqops_airflow.workflows.pipeline import for_all


def dags() -> dict[str, DAG]:
    """The DAG by its id."""
    dag = for_all(
        "recover",
        RecoverPlanOperator,
        estate_file(),
        description="Replay, move, copy, park or discard chosen messages, or undo a run",
        page=RECOVER,
        form=params.recovery(),
        pacing=params.pacing(PacingSection()),
    )
    return {"mq_recover": dag}
