"""How a run of a plan ended, in words: for the log of its last task, its report, and its note in Airflow. Pure.

The words say who decided, what was done, and what to do next. Nothing is decided by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mqops.actions import Action
from mqops.counted import counted
from mqops.model import Counts, total_of
from mqops.printable import printable
from mqops.prove.undo_record import WORKFLOW as UNDO

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.model import RunSummary
    from mqops_airflow.answer import Answer

KEY = "mqops_told"
"""XCom of these words. `mqops_airflow.notes` makes them the run's note."""
POLICY = "the policy of the estate"
NO_ANSWER = "nobody answered in time, which counts as Reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known when the last task of a run begins.

    Parameters: `acted` the state of the task act, `approved` of the task approve; `stopped_by_plan` why the plan was
    for nobody to approve (dry run ...), "" for other plans; `answer` of a person or of the time-out, None where nobody
    was asked; `stops` the kill switches in force, in words.
    """

    acted: str
    approved: str
    stopped_by_plan: str = ""
    answer: Answer | None = None
    stops: Sequence[str] = ()


def outcome_text(ending: Ending, summary: RunSummary) -> str:
    """One or more sentences."""
    return printable(" ".join(_sentences(ending, summary)))


def _sentences(ending: Ending, summary: RunSummary) -> list[str]:
    if ending.acted == "skipped":
        return _not_acted(ending)
    if ending.acted == "upstream_failed" and ending.approved == "failed":
        return ["Nothing was moved: the approval was refused. The log of the task approve says why."]
    counts = _counts(summary)
    if ending.acted == "success" and summary.finished:
        by = ending.answer.by if ending.answer and ending.answer.approved else POLICY
        return [f"Approved by {by}: {counts}.", "This balances." if summary.balanced else "This does NOT balance."]
    if ending.stops:
        return [f"Stopped: {'; '.join(ending.stops)}. So far {counts}.", "Nothing is lost.", resume(summary)]
    return [
        f"act ended as {ending.acted}: {counts}.",
        "Nothing is lost: its log says why it ended. Clear the task act to go on.",
    ]


def _counts(summary: RunSummary) -> str:
    """The balance, in words. Messages that nobody has chosen are not in it."""
    from mqops.deciders.registry import not_chosen  # noqa: PLC0415

    sums: Counts = summary
    others = not_chosen(summary.workflow, Counter({one.action: one.planned for one in summary.rules}))
    if others:
        sums = total_of(one for one in summary.rules if one.action != Action.IGNORE)
    number = counted(sums.planned, "chosen message" if others else "message")
    return f"{_done(summary)} + {sums.left:,} left + {sums.gone:,} gone of {number}"


def _done(summary: RunSummary) -> str:
    """What was moved and discarded. An undo puts messages back, and takes away those that its run put as copies."""
    if summary.workflow != UNDO:
        return f"{summary.moved:,} moved + {summary.discarded:,} discarded"
    return f"{summary.moved:,} put back" + (f" + {summary.discarded:,} taken away" if summary.discarded else "")


def _not_acted(ending: Ending) -> list[str]:
    """Why act was skipped."""
    if ending.stopped_by_plan:
        return [f"{_capital(ending.stopped_by_plan)}."]
    if ending.answer and not ending.answer.approved:
        who = f"the plan was rejected by {ending.answer.by}" if ending.answer.by else NO_ANSWER
        return [f"Nothing was moved: {who}.", "Start a new run to ask again."]
    return ["Nothing was moved: the task act was skipped."]


def resume(summary: RunSummary) -> str:
    """What takes a stop back."""
    return (
        f"To go on, run mq_stop with Do = resume for queue manager {summary.queue_manager}, then clear the task act of "
        "this run."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def keep_for_note(context: Context, text: str) -> None:
    """Keep the words for the run's note."""
    context["ti"].xcom_push(key=KEY, value=text)


def ending_of(context: Context, folder: str, states: dict[str, str], act_task: str) -> Ending:
    """What the run's folder and Airflow know of its end. Raises `LakeError`."""
    from pathlib import Path  # noqa: PLC0415

    from mqops.estate_sections import Approval  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.lake.stop import stops_of  # noqa: PLC0415
    from mqops_airflow import answer  # noqa: PLC0415
    from mqops_airflow.plan_files import preflight_in, read_plan  # noqa: PLC0415
    from mqops_airflow.policy import verdict_on  # noqa: PLC0415

    plan, asked = read_plan(folder), answer.read_question(folder)
    # Which policy decides about a plan that moves something is not asked here, only whether there was one to decide on.
    verdict: Any = verdict_on(plan, preflight_in(folder), approval=Approval(), context=context)
    return Ending(
        acted=states.get(act_task, "none"),
        approved=states.get("approve", ""),
        stopped_by_plan=verdict.why if verdict.way == "stop" else "",
        answer=asked.answer if asked and asked.question.digest == plan.digest else None,
        stops=stops_of(RunFolder(Path(folder))),
    )
