"""The task that waits for a person: it shows the plan, and what it lets through is that very plan and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from mqops.errors import PlanChanged
from mqops.estate import Approval
from mqops.printable import printable
from mqops_airflow.permission import NotAllowed, permission
from mqops_airflow.plan_files import read_plan, read_preflight
from mqops_airflow.policy import plain, restored

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.execution_time.comms import HITLDetailRequestResult


class PlanApprovalOperator(ApprovalOperator):
    """Asks for the approval of RUN/plan.json. No answer in time is a rejection; a rejection skips what comes behind.

    RUN/approval.json has what was asked, and what Airflow recorded of the answer (see `mqops_airflow.answer`). A run
    asks about one plan only: Airflow keeps the text of its first question, whatever the task has to ask when it is
    cleared.

    :param folder: the run's folder (templated).
    :param approval: the estate's policy.
    """

    template_fields = (*ApprovalOperator.template_fields, "folder")

    def __init__(self, *, folder: str, approval: Approval, **kwargs: Any) -> None:
        super().__init__(
            subject="Approve the plan?", defaults=[self.REJECT], response_timeout=approval.timeout, **kwargs
        )
        self.folder = folder
        self.approval = plain(approval)

    def execute(self, context: Context) -> Any:
        """Ask.

        Raises:
            PlanChanged: the run has asked about another plan before, and that is the question people would see.
        """
        from mqops_airflow import answer, plan_text  # noqa: PLC0415

        plan = read_plan(self.folder)
        self.subject, self.body = plan_text.question(plan, read_preflight(self.folder), context)
        asked = answer.question(context, digest=plan.digest, subject=self.subject, body=self.body)
        answer.keep(self.folder, answer.Asked(question=asked, task_instance=str(context["ti"].id)))
        shown = self._shown(context)
        if (shown.subject, shown.body) != (self.subject, self.body):
            raise PlanChanged(
                f"this run has asked about another plan, which Airflow would show again: start a new run to have plan "
                f"{plan.digest} approved"
            )
        self.log.info("%s Plan %s", printable(self.subject), printable(plan.digest))
        return super().execute(context)

    def _shown(self, context: Context) -> HITLDetailRequestResult:
        """Put the question; returns what Airflow shows: this question, or the one of the first time it was put."""
        from airflow.sdk.execution_time import comms, task_runner  # noqa: PLC0415 - for running tasks only

        question = comms.CreateHITLDetailPayload(
            ti_id=context["ti"].id,
            options=self.options,
            subject=self.subject,
            body=self.body,
            defaults=self.defaults,
            multiple=self.multiple,
            params=self.serialized_params,
            assigned_users=[],
        )
        kept = task_runner.SUPERVISOR_COMMS.send(question)
        assert isinstance(kept, comms.HITLDetailRequestResult)
        return kept

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        if "error" not in event:
            self._record(context, event)
        return super().execute_complete(context, event)

    def _record(self, context: Context, event: dict[str, Any]) -> None:
        """Keep the answer that Airflow resumed this task with.

        Raises:
            NotAllowed: it is an approval that permits nothing: by the requester, or the plan was made anew meanwhile.
        """
        from mqops_airflow import answer  # noqa: PLC0415

        asked = answer.kept(self.folder)
        if asked is None or asked.task_instance != str(context["ti"].id):
            digest = read_plan(self.folder).digest
            raise NotAllowed(f"the answer is not about plan {digest}, which was made meanwhile: start a new run to ask")
        found = answer.answered(asked, event, approve=self.APPROVE)
        answer.keep(self.folder, found)
        assert found.answer is not None
        who = found.answer.by or "nobody (time-out)"
        self.log.info(
            "Plan %s: %s by %s",
            printable(asked.question.digest),
            "approved" if found.answer.approved else "rejected",
            printable(who),
        )
        if found.answer.approved:
            permission(context, self.folder, restored(self.approval))
