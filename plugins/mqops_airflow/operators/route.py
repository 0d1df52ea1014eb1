"""The task that checks a plan's destinations and chooses the next task: prove, approve or act."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseBranchOperator

from mqops.counted import counted
from mqops.decide.core.gate import GATE_SAYS
from mqops.estate_sections import Notify
from mqops.estate_workflows import Approval
from mqops.lake.run import RunFolder
from mqops.printable import printable
from mqops_airflow.approval import answer
from mqops_airflow.approval.policy import verdict_on
from mqops_airflow.connections.hook import MqHook
from mqops_airflow.notices.notify import Notice, tell_people
from mqops_airflow.runs.plan_files import preflight_in, read_plan
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.decide.core import PlanSummary
    from mqops.decide.core.preflight import Preflight
    from mqops_airflow.approval.policy import Way


class RouteOperator(BaseBranchOperator):
    """Chooses among the tasks behind it by a policy. The XCom `verdict` tells people which way, why, and the digest.

    :param folder: the run's folder (templated).
    :param approval: the policy.
    :param notify: who is told what the gate of the plan says.
    """

    operator_extra_links = (RunLink(),)
    template_fields = ("folder",)

    def __init__(self, *, folder: str, approval: Approval, notify: Notify | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.notify = notify
        self.folder = folder
        self.approval = approval

    def _tell_of_gate(self, context: Context, plan: PlanSummary) -> None:
        """Tell people what the gate says, before anybody is asked."""
        said = [remark for remark in plan.remarks if remark.startswith(GATE_SAYS)]
        if said and plan.gate:
            told = {"queue_manager": plan.queue_manager, "queue": plan.queue, "digest": plan.digest[:16]}
            tell_people(self.notify, context, Notice.GATED, why="; ".join(said), **told)

    def way(self, context: Context, plan: PlanSummary, found: Preflight | None) -> Way:
        """The way of a plan with its pre-flight."""
        self._tell_of_gate(context, plan)
        verdict = verdict_on(plan, found, approval=self.approval, context=context)
        self.log.info("Plan %s: %s (%s)", printable(plan.digest), printable(verdict.way), printable(verdict.why))
        value = {"way": verdict.way, "why": verdict.why, "digest": plan.digest}
        context["ti"].xcom_push(key="verdict", value=value)
        return verdict.way


class PlanRouteOperator(RouteOperator):
    """Chooses by the estate's policy.

    Before that it makes the pre-flight of the plan: RUN/preflight.json, and a warning in the log a finding. What is
    found fails nothing, but a plan that leaves doubts is never approved by the policy (see `approval.policy`).
    Where people were asked about the plan before, their pre-flight stays: Airflow would show them the same text again.

    :param mq_conn_id: Airflow connection of type `mq`.
    :param ways: way (stop, ask, act) → task to go on with.
    """

    def __init__(self, *, mq_conn_id: str, ways: dict[Way, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mq_conn_id = mq_conn_id
        self.ways = ways

    def choose_branch(self, context: Context) -> str:
        plan = read_plan(self.folder)
        return self.ways[self.way(context, plan, self._asked_about(plan.digest) or self._preflight())]

    def _asked_about(self, digest: str) -> Preflight | None:
        """The pre-flight that people were shown with this plan, None if no person was asked."""
        asked, found = answer.read_question(self.folder), preflight_in(self.folder)
        if asked is None or found is None or not asked.question.digest == found.plan == digest:
            return None
        self.log.info("Kept the pre-flight of %s, which the task approve showed to people", printable(found.checked_at))
        return found

    def _preflight(self) -> Preflight:
        from mqops.decide.core.preflight import shown  # noqa: PLC0415
        from mqops.decide.preflight import preflight  # noqa: PLC0415 - loads the MQ library

        found = preflight(MqHook(self.mq_conn_id).get_conn(), RunFolder(Path(self.folder)))
        for line in (*shown(found.findings), *found.remarks):
            self.log.warning("%s", printable(line))
        self.log.info(
            "Pre-flight of %s: %s", counted(found.destinations, "destination"), counted(len(found.findings), "finding")
        )
        return found
