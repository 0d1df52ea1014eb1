"""The operators of the data quality workflow: what is to be looked at, the Spark job, and what the run says of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator

from mqops import form_files
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.printable import printable
from mqops.quality.summary import QualitySummary, describe, verdict
from mqops.quality.vocabulary import SEVERITIES
from mqops_airflow.check import CheckOperator, end_here
from mqops_airflow.data_docs import DataDocsLink, address
from mqops_airflow.markdown import Markdown, link, md, words
from mqops_airflow.outcome_text import keep_for_note
from mqops_airflow.pages.views import RunLink
from mqops_airflow.reach import connection_for
from mqops_airflow.run_folder import hand_on, own_folder
from mqops_airflow.spark import MqSparkSubmitOperator
from mqops_airflow.workplace import estate_file, lake

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate import EstateFile

LEVELS = {"critical": "error", "warning": "warning", "info": "info"}


class QualityCheckOperator(CheckOperator):
    """Checks suites, queue manager and queues; makes the run's folder. All of it without a JVM and without GX.

    Where no queue has a message the run ends here: everything behind is skipped. RUN/handed_on.json says what is to
    be looked at, in the words of the Spark jobs' arguments; the XCom tells it to people, no task reads it.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.quality.queues import choose_queues  # noqa: PLC0415

        params, estate = context["params"], estate_file()
        suites = valid_suites(estate, params["suites"])
        with connect(connection_for(self.queue_manager, estate)) as session:
            choice = choose_queues(session, params["queues"])
        for queue in choice.inhibited:
            self.log.warning("%s is not looked at: GET(DISABLED)", printable(queue))
        messages = sum(choice.depths.values())
        self.log.info(
            "%s on %s; %s empty",
            counted(messages, "message"),
            counted(len(choice.depths), "queue"),
            counted(choice.empty, "queue is", "queues are"),
        )
        found = {
            "queues": ",".join(choice.depths),
            "messages": messages,
            "inhibited": list(choice.inhibited),
            "suites": ",".join(map(str, suites)),
            "limit": params["limit"] or 0,
        }
        if not messages:
            return end_here(self, context, found)
        with own_folder(context, lake(estate), self.queue_manager) as folder:
            return hand_on(context, folder, found)


def valid_suites(estate: EstateFile, names: Iterable[str]) -> list[Path]:
    """The files of suites, which are valid.

    Raises:
        SettingsError: a form may not name one of them; or with every error of every suite.
    """
    from mqops.quality.suite_file import load_suites  # noqa: PLC0415

    paths = [form_files.suite(estate, name) for name in names]
    load_suites(paths)
    if any("," in str(path) for path in paths):
        raise SettingsError(f"a suite's path must not have a comma: {', '.join(map(str, paths))}")
    return paths


class QualitySubmitOperator(MqSparkSubmitOperator):
    """Submits a job that reads the lake only: it gets no credentials."""

    needs_queue_manager = False


class QualityReportOperator(BaseOperator):
    """Logs, returns and publishes the summary; fails if a critical expectation failed or the counts do not agree.

    :param folder: the run's folder (templated).
    :param asset: asset whose event gets the summary as extra.
    """

    template_fields = ("folder",)
    operator_extra_links = (DataDocsLink(), RunLink())

    def __init__(self, *, folder: str, asset: Asset, **kwargs: Any) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.folder = folder
        self.asset = asset

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.lake.files import read_json  # noqa: PLC0415

        summary = QualitySummary.from_json(read_json(Path(self.folder) / "quality" / "quality.json"))
        self._log_summary(summary)
        keep_for_note(context, in_words(summary, address(context["dag_run"].dag_id, context["dag_run"].run_id)))
        value = summary.to_json()
        context["ti"].xcom_push(key="return_value", value=value)
        verdict(summary)
        context["outlet_events"][self.asset].extra = value
        return value

    def _log_summary(self, summary: QualitySummary) -> None:
        """The summary in the log: a line an expectation that is not met, a line a queue."""
        for severity in SEVERITIES:
            for check in summary.not_met(severity):
                getattr(self.log, LEVELS[severity])("%s", printable(describe(check)))
        for queue in summary.queues:
            self.log.info(
                "%s: found %d = good %d + with findings %d",
                printable(queue.queue),
                *(queue.found, queue.done, queue.left),
            )
        self.log.info(
            "Which message failed what: %s; Data Docs: %s", printable(summary.failures), printable(summary.docs)
        )


def in_words(summary: QualitySummary, docs: str) -> Markdown:
    """How the checks ended, for the run's note, as pages say it. Parameters: `docs` the address of the Data Docs."""
    from mqops.look.core.run_state import checks_in_words  # noqa: PLC0415

    return md(
        "{}. The page Quality names the messages that failed; {} have each check's figures.",
        words(checks_in_words(summary.to_json())),
        link("Data Docs", docs),
    )
