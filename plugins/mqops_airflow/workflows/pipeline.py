"""The tasks of every workflow with a plan: observe, decide, route, approve, act, prove. DAGs for all queue managers."""

from __future__ import annotations

from collections.abc import Sequence

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, BaseOperator, TriggerRule

from mqops.estate import EstateFile
from mqops.estate_sections import Notify, QueueManager, dag_prefix
from mqops.estate_values import MAX_UNIT_OF_WORK
from mqops.estate_workflows import Approval, BackoutReprocess, DlqRules, PacingSection, PoisonGuard
from mqops.jobs import job
from mqops.workflow import Workflow
from mqops_airflow.forms import params
from mqops_airflow.notices.notify import deadline, usable
from mqops_airflow.operators.act import PlanActOperator
from mqops_airflow.operators.approval import PlanApprovalOperator
from mqops_airflow.operators.in_task import InTaskActOperator, InTaskProveOperator, InTaskRouteOperator
from mqops_airflow.operators.prove import ProveOperator
from mqops_airflow.operators.route import PlanRouteOperator
from mqops_airflow.spark.submit import MqSparkSubmitOperator
from mqops_airflow.workflows.assets import workflow_asset
from mqops_airflow.workflows.dag import Fields, made, of_manager

MOST_RUNS = 8
"""Runs of one DAG at the same time, so that a plan that waits for its answer does not keep the others waiting. Two that
would act on the same queue do not: see `mqops_airflow.approval.which_run.waited_for`."""
CHOOSE_QUEUES = frozenset({Workflow.BACKOUT_REPROCESS, Workflow.SNAPSHOT, Workflow.SNAPSHOT_QUALITY})
"""Workflows that find their queues by patterns or definitions: one that ends meanwhile, as a dynamic queue does with
its program, is passed over."""


def checked(queue_manager: str, key: str) -> str:
    """Template of one thing that the first task of the run handed on (see `mqops_airflow.runs.run_folder`).

    :param key: its name, or `folder`.
    """
    return f"{{{{ handed_on(dag_run, '{queue_manager}')['{key}'] }}}}"


def observe_task(
    name: str, workflow: str, *, queues: str, limit: str, mq_conn_id: str, conn_id: str
) -> MqSparkSubmitOperator:
    """The task that takes the snapshot.

    :param name: of the queue manager.
    :param queues: what `check` calls the queues that it hands on, `limit` the most messages of each.
    :param mq_conn_id: Airflow connection to the queue manager, `conn_id` to Spark.
    """
    folder = checked(name, "folder")
    return MqSparkSubmitOperator(
        task_id="observe",
        name=f"{dag_prefix(name)} observe",
        application=job("observe"),
        application_args=[
            f"--run={folder}",
            f"--queue-manager={name}",
            f"--limit={checked(name, limit)}",
            *(["--some-may-end"] if workflow in CHOOSE_QUEUES else []),
        ],
        repeated={"--queue": checked(name, queues)},
        summary=f"{folder}/observe.json",
        shown=("run", "queue_manager", "observed_at", "messages", "bytes", "queues"),
        asset=workflow_asset(name, workflow, "snapshot"),
        once=True,
        mq_conn_id=mq_conn_id,
        conn_id=conn_id,
    )


def approve_task(folder: str, approval: Approval, notify: Notify | None) -> PlanApprovalOperator:
    """The task that asks a person, once, as the estate says.

    :param folder: of the run (a template).
    """
    return PlanApprovalOperator(task_id="approve", folder=folder, approval=approval, notify=usable(notify))


def planned_task() -> EmptyOperator:
    """A task that does nothing. Without a plan it is `upstream_failed`, and so the run has failed.

    `prove` is skipped then: it has nothing to prove, and a skipped last task alone would make the run a success.
    """
    return EmptyOperator(task_id="planned")


