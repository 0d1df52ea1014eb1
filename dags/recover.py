"""`mq_recover`: chosen messages are replayed, moved, copied, parked or discarded, or a run is undone, by hand."""

from __future__ import annotations

from airflow.sdk import DAG, TriggerRule

from mqops.estate import MAX_UNIT_OF_WORK, Approval, PacingSection, QueueManager, four_eyes
from mqops_airflow import params
from mqops_airflow.assets import workflow_asset
from mqops_airflow.documentation import RECOVER
from mqops_airflow.notify import named
from mqops_airflow.pipeline import TEMPLATES, approve_task, planned_task
from mqops_airflow.recover import RecoverPlanOperator
from mqops_airflow.retry import default_args
from mqops_airflow.undo import UndoActOperator, UndoProveOperator, UndoRouteOperator
from mqops_airflow.which_run import undoable
from mqops_airflow.workplace import estate_file, lake

_FILE = estate_file()
WORKFLOW = "recover"
FOLDER = "{{ handed_on(dag_run, params['queue_manager'])['folder'] }}"


def policy_for(settings: list[QueueManager]) -> Approval:
    """A person approves every plan, another one than who asks where any workflow of the estate wants that."""
    return Approval(four_eyes=four_eyes(settings))


def build(settings: dict[str, QueueManager]) -> DAG:
    """The DAG for all queue managers of the estate."""
    approval = policy_for(list(settings.values()))
    with DAG(
        f"mq_{WORKFLOW}",
        description="Replay, move, copy, park or discard chosen messages, or undo a run",
        doc_md=RECOVER,
        schedule=None,
        catchup=False,
        tags=["mq", WORKFLOW],
        default_args=default_args(),
        user_defined_macros=TEMPLATES,
        params={
            "queue_manager": params.queue_manager(settings),
            **params.recovery(undoable(lake(_FILE), settings)),
            "dry_run": params.dry_run(scheduled=False),
            "unit_of_work": params.unit_of_work(200, MAX_UNIT_OF_WORK),
            **params.pacing(PacingSection()),
        },
    ) as dag:
        plan = RecoverPlanOperator(task_id="plan", four_eyes=approval.four_eyes)
        route = UndoRouteOperator(task_id="route", folder=FOLDER, approval=approval)
        approve = approve_task(FOLDER, approval, _FILE.estate.notify)
        act = UndoActOperator(task_id="act", folder=FOLDER, approval=approval)
        prove = UndoProveOperator(
            task_id="prove",
            plan_task="plan",
            act_task="act",
            asset=workflow_asset("mq", WORKFLOW, "report"),
            notify=named(_FILE.estate.notify),
            trigger_rule=TriggerRule.ALL_DONE,
        )
        plan >> route >> [approve, prove]
        approve >> act >> prove
        plan >> planned_task()
    return dag


mq_recover = build(dict(_FILE.estate.queue_managers))
