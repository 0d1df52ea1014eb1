"""The task that shows the plan to a person and waits for the answer. The answer holds for this plan only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from mqops.errors import PlanChanged
from mqops.estate_sections import Approval
from mqops.printable import printable
from mqops_airflow.notify import tell_people
from mqops_airflow.pages.views import RunLink
from mqops_airflow.permission import NotAllowed, permission
from mqops_airflow.plan_files import preflight_in, read_plan
from mqops_airflow.policy import plain, restored

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.execution_time.comms import HITLDetailRequestResult


class PlanApprovalOperator(ApprovalOperator):
    """Asks for the approval of RUN/plan.json. No answer in time is a rejection. After a rejection later tasks are
    skipped.

    RUN/approval.json has what was asked, and what Airflow recorded of the answer (see `mqops_airflow.answer`). A run
    asks about one plan only: Airflow keeps the text of its first question, whatever the task has to ask when it is
    cleared.

    :param folder: the run's folder (templated).
    :param approval: the estate's policy.
    :param notify: the estate's notifier (`mqops_airflow.notify.named`), which tells that the question is open.
    """

    operator_extra_links = (RunLink(),)
    template_fields = (*ApprovalOperator.template_fields, "folder")

    def __init__(
        self, *, folder: str, approval: Approval, notify: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(
            subject="Approve the plan?", defaults=[self.REJECT], response_timeout=approval.timeout, **kwargs
        )
        self.folder = folder
        self.approval = plain(approval)
        self.notify = notify

    def execute(self, context: Context) -> Any:
        """Write the question to RUN/approval.json, show it in Airflow, and wait for the answer.

        Raises:
            PlanChanged: the run has asked about another plan before, and that is the question people would see.
        """
        from mqops_airflow import answer, plan_text  # noqa: PLC0415

        plan = read_plan(self.folder)
        self.subject, self.body = plan_text.question(plan, preflight_in(self.folder), context)
        asked = answer.question(context, digest=plan.digest, subject=self.subject, body=self.body)
        answer.write_question(self.folder, answer.Asked(question=asked, task_instance=str(context["ti"].id)))
        shown = self._shown(context)
        if (shown.subject, shown.body) != (self.subject, self.body):
            raise PlanChanged(
                f"this run has asked with another text: about another plan, or by another version of mqops. Airflow "
                f"would show that text again: start a new run to have plan {plan.digest} approved"
            )
        self.log.info("%s Plan %s", printable(self.subject), printable(plan.digest))
        text = f"Plan {plan.digest} waits for an answer within {self.response_timeout}; no answer is a Reject."
        tell_people(self.notify, context, subject=self.subject, text=text)
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
            NotAllowed: it is an approval that permits nothing: by the requester, or the plan was made again meanwhile.
        """
        from mqops_airflow import answer  # noqa: PLC0415

        asked = answer.read_question(self.folder)
        if asked is None or asked.task_instance != str(context["ti"].id):
            digest = read_plan(self.folder).digest
            raise NotAllowed(f"the answer is not about plan {digest}, which was made meanwhile: start a new run to ask")
        found = answer.answered(asked, event, approve=self.APPROVE)
        answer.write_question(self.folder, found)
        assert found.answer is not None
        who = found.answer.by or "the time-out"
        self.log.info(
            "Plan %s: %s by %s",
            printable(asked.question.digest),
            "approved" if found.answer.approved else "rejected",
            printable(who),
        )
        if found.answer.approved:
            permission(context, self.folder, restored(self.approval))
