"""The last task of a workflow: what became of every planned message. It runs however act ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from mqops.errors import MqopsError
from mqops.observe.core.anatomy import told
from mqops.printable import printable
from mqops_airflow.hook import MqHook
from mqops_airflow.run_folder import handed_on

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.model import RunSummary
    from mqops.mq.connection import MqConnection


class ActUnfinished(MqopsError):
    """Act did not deal with every message of the plan; what is left is on its queue: clear the task act to go on."""


class ProveOperator(BaseOperator):
    """Balances a run by the ledger and the queue; logs, returns and publishes the summary.

    Then looks what became of the messages that earlier runs moved. Fails if the run does not balance, if act failed, or
    if act did not finish. Where nothing was approved or the run was dry, it shows that nothing was moved.

    :param mq_conn_id: Airflow connection of type `mq`.
    :param asset: asset whose event gets the summary as extra.
    :param queue_manager: name in the estate. The run's folder is no template: there may be none to render.
    :param plan_task: task that makes the plan.
    :param act_task: task that moves.
    """

    def __init__(
        self, *, mq_conn_id: str, asset: Asset, queue_manager: str, plan_task: str, act_task: str, **kwargs: Any
    ) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.mq_conn_id = mq_conn_id
        self.asset = asset
        self.queue_manager = queue_manager
        self.plan_task = plan_task
        self.act_task = act_task

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.lake.run import RunFolder  # noqa: PLC0415
        from mqops.prove.outcomes import look_back  # noqa: PLC0415
        from mqops.prove.prove import prove  # noqa: PLC0415

        states = self._states(context)
        if states.get(self.plan_task) != "success":
            raise AirflowFailException(f"nothing was planned (task {self.plan_task}), so nothing was moved")
        run = RunFolder(Path(handed_on(context["dag_run"], self.name(context))["folder"]))
        summary = prove(self.connection(context), run)
        self._tell(summary)
        for earlier in look_back(self.connection(context), run):
            found = ", ".join(f"{count} {outcome}" for outcome, count in earlier.outcomes.items())
            self.log.info("messages of run %s: %s", printable(earlier.run), printable(found or "none can be told of"))
        value = summary.to_json()
        acted = states.get(self.act_task)
        context["ti"].xcom_push(key="return_value", value=value)
        if acted != "skipped" and not (acted == "success" and summary.finished):
            raise ActUnfinished(
                f"act ended as {acted}: {summary.moved} moved, {summary.discarded} discarded, {summary.left} left on "
                f"{summary.queue}; nothing is lost, clear the task {self.act_task} to go on"
            )
        context["outlet_events"][self.asset].extra = value
        return value

    def name(self, context: Context) -> str:
        """The queue manager."""
        return self.queue_manager

    def connection(self, context: Context) -> MqConnection:
        """How to reach the queue manager."""
        return MqHook(self.mq_conn_id).get_conn()

    def _states(self, context: Context) -> dict[str, str]:
        """Task id → state in this run, of the two tasks that matter here."""
        run = context["dag_run"]
        found = context["ti"].get_task_states(
            dag_id=run.dag_id, task_ids=[self.plan_task, self.act_task], run_ids=[run.run_id]
        )
        return {task: str(state) for task, state in found.get(run.run_id, {}).items()}

    def _tell(self, summary: RunSummary) -> None:
        """The summary in the log, a line a rule."""
        for rule in summary.rules:
            self.log.info(
                "rule line %s %s: planned %d = moved %d + discarded %d + left %d + gone %d; failed tries %d",
                printable(rule.rule_line or "-"),
                printable(rule.action),
                *(rule.planned, rule.moved, rule.discarded, rule.left, rule.gone, rule.failed),
            )
        self.log.info(
            "Balanced: planned %d = moved %d + discarded %d + left %d + gone %d; %d came later",
            *(summary.planned, summary.moved, summary.discarded, summary.left, summary.gone, summary.arrived),
        )
        for line in told(summary.anatomy):
            self.log.info("%s", printable(line))
        for fate in summary.canaries:
            (self.log.warning if fate["why"] else self.log.info)(
                "canaries of %s: %d moved, %d came back, %d failed, %d unread: %s",
                printable(fate["unit_group"]),
                *(fate[name] for name in ("moved", "back", "failed", "unread")),
                printable(fate["why"] or "the rest followed"),
            )
        for why, count in summary.left_because.items():
            self.log.warning("left: %d: %s", count, printable(why))
        for remark in summary.remarks:
            self.log.warning("%s", printable(remark))
        for reason, count in summary.reasons.items():
            self.log.info("failed tries: %s %d", printable(reason), count)
