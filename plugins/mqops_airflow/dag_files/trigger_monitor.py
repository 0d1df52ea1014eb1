"""`<queue manager>_trigger_monitor`: trigger messages start the DAGs that PROCESS definitions name."""

from __future__ import annotations

from airflow.sdk import DAG, Asset, AssetWatcher

from mqops.estate_sections import QueueManager, dag_prefix, startable
from mqops.estate_workflows import TriggerMonitor
from mqops_airflow.connections.trigger_monitor import TriggerMessages
from mqops_airflow.operators.start_runs import StartRunsOperator
from mqops_airflow.runs.workplace import dags_of, estate_file
from mqops_airflow.workflows.dag import made
from mqops_airflow.workflows.documentation import trigger_monitor_page

WORKFLOW = "trigger_monitor"
RETRIES = 30
"""Ten minutes: nobody starts this DAG again if the queue manager or Airflow's API does not answer for a while."""


def build(name: str, settings: QueueManager, section: TriggerMonitor) -> DAG:
    """The DAG of one queue manager; while it is paused, nobody serves the initiation queues."""
    prefix = dag_prefix(name)
    messages = TriggerMessages(queue_manager=name, mq_conn_id=settings.connection, queues=section.queues)
    asset = Asset(
        name=f"{prefix}_trigger_messages",
        uri=f"x-mqops://{prefix}/{WORKFLOW}/trigger_messages",
        group="mqops",
        watchers=[AssetWatcher(name=f"{prefix}_{WORKFLOW}", trigger=messages)],
    )
    with made(
        f"{prefix}_{WORKFLOW}",
        WORKFLOW,
        name,
        description=f"Trigger monitor of {name}",
        page=trigger_monitor_page(name, section, startable(name, settings)),
        schedule=[asset],
        at_once=1,
    ) as dag:
        StartRunsOperator(task_id="start_runs", queue_manager=name, asset=asset, retries=RETRIES)
    return dag


def dags() -> dict[str, DAG]:
    """The DAGs by their ids, one for each queue manager that has the section in the estate."""
    return dags_of(WORKFLOW, build, estate_file().estate)
