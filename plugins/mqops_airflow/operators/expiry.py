"""The operators of the expiry workflows: candidates, report, and the explicit request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator

from mqops.counted import counted
from mqops.errors import SettingsError, Unbalanced
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.run import RunFolder, folder_of
from mqops.misnamed import is_alias
from mqops.printable import printable
from mqops.queue_names import not_seen
from mqops.workflow import Workflow
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.notices.foretold import foretold
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.operators.begin import NOTHING_TO_DO
from mqops_airflow.operators.check import CheckOperator, log_choice
from mqops_airflow.operators.depth import trigger_again
from mqops_airflow.operators.first_tell import not_looked_at, tells, told_of
from mqops_airflow.runs.run_folder import XCom, hand_on, own_folder
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import Markdown, joined, md, number, thousands
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate import EstateFile
    from mqops.estate_sections import Notify
    from mqops.estate_workflows import ExpiryScan
    from mqops.expiry.core.outcome import ExpirySummary


class ExpiryCheckOperator(CheckOperator):
    """Finds the queues that need a scan (E16), and makes the run's folder. Without such queues the run ends here.

    :param recheck: seconds after which a queue is looked at in any case.
    :param notify: who tells people what will expire.
    """

    def __init__(self, *, recheck: float, notify: Notify | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.recheck = recheck
        self.notify = notify

    def execute(self, context: Context) -> XCom:
        from mqops.expiry.core.candidates import differing_intervals  # noqa: PLC0415
        from mqops.expiry.record import note_seen  # noqa: PLC0415
        from mqops.expiry.scan import candidates  # noqa: PLC0415
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        form, estate = given.Expiry.of(context), estate_file()
        section = _section(estate, self.queue_manager)
        told = bool(section and section.tell_from)
        with connect(connection_for(self.queue_manager, estate)) as session:
            chosen = candidates(
                session,
                lake(estate),
                form.queues,
                recheck=timedelta(seconds=self.recheck),
                all_filled=form.all_filled,
                forecast=told,
                waiting=told,
                interval=_interval(estate, self.queue_manager) if _by_schedule(context) else None,
            )
        left = chosen.refused(tells(form, self.log))
        chosen = chosen.without(left)
        if section is None or form.queues == section.queues:
            note_seen(folder_of(lake(estate), self.queue_manager), chosen.queues, chosen.group)
        intervals = {one: _interval(estate, one) for one in (*chosen.members, self.queue_manager)}
        if differs := differing_intervals(intervals, self.queue_manager):
            self.log.warning("%s: give them the same interval", printable(differs))
        for line in chosen.about_shared():
            log = self.log.warning if line == chosen.expryint else self.log.info
            log("%s", printable(line))
        log_choice(chosen.inhibited, chosen.aliases, chosen.unseen, self.log)
        for queue, why in chosen.why.items():
            self.log.info("%s: %s", printable(queue), printable(why))
        self.log.info("worth a scan: %d of %s", len(chosen.why), counted(chosen.looked_at, "queue"))
        found: dict[str, object] = {"queue": ",".join(chosen.why), "looked_at": chosen.looked_at}
        found["inhibited"] = list(chosen.inhibited)
        if chosen.aliases:
            found["aliases"] = dict(chosen.aliases)
        if chosen.unseen:
            found["unseen"] = list(chosen.unseen)
        found |= told_of(left.values())
        if not chosen.why:
            refuse_unseen(chosen.unseen)
            why = foretold(self.log, context, self.queue_manager, estate=estate, notify=self.notify)
            why = md("{} {}", why, chosen.expryint) if chosen.expryint else why
            done = not_looked_at(left.values()) or md("{}.", NOTHING_TO_DO)
            said = joined(" ", filter(None, (done, why))) if left or why else NOTHING_TO_DO
            return self.nothing_to_do(context, found, Workflow.EXPIRY_SCAN, said)
        with own_folder(context, lake(estate), self.queue_manager) as folder:
            return hand_on(context, folder, found)


def _by_schedule(context: Context) -> bool:
    kind = context["dag_run"].run_type
    return str(getattr(kind, "value", kind)) == "scheduled"


def _section(file: EstateFile, queue_manager: str) -> ExpiryScan | None:
    managed = file.estate.queue_managers.get(queue_manager)
    return managed.expiry_scan if managed else None


def _interval(file: EstateFile, queue_manager: str) -> timedelta | None:
    section = _section(file, queue_manager)
    return section.interval if section else None


class ExpiryReportOperator(BaseOperator):
    """Logs, returns and publishes what a scan did; fails if the figures of a queue contradict each other.

    :param folder: the run's folder (templated).
    :param asset: asset whose event gets the summary as extra.
    :param queue_manager: name in the estate.
    :param notify: who tells people what will expire.
    """

    operator_extra_links = (RunLink(),)
    template_fields = ("folder",)

    def __init__(
        self, *, folder: str, asset: Asset, queue_manager: str, notify: Notify | None = None, **kwargs: Any
    ) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.folder = folder
        self.notify = notify
        self.queue_manager = queue_manager
        self.asset = asset

    def execute(self, context: Context) -> XCom:
        from mqops.expiry.record import SCANNED  # noqa: PLC0415

        folder = RunFolder(Path(self.folder))
        summary, found = SCANNED.read(folder), HANDED_ON.find(folder) or NO_DAG_RUN
        unseen = found.names("unseen")
        more = replace(summary, unseen=unseen, aliases=found.aliases, balanced=summary.balanced and not unseen)
        report(self, context, more)
        context["outlet_events"][self.asset].extra = more.to_json()
        coming = foretold(
            self.log, context, self.queue_manager, estate=estate_file(), notify=self.notify, scans=more.queues
        )
        warning = trigger_again(self.log, self.queue_manager, Workflow.EXPIRY_SCAN)
        left = not_looked_at(found.names("left"))
        if left or coming or warning:
            keep_for_note(context, joined(" ", filter(None, (in_words(more), left, coming, warning))))
        return more.to_json()


class RefreshExpiryOperator(BaseOperator):
    """REFRESH QMGR TYPE(EXPIRY) by the form's queue manager and name, or the same by scan (E18)."""

    def execute(self, context: Context) -> XCom:
        from mqops.expiry.scan import refresh  # noqa: PLC0415 - loads the MQ library

        form, estate = given.Refresh.of(context), estate_file()
        asks = tells(form, self.log)
        summary = refresh(connection_for(form.queue_manager, estate), lake(estate), form.name, first_tell=asks)
        if asks and asks.told:
            keep_for_note(context, md("{} Nothing was done.", not_looked_at(asks.told)))
            return summary.to_json()
        self.log.info(
            "TYPE(EXPIRY) NAME(%s) on %s: done by %s",
            printable(form.name),
            printable(summary.queue_manager),
            printable(summary.by),
        )
        report(self, context, summary)
        return summary.to_json()


