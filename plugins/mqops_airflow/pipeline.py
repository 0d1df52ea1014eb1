"""The tasks that every workflow with a plan has behind its check: observe, decide, route, approve, act, prove."""

from __future__ import annotations

from airflow.sdk import BaseOperator, TriggerRule

from mqops.estate import Approval, dag_prefix
from mqops_airflow.act import PlanActOperator
from mqops_airflow.approval import PlanApprovalOperator
from mqops_airflow.assets import workflow_asset
from mqops_airflow.prove import ProveOperator
from mqops_airflow.route import PlanRouteOperator
from mqops_airflow.spark import MqSparkSubmitOperator
from mqops_airflow.workplace import spark_job

CHECKED = "{{{{ ti.xcom_pull(task_ids='check')['{}'] }}}}".format
FOLDER = CHECKED("folder")


def observe_task(name: str, workflow: str, *, queues: str, limit: str, **submitted: str) -> MqSparkSubmitOperator:
    """The task that takes the snapshot.

    :param name: of the queue manager.
    :param queues: key of the queues in the XCom of `check`, `limit` that of the most messages of each.
    :param submitted: the connections, `mq_conn_id` and `conn_id`.
    """
    return MqSparkSubmitOperator(
        task_id="observe",
        name=f"{dag_prefix(name)} observe",
        application=spark_job("observe"),
        application_args=[f"--run={FOLDER}", f"--queue-manager={name}", f"--limit={CHECKED(limit)}"],
        repeated={"--queue": CHECKED(queues)},
        summary=f"{FOLDER}/observe.json",
        shown=("run", "queue_manager", "observed_at", "messages", "bytes", "queues"),
        asset=workflow_asset(name, workflow, "snapshot"),
        once=True,
        **submitted,
    )


def approve_task(folder: str, approval: Approval) -> PlanApprovalOperator:
    """The task that asks a person, once, as the estate says.

    :param folder: of the run (a template).
    """
    return PlanApprovalOperator(
        task_id="approve",
        folder=folder,
        four_eyes=approval.four_eyes,
        response_timeout=approval.timeout,
        retries=0,
    )


def plan_and_act(
    check: BaseOperator, *, name: str, workflow: str, mq_conn_id: str, spark_conn_id: str, approval: Approval
) -> None:
    """Put the tasks behind `check`, inside the DAG that is being built.

    :param check: its XCom has folder, queue (names with commas), rules, observe_limit, limit, message_ids, unit_size,
        canary, canary_wait, pace, in_flight, patience.
    :param name: of the queue manager.
    """
    prefix = dag_prefix(name)
    submitted = {"mq_conn_id": mq_conn_id, "conn_id": spark_conn_id}
    observe = observe_task(name, workflow, queues="queue", limit="observe_limit", **submitted)
    decide = MqSparkSubmitOperator(
        task_id="decide",
        name=f"{prefix} decide",
        application=spark_job("decide"),
        application_args=[
            f"--run={FOLDER}",
            f"--workflow={workflow}",
            f"--rules={CHECKED('rules')}",
            f"--limit={CHECKED('limit')}",
            f"--canary={CHECKED('canary')}",
            f"--canary-wait={CHECKED('canary_wait')}",
            f"--pace={CHECKED('pace')}",
            f"--in-flight={CHECKED('in_flight')}",
            f"--patience={CHECKED('patience')}",
        ],
        repeated={"--message-id": CHECKED("message_ids")},
        summary=f"{FOLDER}/plan.json",
        shown=("run", "queue", "table_digest", "digest", "rows", "bytes", "actions", "rules"),
        asset=workflow_asset(name, workflow, "plan"),
        **submitted,
    )
    route = PlanRouteOperator(
        task_id="route",
        folder=FOLDER,
        mq_conn_id=mq_conn_id,
        approval=approval,
        plan_task="decide",
        ways={"stop": "prove", "ask": "approve", "act": "act"},
    )
    approve = approve_task(FOLDER, approval)
    act = PlanActOperator(
        task_id="act",
        name=f"{prefix} act",
        application=spark_job("act"),
        application_args=[f"--run={FOLDER}", f"--unit-size={CHECKED('unit_size')}"],
        summary=f"{FOLDER}/act.json",
        four_eyes=approval.four_eyes,
        trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS,
        **submitted,
    )
    prove = ProveOperator(
        task_id="prove",
        mq_conn_id=mq_conn_id,
        check_task="check",
        plan_task="decide",
        act_task="act",
        asset=workflow_asset(name, workflow, "report"),
        trigger_rule=TriggerRule.ALL_DONE,
    )
    check >> observe >> decide >> route >> [approve, act, prove]
    approve >> act >> prove
