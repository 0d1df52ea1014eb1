"""The last task of a workflow: what became of every planned message. It runs however act ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowSkipException

from mqops.actions import moved_word
from mqops.errors import MqopsError, SettingsError, Unbalanced
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.ledger.file import LedgerFile
from mqops.look.core.question import Over
from mqops.observe.core.anatomy import anatomy_lines
from mqops.pandas_later import arrow_without_pandas
from mqops.printable import printable
from mqops.queue_names import not_seen
from mqops_airflow.approval.answer import end_question
from mqops_airflow.connections.hook import MqHook
from mqops_airflow.notices.foretold import left_foretold
from mqops_airflow.notices.metrics import count_messages, count_run
from mqops_airflow.notices.notify import Notice, tell_people
from mqops_airflow.notices.outcome_text import ending_of, keep_for_note, outcome_text
from mqops_airflow.operators.depth import trigger_again
from mqops_airflow.operators.first_tell import not_looked_at
from mqops_airflow.runs.lineage import Lineage, of_proof
from mqops_airflow.runs.run_folder import XCom, found_folder
from mqops_airflow.ui.markdown import code, joined, plain
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow.sdk import Context

    from mqops.estate_sections import Notify
    from mqops.lake.run import RunFolder
    from mqops.model import RunSummary
    from mqops.mq.connection import MqConnection
    from mqops.prove.core.outcome import OutcomeSummary


ENDED = {"failed": Over.FAILED, "success": Over.MARKED_SUCCESS, "skipped": Over.MARKED_SKIPPED}
"""State of the task approve → what has ended its question, where that has no answer."""


class ActUnfinished(MqopsError):
    """Act has not finished the plan. The other messages are on their queues. Clear the task act to go on."""


class ProveOperator(BaseOperator):
    """Balances a run by the ledger and the queue; logs, returns and publishes the summary.

    Then looks what became of the messages that earlier runs moved. Fails if the run does not balance, if act failed or
    did not finish, or if queues that are meant could not be looked at. Where nothing was approved or the run was dry,
    it shows that nothing was moved, and why. Without a plan it is skipped.

    :param mq_conn_id: Airflow connection of type `mq`.
    :param asset: asset whose event gets the summary as extra.
    :param queue_manager: name in the estate. The run's folder is no template: there may be none to render.
    :param plan_task: task that makes the plan.
    :param act_task: task that moves.
    :param notify: the estate's notifier, which tells that a run does not balance.
    :param workflow: whose queues trigger by DEPTH again when act has finished; "" for one that nothing triggers.
    """

    operator_extra_links = (RunLink(),)

    def __init__(
        self,
        *,
        mq_conn_id: str,
        asset: Asset,
        queue_manager: str,
        plan_task: str,
        act_task: str,
        notify: Notify | None = None,
        workflow: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.mq_conn_id = mq_conn_id
        self.asset = asset
        self.queue_manager = queue_manager
        self.plan_task = plan_task
        self.act_task = act_task
        self.notify = notify
        self.workflow = workflow
        self._run: RunFolder | None = None

    def execute(self, context: Context) -> XCom:
        from mqops.deciders.look_back import look_back  # noqa: PLC0415
        from mqops.mq.connection import one_session  # noqa: PLC0415
        from mqops.prove.prove import prove  # noqa: PLC0415
        from mqops.prove.records import SUMMARY  # noqa: PLC0415

        states = self._states(context)
        if (planned := states.get(self.plan_task)) != "success":
            if planned != "skipped":
                count_run(context, proved=False)
            raise AirflowSkipException(f"There is no plan (task {self.plan_task}): nothing was moved")
        arrow_without_pandas()
        run = found_folder(context["dag_run"], self.name(context))
        self._run, file, before = run, LedgerFile(run.lake_folder), SUMMARY.find(run)
        with one_session(self.connection(context)) as step:
            try:
                summary = prove(step, run, file=file)
            except Unbalanced as error:
                count_run(context, proved=False)
                keep_for_note(context, code(error))
                told = {"queue_manager": self.name(context), "why": error}
                tell_people(self.notify, context, Notice.UNBALANCED, **told)
                raise
            self._log_summary(summary, run)
            looked_back = look_back(step, run, file=file)
        self._log_earlier(looked_back)
        value = summary.to_json()
        acted = states.get(self.act_task)
        if acted != "skipped":  # a dry run and a rejection moved nothing and left nothing
            count_messages(context, before, summary)
        if over := ENDED.get(states.get("approve", "")):
            end_question(str(run.path), over)
        outcome = outcome_text(ending_of(context, str(run.path), states, self.act_task), summary)
        left = not_looked_at((HANDED_ON.find(run) or NO_DAG_RUN).names("left"))
        words = joined(" ", filter(None, (outcome, left)))
        context["ti"].xcom_push(key="return_value", value=value)
        keep_for_note(context, words)
        if acted != "skipped" and not (acted == "success" and summary.finished):
            count_run(context, proved=False)
            raise ActUnfinished(plain(words))
        self.log.info("%s", printable(plain(words)))
        context["outlet_events"][self.asset].extra = {**value, "told": plain(words)}
        vanish = left_foretold(self.log, context, run, self.workflow)
        triggers = acted == "success" and not left  # a run that a trigger starts looks at what was left
        warning = trigger_again(self.log, self.queue_manager, self.workflow) if triggers else ""
        if vanish or warning:
            keep_for_note(context, joined(" ", filter(None, (words, vanish, warning))))
        if summary.unseen:
            count_run(context, proved=False)
            raise SettingsError(not_seen(summary.unseen))
        if acted != "skipped":
            count_run(context, proved=True)
        return value

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Lineage:
        """From the queues and the plan to the destinations, for Airflow's provider of OpenLineage."""
        assert self._run is not None
        return of_proof(task_instance.dag_id, self._run)

    def name(self, context: Context) -> str:
        """The queue manager."""
        return self.queue_manager

    def connection(self, context: Context) -> MqConnection:
        """How to reach the queue manager."""
        return MqHook(self.mq_conn_id).get_conn()

    def _states(self, context: Context) -> dict[str, str]:
        """Task id → state in this run, of the tasks that matter here."""
        run = context["dag_run"]
        tasks = [self.plan_task, "approve", self.act_task]
        found = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=tasks, run_ids=[run.run_id])
        return {task: str(state) for task, state in found.get(run.run_id, {}).items()}

    def _log_earlier(self, looked_back: Iterable[OutcomeSummary]) -> None:
        """What became of the messages of earlier runs, in the log, a line a run."""
        for earlier in looked_back:
            found = ", ".join(f"{count:,} {outcome}" for outcome, count in earlier.outcomes.items())
            self.log.info("messages of run %s: %s", printable(earlier.run), printable(found or "no outcome is known"))

    def _log_summary(self, summary: RunSummary, run: RunFolder) -> None:
        """The summary in the log, a line a queue and rule."""
        for rule in summary.rules:
            self.log.info(
                "%s, %s%s: planned %d = %s %d + discarded %d + left %d + gone %d; failed tries %d",
                printable(rule.queue),
                printable(f"rule line {rule.rule_line} " if rule.rule_line else ""),
                printable(rule.action),
                rule.planned,
                printable(moved_word([rule.action])),
                *(rule.moved, rule.discarded, rule.left, rule.gone, rule.failed),
            )
        self.log.info(
            "Balanced: planned %d = %s %d + discarded %d + left %d + gone %d; came later: %d",
            summary.planned,
            printable(moved_word(rule.action for rule in summary.rules)),
            *(summary.moved, summary.discarded, summary.left, summary.gone, summary.arrived),
        )
        for line in anatomy_lines(summary.anatomy):
            self.log.info("%s", printable(line))
        for canaries in summary.canaries:
            (self.log.warning if canaries.why else self.log.info)(
                "canaries of %s: %d moved, %d came back, %d failed, %d unread: %s",
                printable(canaries.unit_group.removesuffix("@")),
                *(canaries.moved, canaries.back, canaries.failed, canaries.unread),
                printable(canaries.why or "the rest followed"),
            )
        for why, count in summary.left_because.items():
            self.log.warning("left: %d: %s", count, printable(why))
        for remark in summary.remarks:
            self.log.warning("%s", printable(remark))
        for reason, count in summary.reasons.items():
            self.log.info("failed tries: %s %d", printable(reason), count)
