"""The operators behind a plan that a task has made, as in `mq_undo`: route, act, prove. All in the task, no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mqops.lake.run import RunFolder
from mqops.pandas_later import arrow_without_pandas
from mqops.printable import printable
from mqops_airflow.approval.permission import permission
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.operators.prove import ProveOperator
from mqops_airflow.operators.route import RouteOperator
from mqops_airflow.runs.plan_files import preflight_in, read_plan
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate_workflows import Approval
    from mqops.model import RunSummary
    from mqops.mq.connection import MqConnection
    from mqops_airflow.runs.run_folder import XCom


class InTaskRouteOperator(RouteOperator):
    """Sends a dry run, and a plan that moves nothing, to its proof, every other one to a person, or where the policy
    allows it to act."""

    def choose_branch(self, context: Context) -> str:
        way = self.way(context, read_plan(self.folder), preflight_in(self.folder))
        return {"ask": "approve", "act": "act", "stop": "prove"}[way]


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
        self.approval = approval

    def execute(self, context: Context) -> XCom:
        from mqops.deciders.registry import decider_named  # noqa: PLC0415
        from mqops.ledger.file import LedgerFile  # noqa: PLC0415

        arrow_without_pandas()
        form = given.ToAct.of(context)
        found = permission(context, self.folder, self.approval)
        decider, run = decider_named(read_plan(self.folder).workflow), RunFolder(Path(self.folder))
        summary = decider.act(
            connection_for(form.queue_manager, estate_file()),
            run,
            file=LedgerFile(run.lake_folder),
            approved=found.digest,
            unit_size=form.unit_of_work,
            about=found.about,
        )
        self.log.info(
            "%d put, %d discarded, %d failed, %d gone",
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
        return given.OfManager.of(context).queue_manager

    def connection(self, context: Context) -> MqConnection:
        return connection_for(self.name(context), estate_file())
