"""`mq_lake_retention`: what old runs no longer need is removed from the lake, as `retention` of the estate says."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops.estate_sections import Retention
from mqops_airflow.forms import params
from mqops_airflow.operators.retention import LakeRetentionOperator
from mqops_airflow.runs.workplace import estate_file, schedule_of
from mqops_airflow.workflows.dag import made
from mqops_airflow.workflows.documentation import retention_page

DAG_ID = "mq_lake_retention"


def build(section: Retention) -> DAG:
    """The DAG of a lake."""
    with made(
        DAG_ID,
        "retention",
        description="Remove from the lake what old runs no longer need",
        page=retention_page(section),
        schedule=schedule_of(DAG_ID, section.schedule),
        at_once=1,
        form={"dry_run": params.dry_run()},
    ) as dag:
        LakeRetentionOperator(task_id="prune")
    return dag


def dags() -> dict[str, DAG]:
    """The DAG by its id; none where the estate has no `retention`."""
    return {DAG_ID: build(section)} if (section := estate_file().estate.retention) is not None else {}
