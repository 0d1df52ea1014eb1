"""The operators behind a plan that a task has made, as in `mq_undo`: route, act, prove. All in the task, no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseBranchOperator, BaseOperator

from mqops.estate_sections import Approval
from mqops.printable import printable
from mqops_airflow.approval.permission import permission
from mqops_airflow.approval.policy import plain, restored, verdict_on
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.operators.prove import ProveOperator
from mqops_airflow.runs.plan_files import preflight_in, read_plan
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.lake.run import RunFolder
    from mqops.model import RunSummary
    from mqops.mq.connection import MqConnection


class InTaskRouteOperator(BaseBranchOperator):
    """Sends a dry run, and a plan that moves nothing, to its proof, every other one to a person, or where the policy
    allows it to act.

    The XCom `verdict` tells people which way, why, and the plan's digest.

    :param folder: of the run (templated).
    :param approval: the policy for such runs.
    """

    operator_extra_links = (RunLink(),)
    template_fields = ("folder",)

    def __init__(self, *, folder: str, approval: Approval, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder
        self.approval = plain(approval)

    def choose_branch(self, context: Context) -> str:
        plan, found = read_plan(self.folder), preflight_in(self.folder)
        verdict = verdict_on(plan, found, approval=restored(self.approval), context=context)
        self.log.info("Plan %s: %s (%s)", printable(plan.digest), printable(verdict.way), printable(verdict.why))
        value = {"way": verdict.way, "why": verdict.why, "digest": plan.digest}
        context["ti"].xcom_push(key="verdict", value=value)
        return {"ask": "approve", "act": "act", "stop": "prove"}[verdict.way]


class InTaskActOperator(BaseOperator):
    """Acts, in the task, on the plan that the run has permission for; cleared, it goes on where it stopped.

    :param folder: of the run (templated).
    :param approval: the policy for such runs.
    """

    operator_extra_links = (RunLink(),)
    template_fields = ("folder",)

    def __init__(self, *, folder: str, approval: Approval, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder
        self.approval = plain(approval)

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.deciders.registry import decider_named  # noqa: PLC0415
        from mqops.lake.run import RunFolder  # noqa: PLC0415

        params = context["params"]
        found = permission(context, self.folder, restored(self.approval))
        decider = decider_named(read_plan(self.folder).workflow)
        summary = decider.act(
            connection_for(params["queue_manager"], estate_file()),
            RunFolder(Path(self.folder)),
            approved=found.digest,
            unit_size=params["unit_of_work"],
            about={"requested_by": found.requested_by, "approved_by": found.approved_by},
        )
        self.log.info(
            "%d put, %d discarded, %d failed, %d changed since",
            *(summary.moved, summary.discarded, summary.failed, summary.absent),
        )
        return summary.to_json()


class InTaskProveOperator(ProveOperator):
    """`ProveOperator` on the queue manager that the form names."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(mq_conn_id="", queue_manager="", **kwargs)

    def _log_summary(self, summary: RunSummary, run: RunFolder) -> None:
        from mqops.prove.undone_rules import undone_rules  # noqa: PLC0415

        super()._log_summary(summary, run)
        for rule in undone_rules(run):
            self.log.info(
                "%s of the run, %s: %d of %d put back",
                printable(f"rule line {rule.rule_line}" if rule.rule_line else "no rule"),
                printable(rule.action),
                *(rule.put_back, rule.planned),
            )

    def name(self, context: Context) -> str:
        return str(context["params"]["queue_manager"])

    def connection(self, context: Context) -> MqConnection:
        return connection_for(self.name(context), estate_file())