def plan_and_act(
    check: BaseOperator,
    *,
    name: str,
    workflow: str,
    mq_conn_id: str,
    spark_conn_id: str,
    approval: Approval,
    notify: Notify | None,
) -> None:
    """Put the tasks behind `check`, inside the DAG that is being built.

    :param check: it hands on queue (names with commas), rules, observe_limit, limit, message_ids, unit_size, and the
        fields of `PacingSection`.
    :param name: of the queue manager.
    """
    prefix, folder = dag_prefix(name), checked(name, "folder")
    observe = observe_task(
        name, workflow, queues="queue", limit="observe_limit", mq_conn_id=mq_conn_id, conn_id=spark_conn_id
    )
    decide = MqSparkSubmitOperator(
        task_id="decide",
        name=f"{prefix} decide",
        application=job("decide"),
        application_args=[
            f"--run={folder}",
            f"--workflow={workflow}",
            f"--rules={checked(name, 'rules')}",
            f"--limit={checked(name, 'limit')}",
            *(f"--{one.replace('_', '-')}={checked(name, one)}" for one in PacingSection.model_fields),
        ],
        repeated={"--message-id": checked(name, "message_ids")},
        summary=f"{folder}/plan.json",
        shown=("run", "queue", "table_digest", "digest", "rows", "bytes", "actions", "rules"),
        asset=workflow_asset(name, workflow, "plan"),
        mq_conn_id=mq_conn_id,
        conn_id=spark_conn_id,
    )
    route = PlanRouteOperator(
        task_id="route",
        folder=folder,
        mq_conn_id=mq_conn_id,
        approval=approval,
        notify=usable(notify),
        ways={"stop": "prove", "ask": "approve", "act": "act"},
    )
    approve = approve_task(folder, approval, notify)
    act = PlanActOperator(
        task_id="act",
        name=f"{prefix} act",
        application=job("act"),
        application_args=[f"--run={folder}", f"--unit-size={checked(name, 'unit_size')}"],
        summary=f"{folder}/act.json",
        folder=folder,
        approval=approval,
        trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS,
        mq_conn_id=mq_conn_id,
        conn_id=spark_conn_id,
    )
    prove = ProveOperator(
        task_id="prove",
        mq_conn_id=mq_conn_id,
        queue_manager=name,
        plan_task="decide",
        act_task="act",
        asset=workflow_asset(name, workflow, "report"),
        notify=usable(notify),
        workflow=workflow,
        trigger_rule=TriggerRule.ALL_DONE,
    )
    check >> observe >> decide >> route >> [approve, act, prove]
    approve >> act >> prove
    decide >> planned_task()


def by_rules(
    name: str,
    settings: QueueManager,
    section: DlqRules | BackoutReprocess,
    file: EstateFile,
    tables: Sequence[str],
    *,
    workflow: str,
    description: str,
    page: str,
    check: type[BaseOperator],
    queues: Fields,
    more: Fields | None = None,
) -> DAG:
    """The DAG `<queue manager>_<workflow>` of a workflow that decides by a rules table.

    :param name: of the queue manager, `settings` and `section` what the estate `file` says of it and of the workflow.
    :param tables: rules tables that the form may name.
    :param page: what the DAG's page says.
    :param check: the operator of the first task.
    :param queues: the field of the form that names the queues, `more` its fields behind the rules table.
    """
    notify = file.estate.notify
    with of_manager(
        name,
        workflow,
        section.schedule,
        description=description,
        page=page,
        at_once=MOST_RUNS,
        deadlines=deadline(notify, section.approval.timeout, name),
        form={
            "dry_run": params.dry_run(),
            **queues,
            "first_tell": params.first_tell(),
            "limit": params.limit(),
            "message_ids": params.message_ids(),
            "rules_file": params.rules_file(section.rules, tables),
            **(more or {}),
            "unit_of_work": params.unit_of_work(section.unit_of_work, MAX_UNIT_OF_WORK),
            **params.pacing(section.handling),
        },
    ) as dag:
        plan_and_act(
            check(task_id="check", queue_manager=name, four_eyes=section.approval.four_eyes),
            name=name,
            workflow=workflow,
            mq_conn_id=settings.connection,
            spark_conn_id=file.estate.spark_connection(name),
            approval=section.approval,
            notify=notify,
        )
    return dag


