"""The task that shows the plan to a person and waits for the answer. The answer holds for this plan only.

1. The first try puts the question: to Airflow, then to RUN/approval.json, then to people. It waits as `awaiting_input`.
2. Airflow resumes it with the answer: `execute_complete`. RUN/approval.json gets it, and an approval must permit the
   plan, else the task fails for good.
3. Airflow can fail a task whose question is answered at once (`approval.recorded_answer`). It tries such a task
   again, and that try takes up the question that was put: the answer of RUN/approval.json, else the one that Airflow
   has recorded. Four eyes, digest and text are checked as for any answer. If there is none, it puts the question anew.
4. A person who clears the task wants to be asked again, and so does one who clears what is before it: whatever was
   cleared in the run since the question was put, the question is put anew.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param

from mqops.clock import utc_text
from mqops.errors import PlanChanged
from mqops.estate_sections import Notify
from mqops.estate_workflows import Approval
from mqops.look.core.question import COMMENT_LONGEST, Asked
from mqops.printable import printable
from mqops_airflow.approval import answer
from mqops_airflow.approval.permission import NotAllowed, permission
from mqops_airflow.notices.notify import Notice, tell_people
from mqops_airflow.runs.plan_files import compare_once, compared_in, preflight_in, read_plan, undone_in
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops_airflow.airflow_private.task import HITLDetailRequestResult


Event: TypeAlias = dict[str, Any]
"""What Airflow resumes a waiting task with, as `HITLTriggerEventSuccessPayload` or with the key `error`."""
RETRIES = 3
RETRY_DELAY = timedelta(seconds=5)
"""After this time the process that Airflow took for failed has ended, too."""
SETTLED = timedelta(seconds=20)
"""After this time Airflow's scheduler has noted that the process of the last try has ended."""
NO_TRIGGERER = timedelta(minutes=5)
"""For so long a try waits for Airflow's triggerer, and then fails."""


def _comment() -> Param:
    """The field of the question for a comment."""
    return Param(
        None,
        title="Comment",
        description="It stands in the ledger, with who approved and when",
        type=["null", "string"],
        maxLength=COMMENT_LONGEST,
    )


