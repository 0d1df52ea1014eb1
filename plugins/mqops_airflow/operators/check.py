"""The first task of a workflow: is everything in order, and is there anything to do? Without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, SkipMixin

from mqops import form_files
from mqops.clock import utc_now
from mqops.counted import counted
from mqops.errors import RulesError, SettingsError
from mqops.given_file import table_text
from mqops.lake.run import RunFolder
from mqops.misnamed import is_alias
from mqops.printable import printable
from mqops.queue_names import not_seen
from mqops.rules import parse
from mqops.workflow import Workflow
from mqops_airflow.approval.four_eyes import must_tell_people_apart
from mqops_airflow.approval.which_run import acts
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.operators.begin import NOTHING_TO_DO, begun, end_here
from mqops_airflow.operators.depth import trigger_again
from mqops_airflow.operators.first_tell import left_by, not_looked_at, told_of
from mqops_airflow.runs.run_folder import XCom
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import Markdown, joined, md
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context

    from mqops.decide.core import PlanSummary
    from mqops.mq.session import Session
    from mqops.rules import Table


class CheckOperator(BaseOperator, SkipMixin):
    """The first task of a workflow on one queue manager, which may end the run (`end_here`).

    :param queue_manager: name in the estate.
    :param four_eyes: whether the person who starts a run may not approve it.
    """

    operator_extra_links = (RunLink(),)
    inherits_from_skipmixin = True

    def __init__(self, *, queue_manager: str, four_eyes: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.queue_manager = queue_manager
        self.four_eyes = four_eyes

    def nothing_to_do(self, context: Context, found: XCom, workflow: str, why: Markdown = NOTHING_TO_DO) -> XCom:
        """End the run here. If it may act, the workflow's DEPTH queues trigger again."""
        warning = trigger_again(self.log, self.queue_manager, workflow) if acts(context) else ""
        return end_here(self, context, found, md("{}. {}", why, warning) if warning else why)

    def begin(
        self,
        context: Context,
        lake_folder: Path,
        queues: Sequence[str],
        found: XCom,
        *,
        form: given.ByRules,
        keep: Callable[[RunFolder], None] = lambda _folder: None,
    ) -> XCom:
        """Make the run's folder and hand on what was found; or end the run where another one is waited for.

        Parameters: `queues` to work on; `keep` what else is written into the folder.
        """
        found = {"queue": ",".join(queues), **found, **form.arguments()}
        with begun(self, context, lake_folder, self.queue_manager, found) as run:
            if run is None:
                return found
            keep(run.folder)
        tell_before_look(lake_folder, self.queue_manager, queues, self.log)
        return run.handed


class DlqCheckOperator(CheckOperator):
    """Checks settings, rules table, queue manager and lake; drains left-over markers; makes the run's folder.

    An empty queue ends the run here: everything behind is skipped. RUN/handed_on.json says what the form asked for, in
    the words of the Spark jobs' arguments; the XCom tells it to people, no task reads it.
    """

    def execute(self, context: Context) -> XCom:
        if self.four_eyes:
            must_tell_people_apart(context)
        from mqops.decide.gate import write_setting  # noqa: PLC0415 - loads pyarrow
        from mqops.deciders.dead_letters import DEAD_LETTERS  # noqa: PLC0415
        from mqops.deciders.decider import Selection  # noqa: PLC0415
        from mqops.deciders.gate import gate_of  # noqa: PLC0415
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.mq.inquire import depth  # noqa: PLC0415

        form, estate = given.DeadLetters.of(context), estate_file()
        settings = estate.estate.queue_managers[self.queue_manager]
        rules = form_files.table(estate, form.rules_file)
        table = valid_table(rules, self.queue_manager, self.log)
        connection = connection_for(self.queue_manager, estate)
        section = settings.dlq_rules
        named = form.queue or (section.queue if section else "") or table.control.inputq
        also = section.also if section and (form.queue or None) in {None, section.queue} else ()
        with connect(connection) as session:
            queues = self._queues(session, named, also)
            selection = Selection(queues=tuple(queues))
            gate = gate_of(estate, self.queue_manager, DEAD_LETTERS, session, selection)
            drained = drain_and_log(session, lake(estate), self.queue_manager, self.log)
            depths = {queue: depth(session, queue) for queue in queues}
            left = left_by(form, session, lake(estate), (queue for queue in queues if depths[queue]), self.log)
        for queue, messages in depths.items():
            self.log.info("%s: %s", printable(queue), counted(messages, "message"))
            if not messages:
                note_empty(lake(estate), self.queue_manager, queue)
        self.log.info("%s of earlier runs recorded", counted(drained, "marker"))
        filled = [queue for queue, messages in depths.items() if messages and queue not in left]
        found = {"messages": sum(depths.values()), "rules": str(rules), "table_digest": table.digest}
        found |= told_of(left.values())
        if not filled and left:
            return end_here(self, context, {"queue": "", **found}, not_looked_at(left.values()))
        if not filled:
            why = md("Nothing to do: {} are empty", joined(", ", queues))
            if len(queues) == 1:
                why = md("Nothing to do: {} is empty", queues[0])
            return self.nothing_to_do(context, {"queue": ",".join(queues), **found}, Workflow.DLQ_RULES, why)
        return self.begin(
            *(context, lake(estate), filled, found), form=form, keep=lambda folder: write_setting(folder, gate)
        )

    def _queues(self, session: Session, named: str, also: Iterable[str]) -> list[str]:
        """The queues to work on, each once, whatever name it has. Raises as `_queue`."""
        from mqops.mq.inquire import base_queue_if_known  # noqa: PLC0415 - loads the MQ library

        found = {base_queue_if_known(session, one): one for one in (self._queue(session, named),)}
        for further in also:
            found.setdefault(base_queue_if_known(session, further), self._queue(session, further))
        return list(found.values())

    def _queue(self, session: Session, named: str) -> str:
        """The queue to work on, which can be read, and the ledger queue beside it, which is there.

        Raises:
            MQError: one of them is not there or not allowed.
            SettingsError: no queue is named and the queue manager has no DEADQ; or nothing may be taken from it.
        """
        from mqops.act.sources import check_source  # noqa: PLC0415
        from mqops.mq.browse import OPEN_OPTIONS  # noqa: PLC0415
        from mqops.mq.named_queue import said_with_base, usable_dead_letter_queue  # noqa: PLC0415

        queue = named or usable_dead_letter_queue(session)
        check_source(session, queue)
        self.log.info("the messages of %s", printable(said_with_base(session, queue)))
        session.close(session.open(queue, OPEN_OPTIONS))
        return queue


