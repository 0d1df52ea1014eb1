"""The tasks that every workflow with a plan has behind its check: observe, decide, route, approve, act, prove."""

from __future__ import annotations

from airflow.sdk import BaseOperator, TriggerRule

from mqops.estate import Approval, dag_prefix
from mqops_airflow.approval import PlanApprovalOperator
from mqops_airflow.assets import workflow_asset
from mqops_airflow.prove import ProveOperator
from mqops_airflow.route import PlanRouteOperator
from mqops_airflow.spark import MqSparkSubmitOperator
from mqops_airflow.workplace import spark_job

CHECKED = "{{{{ ti.xcom_pull(task_ids='check')['{}'] }}}}".format
FOLDER = CHECKED("folder")
DIGEST = "{{ ti.xcom_pull(task_ids='route', key='verdict')['digest'] }}"
REQUESTER = "{{ dag_run.triggering_user_name or dag_run.run_type.value }}"
APPROVER = "{{ (ti.xcom_pull(task_ids='approve', key='decision') or {'by': 'the policy of the estate'})['by'] }}"


def plan_and_act(
    check: BaseOperator, *, name: str, workflow: str, mq_conn_id: str, spark_conn_id: str, approval: Approval
) -> None:
    """Put the tasks behind `check`, inside the DAG that is being built.

    :param check: its XCom has folder, queue (names with commas), rules, observe_limit, limit, message_ids, unit_size.
    :param name: of the queue manager.
    """
    prefix = dag_prefix(name)
    submitted = {"mq_conn_id": mq_conn_id, "conn_id": spark_conn_id}
    observe = MqSparkSubmitOperator(
        task_id="observe",
        name=f"{prefix} observe",
        application=spark_job("observe"),
        application_args=[
            f"--run={FOLDER}",
            f"--queue-manager={name}",
            f"--limit={CHECKED('observe_limit')}",
        ],
        repeated={"--queue": CHECKED("queue")},
        summary=f"{FOLDER}/observe.json",
        shown=("run", "queue_manager", "observed_at", "messages", "bytes", "queues"),
        asset=workflow_asset(name, workflow, "snapshot"),
        once=True,
        **submitted,
    )
    decide = MqSparkSubmitOperator(
        task_id="decide",
        name=f"{prefix} decide",
        application=spark_job("decide"),
        application_args=[
            f"--run={FOLDER}",
            f"--workflow={workflow}",
            f"--rules={CHECKED('rules')}",
            f"--limit={CHECKED('limit')}",
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
    approve = PlanApprovalOperator(
        task_id="approve",
        folder=FOLDER,
        route_task="route",
        four_eyes=approval.four_eyes,
        response_timeout=approval.timeout,
        retries=0,
    )
    act = MqSparkSubmitOperator(
        task_id="act",
        name=f"{prefix} act",
        application=spark_job("act"),
        application_args=[
            f"--run={FOLDER}",
            f"--plan-digest={DIGEST}",
            f"--unit-size={CHECKED('unit_size')}",
            f"--requested-by={REQUESTER}",
            f"--approved-by={APPROVER}",
        ],
        summary=f"{FOLDER}/act.json",
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
