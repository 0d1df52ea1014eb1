"""The task behind `mq_trigger_explain`: why a queue triggers, or not, as a table in the run's note and in its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from airflow.sdk import BaseOperator

from mqops.printable import printable
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.forms.given import ExplainForm, given
from mqops_airflow.notices.notes import LONGEST
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md, number, table, words

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.trigger.core import Condition, Explanation
    from mqops_airflow.runs.run_folder import XCom

SHOWN = {"holds": md("ok"), "fails": md("**fails**"), "unknown": md("unknown")}
HEADINGS = ("condition", "state", "found", "mended by (MQSC)")


class TriggerExplainOperator(BaseOperator):
    """Explains the form's queue by inquiry. Nothing is put, got or changed.

    The run succeeds whatever the answer is. The XCom is what `mqops trigger explain --json` prints.
    """

    def execute(self, context: Context) -> XCom:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.trigger.core import explain  # noqa: PLC0415
        from mqops.trigger.look import manager, triggered_queue  # noqa: PLC0415

        form = given(context["params"], ExplainForm)
        with connect(connection_for(form.queue_manager, estate_file())) as session:
            found = explain(triggered_queue(session, form.queue, manager(session)))
        for one in found.conditions:
            fix = f"; mended by {one.fix}" if one.fix else ""
            self.log.info("%s", printable(f"{one.id:5} {one.state:8} " + one.found + fix.replace("\n", ", then ")))
        self.log.info("%s", printable(found.verdict))
        keep_for_note(context, answer(found))
        return found.to_json()


def rows(conditions: Iterable[Condition]) -> list[tuple[Markdown, Markdown, str, Markdown]]:
    """A row of the table for each condition."""
    return [
        (words(one.id), SHOWN[one.state], one.found, joined(" ", (one.fix or "").split("\n"))) for one in conditions
    ]


def answer(found: Explanation) -> Markdown:
    """The verdict and, in Markdown, the table of the conditions that do not hold, as many as a note takes."""
    alias = md("{}. ", found.of_alias) if found.of_alias else NOTHING
    verdict = md("{}{} of {}: {}", alias, found.queue, found.queue_manager, found.verdict)
    conditions = sorted((one for one in found.conditions if one.state != "holds"), key=lambda one: one.state)
    held = md("ok: {}", joined(", ", (words(one.id) for one in found.conditions if one.state == "holds")))
    for shown in range(len(conditions), 0, -1):
        rest = number(len(conditions) - shown, "more condition")
        more = md("\n\n{} that may fail: see the log of the task.", rest) if len(conditions) > shown else NOTHING
        text = md("{}\n\n{}{}\n\n{}", verdict, table(HEADINGS, rows(conditions[:shown])), more, held)
        if len(text) <= LONGEST:
            return text
    return md("{}\n\n{}", verdict, md("The log of the task has the table.") if conditions else held)
