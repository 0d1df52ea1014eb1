"""`<queue manager>_snapshot`: the queues of each queue manager of the estate, copied into the lake."""

from __future__ import annotations

from functools import partial

from airflow.sdk import DAG

from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager
from mqops.estate_workflows import Snapshots
from mqops_airflow.forms import params
from mqops_airflow.operators.snapshot import SnapshotCheckOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.workflows.dag import of_manager
from mqops_airflow.workflows.documentation import snapshot_page
from mqops_airflow.workflows.pipeline import observe_task

WORKFLOW = "snapshot"


def build(file: EstateFile, name: str, settings: QueueManager, section: Snapshots) -> DAG:
    """The DAG of one queue manager."""
    with of_manager(
        name,
        WORKFLOW,
        section.schedule,
        description=f"Copies of the messages on {name}",
        page=snapshot_page(name, section),
        form={
            "queues": params.queues(section.queues),
            "first_tell": params.first_tell(),
            "limit": params.limit(section.limit),
        },
    ) as dag:
        check = SnapshotCheckOperator(task_id="check", queue_manager=name)
        check >> observe_task(
            name,
            WORKFLOW,
            queues="queues",
            limit="limit",
            mq_conn_id=settings.connection,
            conn_id=file.estate.spark_connection(name),
        )
    return dag


def dags() -> dict[str, DAG]:
    """The DAGs by their ids, one for each queue manager that has the section in the estate."""
    file = estate_file()
    return dags_of(WORKFLOW, partial(build, file), file.estate)
