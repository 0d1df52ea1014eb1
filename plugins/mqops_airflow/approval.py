"""The task that waits for a person: it shows the plan, and what it lets through is that very plan and no other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from mqops.errors import PlanChanged
from mqops_airflow.permission import permitted, requester, verdict_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.decide.core import PlanSummary
    from mqops.decide.core.preflight import Preflight


class PlanApprovalOperator(ApprovalOperator):
    """Asks for the approval of RUN/plan.json. No answer in time is a rejection; a rejection skips what comes behind.

    The XCom `decision` says: the digest of the plan that was shown, approved or not, by whom. What was shown is in the
    XCom `asked`, because the plan may be made anew while the task waits. A run asks about one plan only: Airflow keeps
    the text of its first question, whatever the task has to ask when it is cleared.

    :param folder: the run's folder (templated).
    :param four_eyes: whether the person who started the run may not approve it.
    """

    template_fields = (*ApprovalOperator.template_fields, "folder")

    def __init__(self, *, folder: str, four_eyes: bool = False, **kwargs: Any) -> None:
        super().__init__(subject="Approve the plan?", defaults=[self.REJECT], **kwargs)
        self.folder = folder
        self.four_eyes = four_eyes

    def execute(self, context: Context) -> Any:
        """Ask.

        Raises:
            PlanChanged: the run has asked about another plan before, and that is the question people would see.
        """
        from mqops_airflow import plan_text  # noqa: PLC0415

        plan = read_plan(self.folder)
        self.subject, self.body = plan_text.subject(plan), plan_text.body(plan, read_preflight(self.folder))
        if plan.digest not in self._shown(context):
            raise PlanChanged(
                f"this run has asked about another plan, which Airflow would show again: start a new run to have plan "
                f"{plan.digest} approved"
            )
        context["ti"].xcom_push(key="asked", value=plan.digest)
        self.log.info("%s Plan %s", self.subject, plan.digest)
        return super().execute(context)

    def _shown(self, context: Context) -> str:
        """Put the question; returns what Airflow shows: the body, or the one of the first time it was put."""
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
        return kept.body or ""

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        if "error" not in event:
            self._decide(context, event)
        return super().execute_complete(context, event)

    def _decide(self, context: Context, event: Mapping[str, Any]) -> None:
        """Note the decision.

        Raises:
            NotAllowed: it is an approval that permits nothing: by the requester, or the plan was made anew meanwhile.
        """
        value = {
            "approved": self.APPROVE in event["chosen_options"],
            "by": name_of(event["responded_by_user"]) or "nobody (time-out)",
            "digest": context["ti"].xcom_pull(task_ids=self.task_id, key="asked"),
        }
        if value["approved"]:
            permitted(verdict_of(context), value, requested_by=requester(context), four_eyes=self.four_eyes)
        context["ti"].xcom_push(key="decision", value=value)
        answer = "approved" if value["approved"] else "rejected"
        self.log.info("Plan %s: %s by %s", value["digest"], answer, value["by"])


def read_plan(folder: str) -> PlanSummary:
    """The run's plan. Raises `LakeError`."""
    from mqops.decide.core import PlanSummary  # noqa: PLC0415
    from mqops.lake.files import read_json  # noqa: PLC0415

    return PlanSummary.from_json(read_json(Path(folder) / "plan.json"))


def read_preflight(folder: str) -> Preflight | None:
    """The pre-flight of the run's plan, None where none was made. Raises `LakeError`."""
    from mqops.decide.preflight_record import kept  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415

    return kept(RunFolder(Path(folder)))


def name_of(user: Any) -> str:
    """A user's name from what Airflow reports: a mapping, an object, or None after a time-out."""
    if user is None:
        return ""
    if isinstance(user, Mapping):
        return str(user.get("name") or user.get("id") or "")
    return str(getattr(user, "name", "") or getattr(user, "id", ""))
