"""`<queue manager>_dlq_rules`: the dead-letter queue of each queue manager of the estate, by its rules table."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops import form_files
from mqops.estate_sections import DlqRules, QueueManager, dag_prefix
from mqops.estate_values import MAX_UNIT_OF_WORK
from mqops_airflow.forms import params
from mqops_airflow.notices.notify import deadline
from mqops_airflow.operators.check import DlqCheckOperator
from mqops_airflow.runs.workplace import dags_of, estate_file, schedule_of
from mqops_airflow.workflows.documentation import dlq_rules_page
from mqops_airflow.workflows.pipeline import MOST_RUNS, TEMPLATES, plan_and_act
from mqops_airflow.workflows.retry import default_args

_FILE = estate_file()
_ESTATE = _FILE.estate
WORKFLOW = "dlq_rules"


def build(name: str, settings: QueueManager, section: DlqRules) -> DAG:
    """The DAG of one queue manager."""
    prefix = dag_prefix(name)
    with DAG(
        f"{prefix}_{WORKFLOW}",
        description=f"Dead-letter queue rules of {name}",
        doc_md=dlq_rules_page(name, section),
        schedule=schedule_of(section.schedule),
        catchup=False,
        max_active_runs=MOST_RUNS,
        deadline=deadline(_ESTATE.notify, section.approval.timeout, name),
        tags=["mq", WORKFLOW, name],
        default_args=default_args(),
        user_defined_macros=TEMPLATES,
        params={
            "dry_run": params.dry_run(),
            "queue": params.queue(section.queue, what=", ".join((f"the dead-letter queue of {name}", *section.also))),
            "limit": params.limit(),
            "message_ids": params.message_ids(),
            "rules_file": params.rules_file(section.rules, form_files.tables(_FILE)),
            "unit_of_work": params.unit_of_work(section.unit_of_work, MAX_UNIT_OF_WORK),
            **params.pacing(section.handling),
        },
    ) as dag:
        plan_and_act(
            DlqCheckOperator(task_id="check", queue_manager=name, four_eyes=section.approval.four_eyes),
            name=name,
            workflow=WORKFLOW,
            mq_conn_id=settings.connection,
            spark_conn_id=_ESTATE.spark_connection(name),
            approval=section.approval,
            notify=_ESTATE.notify,
        )
    return dag


globals().update(dags_of(WORKFLOW, build, _ESTATE))
