"""`<queue manager>_expiry_scan` at the interval of the estate, and `mq_refresh_expiry` by hand."""

from __future__ import annotations

from functools import partial

from airflow.sdk import DAG

from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager, dag_prefix
from mqops.estate_workflows import ExpiryScan
from mqops.jobs import job
from mqops_airflow.forms import params
from mqops_airflow.notices.notify import usable
from mqops_airflow.operators.expiry import ExpiryCheckOperator, ExpiryReportOperator, RefreshExpiryOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.spark.submit import MqSparkSubmitOperator
from mqops_airflow.workflows.assets import workflow_asset
from mqops_airflow.workflows.dag import made, of_manager
from mqops_airflow.workflows.documentation import REFRESH_EXPIRY, expiry_scan_page
from mqops_airflow.workflows.pipeline import checked

WORKFLOW = "expiry_scan"


def build(file: EstateFile, name: str, settings: QueueManager, section: ExpiryScan) -> DAG:
    """The DAG of one queue manager."""
    prefix, folder = dag_prefix(name), checked(name, "folder")
    with of_manager(
        name,
        WORKFLOW,
        section.interval,
        description=f"Expired messages of {name}",
        page=expiry_scan_page(name, section),
        form={
            "queues": params.queues(section.queues),
            "all_filled": params.all_filled(),
            "first_tell": params.first_tell(),
        },
    ) as dag:
        notify = usable(file.estate.notify)
        check = ExpiryCheckOperator(
            task_id="check", queue_manager=name, recheck=section.recheck.total_seconds(), notify=notify
        )
        scan = MqSparkSubmitOperator(
            task_id="scan",
            name=f"{prefix} expiry",
            application=job("expiry"),
            application_args=[f"--run={folder}", f"--queue-manager={name}"],
            repeated={"--queue": checked(name, "queue")},
            summary=f"{folder}/expiry.json",
            shown=("run", "queue_manager", "found", "done", "left", "next_expiry"),
            mq_conn_id=settings.connection,
            conn_id=file.estate.spark_connection(name),
        )
        report = ExpiryReportOperator(
            task_id="report",
            folder=folder,
            asset=workflow_asset(name, WORKFLOW, "report"),
            queue_manager=name,
            notify=notify,
        )
        check >> scan >> report
    return dag


def build_refresh(names: list[str]) -> DAG:
    """The DAG of the explicit request, for all queue managers."""
    with made(
        "mq_refresh_expiry",
        "refresh_expiry",
        description="Discard expired messages now: REFRESH QMGR TYPE(EXPIRY), or the same by scan",
        page=REFRESH_EXPIRY,
        form={
            "queue_manager": params.queue_manager(names),
            "name": params.generic_name(),
            "first_tell": params.first_tell(leaves="all queues"),
        },
    ) as dag:
        RefreshExpiryOperator(task_id="refresh")
    return dag


def dags() -> dict[str, DAG]:
    """The DAGs by their ids: one for each queue manager that has the section in the estate, and `mq_refresh_expiry`."""
    file = estate_file()
    return dags_of(WORKFLOW, partial(build, file), file.estate) | {
        "mq_refresh_expiry": build_refresh(sorted(file.estate.queue_managers))
    }