def for_all(
    workflow: str,
    plan_operator: type[BaseOperator],
    file: EstateFile,
    *,
    description: str,
    page: str,
    form: Fields,
    pacing: Fields | None = None,
) -> DAG:
    """The DAG `mq_<workflow>` for all queue managers of the estate: started by hand, planned and acted on in its tasks.

    A person approves every plan, another one than who asks where any workflow of the estate wants that.

    :param plan_operator: of the first task; it is made with `four_eyes`, whether the estate asks for four eyes.
    :param form: its fields besides dry run, queue manager and unit of work.
    :param pacing: the fields behind the unit of work, none where the form has no pacing.
    """
    notify = file.estate.notify
    approval = Approval(four_eyes=file.four_eyes())
    with made(
        f"mq_{workflow}",
        workflow,
        description=description,
        page=page,
        at_once=MOST_RUNS,
        form={
            "dry_run": params.dry_run(scheduled=False),
            "queue_manager": params.queue_manager(file.estate.queue_managers),
            **form,
            "unit_of_work": params.unit_of_work(200, MAX_UNIT_OF_WORK),
            **(pacing or {}),
        },
    ) as dag:
        plan = plan_operator(task_id="plan", four_eyes=approval.four_eyes)
        in_tasks(plan, approval, notify, workflow_asset("mq", workflow, "report"), asks=True)
    return dag


def in_tasks(plan: BaseOperator, approval: Approval, notify: Notify | None, asset: Asset, *, asks: bool) -> None:
    """Put the tasks behind `plan`, which makes the plan of the queue manager that the form names, inside the DAG that
    is being built. They act in the task itself, without Spark.

    :param asset: whose event gets the summary of the proof.
    :param asks: whether a person approves every plan, so that no way leads from `route` to `act`.
    """
    folder = "{{ handed_on(dag_run, params['queue_manager'])['folder'] }}"
    route = InTaskRouteOperator(task_id="route", folder=folder, approval=approval, notify=usable(notify))
    approve = approve_task(folder, approval, notify)
    rule = TriggerRule.ALL_SUCCESS if asks else TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS
    act = InTaskActOperator(task_id="act", folder=folder, approval=approval, trigger_rule=rule)
    prove = InTaskProveOperator(
        task_id="prove",
        plan_task="plan",
        act_task="act",
        asset=asset,
        notify=usable(notify),
        trigger_rule=TriggerRule.ALL_DONE,
    )
    plan >> route >> ([approve, prove] if asks else [approve, act, prove])
    approve >> act >> prove
    plan >> planned_task()


def in_one_process(
    name: str,
    section: PoisonGuard,
    file: EstateFile,
    *,
    workflow: str,
    plan_operator: type[BaseOperator],
    description: str,
    page: str,
    form: Fields,
) -> DAG:
    """The DAG `<queue manager>_<workflow>` of a workflow whose tasks plan and act themselves, without Spark.

    :param name: of the queue manager, `section` what the estate `file` says of the workflow.
    :param plan_operator: of the first task; it is made with `queue_manager` and `four_eyes`.
    :param form: its fields besides dry run, queue manager and unit of work.
    """
    notify = file.estate.notify
    with of_manager(
        name,
        workflow,
        section.schedule,
        description=description,
        page=page,
        at_once=MOST_RUNS,
        deadlines=deadline(notify, section.approval.timeout, name),
        form={
            "dry_run": params.dry_run(),
            "queue_manager": params.queue_manager([name]),
            **form,
            "unit_of_work": params.unit_of_work(section.unit_of_work, MAX_UNIT_OF_WORK),
        },
    ) as dag:
        plan = plan_operator(task_id="plan", queue_manager=name, four_eyes=section.approval.four_eyes)
        in_tasks(plan, section.approval, notify, workflow_asset(name, workflow, "report"), asks=False)
    return dag