class PlanApprovalOperator(ApprovalOperator):
    """Asks for the approval of RUN/plan.json. No answer in time is a rejection. After a rejection later tasks are
    skipped.

    RUN/approval.json has what was asked, and what Airflow recorded of the answer (see `approval.answer`). A run
    asks about one plan only: Airflow keeps the text of its first question, whatever the task has to ask when it is
    cleared.

    :param folder: the run's folder (templated).
    :param approval: the estate's policy.
    :param notify: the estate's notifier, which tells that the question is open.
    """

    operator_extra_links = (RunLink(),)
    template_fields = (*ApprovalOperator.template_fields, "folder")

    def __init__(self, *, folder: str, approval: Approval, notify: Notify | None = None, **kwargs: Any) -> None:
        super().__init__(
            subject="Approve the plan?",
            defaults=[self.REJECT],
            response_timeout=approval.timeout,
            retries=RETRIES,
            retry_delay=RETRY_DELAY,
            **kwargs,
        )
        self.folder = folder
        self.approval = approval
        self.notify = notify

    def execute(self, context: Context) -> Any:
        """Put the question and wait for the answer; after a try that Airflow failed, take up the question it had put.

        Raises:
            NotAllowed: it takes up an approval that permits nothing.
            PlanChanged: the run has asked about another plan before, and that is the question people would see.
        """
        asked = self._to_ask(context)
        put = self._put_before(asked)
        if put is None:
            self._ask(context, asked)
        if put.answer is not None:
            return self._end(context, put)
        self._fetch(context, put)

    def _to_ask(self, context: Context) -> Asked:
        """The question of this try, not put yet; `subject` and `body` have its words."""
        from mqops_airflow.approval import plan_text  # noqa: PLC0415

        plan = read_plan(self.folder)
        compare_once(self.folder, plan.digest)
        found, compared, undone = preflight_in(self.folder), compared_in(self.folder), undone_in(self.folder, plan)
        self.subject, self.body = plan_text.question(plan, found, context, compared, undone)
        assert self.response_timeout is not None
        return Asked(
            question=answer.question(context, digest=plan.digest, subject=self.subject, body=self.body),
            task_instance=str(context["ti"].id),
            cleared=context["dag_run"].clear_number or 0,
            until=utc_text(datetime.now(UTC) + self.response_timeout),
        )

    def _put_before(self, asked: Asked) -> Asked | None:
        """The same question where a try before has put it, and nothing of the run was cleared since."""
        put = answer.read_question(self.folder)
        same = put is not None and (put.question, put.cleared) == (asked.question, asked.cleared)
        return put if same else None

    def _ask(self, context: Context, asked: Asked) -> NoReturn:
        """Put the question and wait. Raises `PlanChanged`, and `TaskAwaitingInput`, with which a task waits."""
        from airflow.sdk.exceptions import TaskAwaitingInput  # noqa: PLC0415 - for running tasks only

        digest = asked.question.digest
        shown = self._shown(context)
        if (shown.subject, shown.body) != (self.subject, self.body):
            raise PlanChanged(
                f"this run has asked with another text: about another plan, or by another version of mqops. Airflow "
                f"would show that text again: start a new run to have plan {digest} approved"
            )
        answer.write_question(self.folder, asked)
        self.log.info("%s Plan %s", printable(self.subject), printable(digest))
        told = {"question": self.subject, "digest": digest, "within": self.response_timeout}
        tell_people(self.notify, context, Notice.OPENED, **told)
        # What `super().execute` does, without putting the question once more: that erases an answer that is there.
        raise TaskAwaitingInput(method_name="execute_complete", timeout=self.response_timeout)

    def _fetch(self, context: Context, put: Asked) -> NoReturn:
        """Wait for the answer that Airflow has recorded. Raises `TaskDeferred`, with which a task waits."""
        from mqops_airflow.approval.recorded_answer import RecordedAnswer  # noqa: PLC0415

        asked = str(context["ti"].id)
        answer.write_question(self.folder, replace(put, task_instance=asked))
        self.log.warning("Airflow failed this task while its question was open: this try takes up the answer")
        at = (datetime.now(UTC) + SETTLED).isoformat()
        self.defer(trigger=RecordedAnswer(asked=asked, at=at), method_name="take_up", timeout=SETTLED + NO_TRIGGERER)

    def take_up(self, context: Context, event: Event | None) -> Any:
        """Go on with the answer that Airflow had recorded, else put the question anew. Raises as `execute`."""
        asked = self._to_ask(context)
        put = self._put_before(asked)
        if put is not None and put.answer is not None:
            return self._end(context, put)
        if put is not None and event is not None:
            return self.execute_complete(context, event)
        self.log.warning("Airflow had recorded no answer: the question is put anew")
        self._ask(context, asked)

    def _shown(self, context: Context) -> HITLDetailRequestResult:
        """Put the question; returns what Airflow shows: this question, or the one of the first time it was put."""
        from mqops_airflow.airflow_private import task  # noqa: PLC0415 - for running tasks only

        question = task.CreateHITLDetailPayload(
            ti_id=context["ti"].id,
            options=self.options,
            subject=self.subject,
            body=self.body,
            defaults=self.defaults,
            multiple=self.multiple,
            params={answer.COMMENT: _comment().serialize()},  # and not the form of the DAG, which a running task has
            assigned_users=[],
        )
        kept = task.task_runner.SUPERVISOR_COMMS.send(question)
        assert isinstance(kept, task.HITLDetailRequestResult)
        return kept

    def execute_complete(self, context: Context, event: Event) -> Any:
        """Go on with the answer that Airflow resumed this task with.

        Raises:
            NotAllowed: it is an approval that permits nothing: by the requester, or the plan was made again meanwhile.
        """
        if "error" in event:
            return super().execute_complete(context, event)
        asked = answer.read_question(self.folder)
        if asked is None or asked.task_instance != str(context["ti"].id):
            digest = read_plan(self.folder).digest
            raise NotAllowed(f"the answer is not about plan {digest}, which was made meanwhile: start a new run to ask")
        approved, user = event["chosen_options"] == [self.APPROVE], event["responded_by_user"]
        given, at = event.get("params_input"), event["responded_at"]
        return self._end(context, answer.answered(asked, user, approved=approved, at=at, given=given))

    def _end(self, context: Context, asked: Asked) -> Any:
        """Keep the answer and end the task with it; one that permits nothing is kept with the reason.

        Raises:
            NotAllowed: it is an approval that permits nothing.
        """
        found = asked.answer
        assert found is not None
        answer.write_question(self.folder, asked)
        self.log.info(
            "Plan %s: %s by %s",
            printable(asked.question.digest),
            "approved" if found.approved else "rejected",
            printable(found.by or "the time-out"),
        )
        if found.approved:
            try:
                permission(context, self.folder, self.approval)
            except NotAllowed as error:
                answer.write_question(self.folder, replace(asked, answer=replace(found, refused=str(error))))
                raise
        chosen = self.APPROVE if found.approved else self.REJECT
        return super().execute_complete(context, dict(answer.event_of(found, chosen)))
