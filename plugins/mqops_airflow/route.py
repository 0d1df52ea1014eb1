"""The task that looks at a plan's destinations and sends it on its way: to nobody, to a person, or straight to act."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseBranchOperator

from mqops.estate import Approval, AutoApprove
from mqops.printable import printable
from mqops_airflow.hook import MqHook
from mqops_airflow.policy import UNATTENDED, judge

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.decide.core.preflight import Preflight


class PlanRouteOperator(BaseBranchOperator):
    """Chooses among the tasks behind it by the estate's policy; the XCom `verdict` says which way and why.

    Before that it makes the pre-flight of the plan: RUN/preflight.json, and a warning in the log a finding. What is
    found fails nothing, but a plan that leaves doubts is never approved by the policy (see `mqops_airflow.policy`).

    :param folder: the run's folder (templated).
    :param mq_conn_id: Airflow connection of type `mq`.
    :param approval: the estate's policy.
    :param plan_task: task whose XCom has the plan's `actions` and `digest`.
    :param ways: way (stop, ask, act) → task to go on with.
    """

    template_fields = ("folder",)

    def __init__(
        self,
        *,
        folder: str,
        mq_conn_id: str,
        approval: Approval,
        plan_task: str,
        ways: dict[str, str],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.folder = folder
        self.mq_conn_id = mq_conn_id
        self.approval = plain(approval)
        self.plan_task = plan_task
        self.ways = ways

    def choose_branch(self, context: Context) -> str:
        plan = context["ti"].xcom_pull(task_ids=self.plan_task)
        found = self._preflight()
        verdict = judge(
            messages=plan["actions"],
            approval=restored(self.approval),
            dry_run=bool(context["params"]["dry_run"]),
            by_hand=context["dag_run"].run_type not in UNATTENDED,
            doubts=len(found.doubts),
        )
        self.log.info("Plan %s: %s (%s)", plan["digest"], verdict.way, verdict.why)
        value = {"way": verdict.way, "why": verdict.why, "digest": plan["digest"]}
        context["ti"].xcom_push(key="verdict", value=value)
        return self.ways[verdict.way]

    def _preflight(self) -> Preflight:
        from mqops.decide.core.preflight import shown  # noqa: PLC0415
        from mqops.decide.preflight import preflight  # noqa: PLC0415 - loads the MQ library
        from mqops.lake.run import RunFolder  # noqa: PLC0415

        found = preflight(MqHook(self.mq_conn_id).get_conn(), RunFolder(Path(self.folder)))
        for line in (*shown(found.findings), *found.remarks):
            self.log.warning("%s", printable(line))
        self.log.info("Pre-flight of %d destinations: %d findings", found.destinations, len(found.findings))
        return found


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
