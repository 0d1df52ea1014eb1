"""The task behind `mq_trigger_explain`: why a queue triggers, or not, as a table in the run's note and in its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mqops.counted import counted
from mqops.printable import printable
from mqops_airflow.notes import LONGEST
from mqops_airflow.outcome_text import keep_for_note
from mqops_airflow.plan_text import code, table
from mqops_airflow.reach import connection_for
from mqops_airflow.workplace import estate_file

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.trigger.core import Condition, Explanation

SHOWN = {"holds": "ok", "fails": "**fails**", "unknown": "unknown"}
HEADINGS = ("condition", "state", "found", "mended by (MQSC)")


class TriggerExplainOperator(BaseOperator):
    """Explains the form's queue by inquiry. Nothing is put, got or changed.

    The run succeeds whatever the answer is. The XCom is what `mqops trigger explain --json` prints.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
        from mqops.trigger.core import explain  # noqa: PLC0415
        from mqops.trigger.look import manager, triggered_queue  # noqa: PLC0415

        params = context["params"]
        with connect(connection_for(params["queue_manager"], estate_file())) as session:
            found = explain(triggered_queue(session, params["queue"], manager(session)))
        for one in found.conditions:
            fix = f"; mended by {one.fix}" if one.fix else ""
            self.log.info("%s", printable(f"{one.id:5} {one.state:8} " + one.found + fix.replace("\n", ", then ")))
        self.log.info("%s", printable(found.verdict))
        keep_for_note(context, answer(found))
        return found.to_json()


def rows(conditions: Iterable[Condition]) -> list[tuple[str, str, str, str]]:
    """A row of the table for each condition."""
    return [
        (one.id, SHOWN[one.state], code(one.found), " ".join(code(line) for line in (one.fix or "").split("\n")))
        for one in conditions
    ]


def answer(found: Explanation) -> str:
    """The verdict and, in Markdown, the table of the conditions that do not hold, as many as a note takes."""
    verdict = f"{code(found.queue)} of {code(found.queue_manager)}: {code(found.verdict)}"
    conditions = sorted((one for one in found.conditions if one.state != "holds"), key=lambda one: one.state)
    held = ", ".join(one.id for one in found.conditions if one.state == "holds")
    for shown in range(len(conditions), 0, -1):
        rest = len(conditions) - shown
        more = f"\n\n{counted(rest, 'more condition')} that may fail: see the log of the task." if rest else ""
        text = f"{verdict}\n\n{table(HEADINGS, rows(conditions[:shown]))}{more}\n\nok: {held}"
        if len(text) <= LONGEST:
            return text
    return f"{verdict}\n\nThe log of the task has the table." if conditions else f"{verdict}\n\nok: {held}"
