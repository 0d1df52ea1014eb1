"""The operators of the data quality workflow: what is to be looked at, the Spark job, and what the run says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator

from mqops import form_files
from mqops.clock import utc_now
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.message_checks import LEARNS, CheckResult, QualitySummary
from mqops.printable import printable
from mqops.quality.no_message import check_no_message, keep_no_message
from mqops.quality.scope import QueuesSeen
from mqops.quality.suite_file import load_suites
from mqops.quality.summary import describe, verdict
from mqops.quality.vocabulary import SEVERITIES
from mqops.queue_names import not_seen
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms import given
from mqops_airflow.notices.notify import Notice, tell_people
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.operators.begin import NOTHING_TO_DO, end_here
from mqops_airflow.operators.check import CheckOperator, log_choice, tell_before_look
from mqops_airflow.operators.first_tell import left_by, not_looked_at, told_of
from mqops_airflow.pages.data_docs import DataDocsLink, address
from mqops_airflow.runs.run_folder import XCom, hand_on, own_folder
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.spark.submit import MqSparkSubmitOperator
from mqops_airflow.ui.markdown import Markdown, joined, link, md, number, words
from mqops_airflow.ui.views import RunLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate import EstateFile
    from mqops.estate_sections import Notify
    from mqops.quality.suite import Suite

MOST_TOLD = 6
"""Sentences of a note about checks and patterns that looked at nothing."""
LEVELS = {"critical": "error", "warning": "warning", "info": "info"}


class QualityCheckOperator(CheckOperator):
    """Checks suites, queue manager and queues; makes the run's folder. All of it without a JVM and without GX.

    Where no queue has a message the suites are checked here, and the run ends: everything behind is skipped, or the run
    fails, as it would fail on a snapshot without messages. RUN/handed_on.json says what is to be looked at, in the
    words of the Spark jobs' arguments; the XCom tells it to people, no task reads it.

    :param notify: who tells people of suites that are not passed.
    """

    def __init__(self, *, notify: Notify | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.notify = notify

    def execute(self, context: Context) -> XCom:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.quality.queues import aliases_in, choose_queues  # noqa: PLC0415

        form, estate = given.Quality.of(context), estate_file()
        paths = suite_files(estate, form.suites)
        suites = load_suites(paths)
        with connect(connection_for(self.queue_manager, estate)) as session:
            choice = choose_queues(session, form.queues)
            aliases = choice.aliases | aliases_in(session, suites)
            left = left_by(form, session, lake(estate), choice.depths, self.log)
        log_choice(choice.inhibited, aliases, choice.unseen, self.log)
        messages = sum(choice.depths.values())
        self.log.info(
            "%s on %s; %s empty",
            counted(messages, "message"),
            counted(len(choice.depths), "queue"),
            counted(len(choice.empty), "queue is", "queues are"),
        )
        found = {
            "queues": ",".join(choice.depths),
            "messages": messages,
            "inhibited": list(choice.inhibited),
            "unseen": list(choice.unseen),
            "aliases": aliases,
            "suites": ",".join(map(str, paths)),
            "limit": form.limit or 0,
            **told_of(left.values()),
        }
        if left:
            return end_here(self, context, found, md("{} Nothing was checked.", not_looked_at(left.values())))
        if not messages:
            seen = QueuesSeen(looked_at=choice.empty, unread=choice.inhibited, unseen=choice.unseen, aliases=aliases)
            return self._without_a_message(context, found, suites, seen)
        tell_before_look(lake(estate), self.queue_manager, choice.depths, self.log)
        with own_folder(context, lake(estate), self.queue_manager) as folder:
            handed = hand_on(context, folder, {**found, "empty": list(choice.empty)})
        return {name: value for name, value in handed.items() if name != "empty"}  # no list without end for people

    def _without_a_message(self, context: Context, found: XCom, suites: tuple[Suite, ...], seen: QueuesSeen) -> XCom:
        """End the run. What is not met is kept as of any other run.

        Raises:
            QualityFailed: a critical expectation is not met.
        """
        would_be = RunFolder.at(lake(estate_file()), self.queue_manager, "this_run")
        summary = check_no_message(self.queue_manager, suites, seen, now=utc_now(), run=would_be)
        if all(check.met for check in summary.checks) and not summary.unseen:
            return end_here(self, context, found, joined(". ", [NOTHING_TO_DO, *map(words, summary.told)]))
        with own_folder(context, lake(estate_file()), self.queue_manager) as folder:
            hand_on(context, folder, {**found, "empty": list(seen.looked_at)})
            kept = keep_no_message(folder, summary)
        log_summary(self.log, kept)
        said = in_words(kept, "")
        keep_for_note(context, said)
        tell_of_suites(self.notify, context, lake(estate_file()), kept)
        verdict(kept)
        return end_here(self, context, found, said)


def suite_files(estate: EstateFile, names: Iterable[str]) -> list[Path]:
    """The files of suites.

    Raises:
        SettingsError: a form may not name one of them.
    """
    paths = [form_files.suite(estate, name) for name in names]
    if any("," in str(path) for path in paths):
        raise SettingsError(f"a suite's path must not have a comma: {', '.join(map(str, paths))}")
    return paths


class QualitySubmitOperator(MqSparkSubmitOperator):
    """Runs a job that reads the lake only: it gets no credentials; by Spark where the snapshot is large.

    :param snapshot: folder (templated) of the snapshot.
    """

    template_fields = (*MqSparkSubmitOperator.template_fields, "snapshot")
    needs_queue_manager = False

    def __init__(self, *, snapshot: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.snapshot = snapshot

    def needs_spark(self) -> bool:
        from mqops.quality.check_snapshot import needs_spark  # noqa: PLC0415 - loads Arrow

        return needs_spark(Path(self.snapshot), load_suites(self.repeated["--suite"].split(",")))


class QualityReportOperator(BaseOperator):
    """Logs, returns and publishes the summary; fails if a critical expectation failed or the counts do not agree.

    :param folder: the run's folder (templated).
    :param asset: asset whose event gets the summary as extra.
    :param notify: who tells people of suites that are not passed.
    """

    template_fields = ("folder",)
    operator_extra_links = (DataDocsLink(), RunLink())

    def __init__(self, *, folder: str, asset: Asset, notify: Notify | None = None, **kwargs: Any) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.folder = folder
        self.asset = asset
        self.notify = notify

    def execute(self, context: Context) -> XCom:
        summary = Checked(QualitySummary).read(Path(self.folder) / "quality" / "quality.json")
        log_summary(self.log, summary)
        keep_for_note(context, in_words(summary, address(context["dag_run"].dag_id, context["dag_run"].run_id)))
        value = summary.to_json()
        context["ti"].xcom_push(key="return_value", value=value)
        tell_of_suites(self.notify, context, lake(estate_file()), summary)
        verdict(summary)
        context["outlet_events"][self.asset].extra = value
        return value


def tell_of_suites(notify: Notify | None, context: Context, lake_folder: Path, summary: QualitySummary) -> None:
    """Tell people of suites that begin to learn, that passed before and do not now, or do not at their first run. Each
    is told once: a suite that stays as it was is not told again. Raises `LakeError`."""
    from mqops.quality.trend import passed_before, runs_before  # noqa: PLC0415

    learn = [one for one in summary.checks if one.skipped.startswith(LEARNS)]
    if notify is None or (summary.ok and not learn):
        return
    earlier = runs_before(lake_folder, summary)
    learnt = {_check(one) for run in earlier for one in run.checks if one.skipped.startswith(LEARNS)}
    if begins := [one for one in learn if _check(one) not in learnt]:
        of_suites, why = dict.fromkeys(one.suite for one in begins), "; ".join(map(_learns, begins))
        told = {"queue_manager": summary.queue_manager, "suites": ", ".join(of_suites), "why": why}
        tell_people(notify, context, Notice.LEARNS, **told)
    if summary.ok:
        return
    failed = dict.fromkeys(one.suite for one in summary.not_met("critical")) or dict.fromkeys(summary.suites)
    before = passed_before(earlier)
    for notice, suites in (
        (Notice.TURNED, [one for one in failed if before.get(one)]),
        (Notice.FAILS, [one for one in failed if one not in before]),
    ):
        lines = [describe(one) for one in summary.not_met("critical") if one.suite in suites]
        why = "; ".join([*lines, *summary.problems, *filter(None, [not_seen(summary.unseen)])])
        if suites:
            tell_people(notify, context, notice, queue_manager=summary.queue_manager, suites=", ".join(suites), why=why)


def _check(one: CheckResult) -> tuple[str, str]:
    return one.suite, one.expectation


def _learns(check: CheckResult) -> str:
    return f"{check.suite}.{check.expectation} {check.skipped}"


def log_summary(log: Any, summary: QualitySummary) -> None:
    """The summary in the log: a line an expectation that is not met, a line a queue, a line a pattern without one."""
    for severity in SEVERITIES:
        for check in summary.not_met(severity):
            getattr(log, LEVELS[severity])("%s", printable(describe(check)))
    for queue in summary.queues:
        log.info(
            "%s: found %d = good %d + with findings %d%s",
            printable(queue.queue),
            *(queue.found, queue.done, queue.left),
            printable(f" + not checked {queue.not_checked}" if queue.not_checked else ""),
        )
    for told in summary.told:
        log.warning("%s", printable(told))
    if summary.failures:
        log.info("Which message failed what: %s; Data Docs: %s", printable(summary.failures), printable(summary.docs))


def in_words(summary: QualitySummary, docs: str) -> Markdown:
    """How the checks ended, for the run's note, as pages say it.

    Parameters: `docs` the address of the Data Docs, "" where there are none: no queue had a message.
    """
    from mqops.look.core.run_state import checks_in_words  # noqa: PLC0415

    sentences = [words(checks_in_words(summary))]
    if docs:
        page = link("Data Docs", docs)
        sentences.append(md("The page Quality names the messages that failed; {} have each check's figures", page))
    sentences += told_in_note(summary)
    return md("{}.", joined(". ", sentences))


def told_in_note(summary: QualitySummary) -> Iterator[Markdown]:
    """The suites that looked at no message and what else is told; the first of many, as a note has little room."""
    unseen = [f"suite {one.suite}: {one.skipped}" for one in summary.checks if one.skipped and not one.met]
    every = list(dict.fromkeys([*unseen, *summary.told]))
    yield from map(words, every[:MOST_TOLD])
    if len(every) > MOST_TOLD:
        yield md("{} of this kind: see the page Quality", number(len(every) - MOST_TOLD, "more line"))
