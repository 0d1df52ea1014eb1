"""`<queue manager>_snapshot_quality`: messages on each queue manager's queues, by suites of expectations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from airflow.sdk import DAG

from mqops import form_files
from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager, dag_prefix
from mqops.estate_workflows import SnapshotQuality
from mqops.jobs import job
from mqops_airflow.forms import params
from mqops_airflow.notices.notify import usable
from mqops_airflow.operators.quality import QualityCheckOperator, QualityReportOperator, QualitySubmitOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.workflows.assets import workflow_asset
from mqops_airflow.workflows.dag import of_manager
from mqops_airflow.workflows.documentation import snapshot_quality_page
from mqops_airflow.workflows.pipeline import checked, observe_task

WORKFLOW = "snapshot_quality"


def build(file: EstateFile, suites: Sequence[str], name: str, settings: QueueManager, section: SnapshotQuality) -> DAG:
    """The DAG of one queue manager. Parameters: `suites` that its form may name."""
    prefix, folder = dag_prefix(name), checked(name, "folder")
    with of_manager(
        name,
        WORKFLOW,
        section.schedule,
        description=f"Data quality of the messages on {name}",
        page=snapshot_quality_page(name, section),
        form={
            "queues": params.queues(section.queues),
            "first_tell": params.first_tell(leaves="all queues"),
            "suites": params.suites(section.suites, suites),
            "limit": params.limit(section.limit),
        },
    ) as dag:
        submitted: Any = {"mq_conn_id": settings.connection, "conn_id": file.estate.spark_connection(name)}
        notify = usable(file.estate.notify)
        check = QualityCheckOperator(task_id="check", queue_manager=name, notify=notify)
        observe = observe_task(name, WORKFLOW, queues="queues", limit="limit", **submitted)
        quality = QualitySubmitOperator(
            task_id="quality",
            name=f"{prefix} quality",
            application=job("quality"),
            application_args=[f"--run={folder}"],
            snapshot=f"{folder}/snapshot",
            repeated={"--suite": checked(name, "suites")},
            summary=f"{folder}/quality/quality.json",
            shown=(
                "run",
                "queue_manager",
                "found",
                "done",
                "left",
                "not_checked",
                "balanced",
                "failed",
                "messages",
                "suites",
            ),
            **submitted,
        )
        report = QualityReportOperator(
            task_id="report",
            folder=folder,
            asset=workflow_asset(name, WORKFLOW, "report"),
            notify=notify,
            retries=0,
        )
        check >> observe >> quality >> report
    return dag


def dags() -> dict[str, DAG]:
    """The DAGs by their ids, one for each queue manager that has the section in the estate."""
    file = estate_file()
    return dags_of(WORKFLOW, partial(build, file, form_files.suites(file)), file.estate)