def report(operator: BaseOperator, context: Context, summary: ExpirySummary) -> None:
    """The summary in the log, a line a queue, in the run's note, and as the XCom also where it fails the task.

    Raises:
        Unbalanced: the figures of a queue that no other program had open do not add up.
    """
    for scan in summary.queues:
        operator.log.info(
            "%s: there %d = discarded %d + left %d + in flight %d; next expires %s%s",
            printable(scan.queue),
            *(scan.there, scan.discarded, scan.left, scan.in_flight),
            printable(scan.next_expiry or "none"),
            "" if scan.exact else " (others were at work meanwhile: about)",
        )
    if passed_over := summary.passed_over():
        operator.log.info("%s", printable(passed_over))
    operator.log.info("All: there %d = discarded %d + left %d", summary.found, summary.done, summary.left)
    if dead := summary.dead_letters:
        operator.log.info("%s: %d before the scan, %d after it", printable(dead.name), dead.before, dead.after)
    context["ti"].xcom_push(key="return_value", value=summary.to_json())
    keep_for_note(context, in_words(summary))
    if not summary.balanced:
        refuse_unseen(summary.unseen)
        wrong = ", ".join(scan.queue for scan in summary.queues if scan.exact and not scan.balanced)
        raise Unbalanced(f"The figures of {wrong} do not add up; see the lines above")


def refuse_unseen(unseen: Sequence[str]) -> None:
    """Raises `SettingsError` where queues that are meant could not be seen: what is on them is not known."""
    if unseen:
        raise SettingsError(not_seen(unseen))


def in_words(summary: ExpirySummary) -> Markdown:
    """What a scan did, for the run's note."""
    words = md(
        "{}: {} found = {} discarded because expired + {} left.",
        number(len(summary.queues), "queue"),
        number(summary.found, "message"),
        thousands(summary.done),
        thousands(summary.left),
    )
    for alias, base in summary.aliases.items():
        words = md("{} {}.", words, is_alias(alias, base))
    if passed_over := summary.passed_over():
        words = md("{} {}.", words, passed_over)
    if summary.unseen:
        words = md("{} {}.", words, not_seen(summary.unseen))
    if not summary.dead_letters or summary.came <= 0:
        return words
    grew = number(summary.came, "message")
    return md(
        "{} {} grew by {} meanwhile: reports of expiry may be among them.", words, summary.dead_letters.name, grew
    )