def note_empty(lake_folder: Path, queue_manager: str, queue: str) -> None:
    """Keep in the lake that a dead-letter queue is empty: the next run tells its growth since then.

    Raises:
        LakeError: the disk refuses.
    """
    from mqops.observe import anatomy  # noqa: PLC0415 - loads pyarrow

    anatomy.note_empty(RunFolder.at(lake_folder, queue_manager, "any").lake_folder, queue_manager, queue, utc_now())


def valid_table(path: Path, queue_manager: str, log: Any, *, origins: bool = False) -> Table:
    """The rules table in `path`; every error and warning goes to the log first.

    Parameters: `origins` whether it is for backout queues (see `mqops.rules.parse`).

    Raises:
        RulesError: it is not valid.
        SettingsError: it cannot be read, or it is for another queue manager.
    """
    text = table_text(path)
    parsed = parse(text, source=path.name, origins=origins)
    for level, problems in (("warning", parsed.warnings), ("error", parsed.errors)):
        for problem in problems:
            for line in f"{path.name}:{problem.render()}".split("\n"):
                getattr(log, level)("%s", printable(line))
    if parsed.table is None:
        places = ", ".join(f"{problem.line}:{problem.column}" for problem in parsed.errors)
        raise RulesError(
            f"{path.name} is not valid: {counted(len(parsed.errors), 'error')}, at {places}; see the lines above"
        )
    target = parsed.table.control.inputqm
    if target and target != queue_manager:
        raise SettingsError(f"{path.name} has INPUTQM({target}), this workflow is for {queue_manager}")
    return parsed.table


def tell_before_look(lake_folder: Path, queue_manager: str, queues: Iterable[str], log: Any) -> None:
    """Log what the queue manager must discard when the queues are browsed, where the estate says `tell_from`."""
    from mqops.expiry.before_look import told_before_look  # noqa: PLC0415

    for line in told_before_look(lake_folder, queue_manager, tuple(queues), estate_file()):
        log.warning("%s", printable(line))


def log_choice(inhibited: Iterable[str], aliases: Mapping[str, str], unseen: Sequence[str], log: Any) -> None:
    """Log which queues are looked at. Parameters: `inhibited` those with GET(DISABLED), which are not; `aliases` alias
    → the queue behind it; `unseen` those that are meant and of which nothing is known."""
    for alias, base in aliases.items():
        log.info("%s", printable(is_alias(alias, base)))
    for queue in inhibited:
        log.warning("%s is not looked at: GET(DISABLED)", printable(queue))
    if unseen:
        log.error("%s", printable(not_seen(unseen)))


def drain_and_log(session: Session, lake_folder: Path, queue_manager: str, log: Any) -> int:
    """Bring what killed runs left on the ledger queue into the ledger; returns the number of lines.

    Runs that were begun and are not finished are named in the log, and those that are not in this lake.
    """
    from mqops.prove.recovery import drain_earlier_runs  # noqa: PLC0415

    found = drain_earlier_runs(session, lake_folder, queue_manager)
    for line in found.to_finish():
        log.warning("%s (or clear its task act)", printable(line))
    for line in found.not_touched():
        log.warning("%s", printable(line))
    return found.lines


def told(log: Any, plan: PlanSummary, folder: RunFolder) -> XCom:
    """Log a plan that the task has made, and what its pre-flight found; returns what the XCom tells people of it."""
    from mqops.decide.core.preflight import shown  # noqa: PLC0415
    from mqops.decide.preflight_record import PREFLIGHT  # noqa: PLC0415 - loads pyarrow

    found = PREFLIGHT.find(folder)
    for action, count in sorted(plan.actions.items()):
        log.info("%s: %s", printable(action), counted(count, "message"))
    for remark in (*plan.remarks, *(found.remarks if found else ()), *(shown(found.findings) if found else ())):
        log.warning("%s", printable(remark))
    counts = {"run": plan.run, "digest": plan.digest, "rows": plan.rows, "actions": plan.actions}
    return counts | {"remarks": list(plan.remarks)}
