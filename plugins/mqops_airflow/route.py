"""The task that sends a plan on its way: to nobody, to a person, or straight to act (see `mqops_airflow.policy`)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseBranchOperator

from mqops.estate import Approval, AutoApprove
from mqops_airflow.policy import judge

if TYPE_CHECKING:
    from airflow.sdk import Context


class PlanRouteOperator(BaseBranchOperator):
    """Chooses among the tasks behind it by the estate's policy; the XCom `verdict` says which way and why.

    :param approval: the estate's policy.
    :param plan_task: task whose XCom has the plan's `actions` and `digest`.
    :param ways: way (stop, ask, act) → task to go on with.
    """

    def __init__(self, *, approval: Approval, plan_task: str, ways: dict[str, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.approval = plain(approval)
        self.plan_task = plan_task
        self.ways = ways

    def choose_branch(self, context: Context) -> str:
        plan = context["ti"].xcom_pull(task_ids=self.plan_task)
        verdict = judge(
            messages=plan["actions"],
            approval=restored(self.approval),
            dry_run=bool(context["params"]["dry_run"]),
            by_hand=context["dag_run"].run_type == "manual",
        )
        self.log.info("Plan %s: %s (%s)", plan["digest"], verdict.way, verdict.why)
        value = {"way": verdict.way, "why": verdict.why, "digest": plan["digest"]}
        context["ti"].xcom_push(key="verdict", value=value)
        return self.ways[verdict.way]


def plain(approval: Approval) -> dict[str, Any]:
    """A policy as values that Airflow stores with the DAG."""
    return {**approval.model_dump(mode="json"), "timeout": approval.timeout.total_seconds()}


def restored(value: dict[str, Any]) -> Approval:
    """The policy that `plain` made."""
    automatic = value["auto_approve"]
    return Approval(
        required=value["required"],
        timeout=timedelta(seconds=value["timeout"]),
        four_eyes=value["four_eyes"],
        auto_approve=AutoApprove(**automatic) if automatic else None,
    )
