"""The task that waits for a person: it shows the plan, and what it lets through is that very plan and no other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from mqops.errors import MqopsError, PlanChanged

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.plan import PlanSummary
    from mqops.plan.preflight import Preflight


class NotAllowed(MqopsError):
    """The person who started the run approved it; let somebody else answer (clear this task to ask again)."""


class PlanApprovalOperator(ApprovalOperator):
    """Asks for the approval of RUN/plan.json. No answer in time is a rejection; a rejection skips what comes behind.

    The XCom `decision` says: the digest, approved or not, by whom.

    :param folder: the run's folder (templated).
    :param route_task: task whose XCom `verdict` has the digest that act will insist on.
    :param four_eyes: whether the person who started the run may not approve it.
    """

    template_fields = (*ApprovalOperator.template_fields, "folder")

    def __init__(self, *, folder: str, route_task: str, four_eyes: bool = False, **kwargs: Any) -> None:
        super().__init__(subject="Approve the plan?", defaults=[self.REJECT], **kwargs)
        self.folder = folder
        self.route_task = route_task
        self.four_eyes = four_eyes

    def execute(self, context: Context) -> Any:
        from mqops_airflow import plan_text  # noqa: PLC0415

        plan = read_plan(self.folder)
        self.subject, self.body = plan_text.subject(plan), plan_text.body(plan, read_preflight(self.folder))
        self.log.info("%s Plan %s", self.subject, plan.digest)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        if "error" not in event:
            self._decide(context, event)
        return super().execute_complete(context, event)

    def _decide(self, context: Context, event: Mapping[str, Any]) -> None:
        """Note the decision.

        Raises:
            NotAllowed: four eyes are required and it was the requester.
            PlanChanged: the plan is not the one that was shown.
        """
        approved = self.APPROVE in event["chosen_options"]
        answerer = name_of(event["responded_by_user"])
        verdict = context["ti"].xcom_pull(task_ids=self.route_task, key="verdict")
        digest = read_plan(self.folder).digest
        if approved and digest != verdict["digest"]:
            raise PlanChanged(f"the plan has digest {digest} now, asked was about {verdict['digest']}")
        requester = context["dag_run"].triggering_user_name
        if approved and self.four_eyes and answerer == requester:
            raise NotAllowed(f"{answerer} started this run; the estate asks for another person's approval")
        value = {"approved": approved, "by": answerer or "nobody (time-out)", "digest": digest}
        context["ti"].xcom_push(key="decision", value=value)
        self.log.info("Plan %s: %s by %s", digest, "approved" if approved else "rejected", value["by"])


def read_plan(folder: str) -> PlanSummary:
    """The run's plan. Raises `LakeError`."""
    from mqops.plan import PlanSummary  # noqa: PLC0415
    from mqops.store.files import read_json  # noqa: PLC0415

    return PlanSummary.from_json(read_json(Path(folder) / "plan.json"))


def read_preflight(folder: str) -> Preflight | None:
    """The pre-flight of the run's plan, None where none was made. Raises `LakeError`."""
    from mqops.store.preflight import kept  # noqa: PLC0415
    from mqops.store.run import RunFolder  # noqa: PLC0415

    return kept(RunFolder(Path(folder)))


def name_of(user: Any) -> str:
    """A user's name from what Airflow reports: a mapping, an object, or None after a time-out."""
    if user is None:
        return ""
    if isinstance(user, Mapping):
        return str(user.get("name") or user.get("id") or "")
    return str(getattr(user, "name", "") or getattr(user, "id", ""))
