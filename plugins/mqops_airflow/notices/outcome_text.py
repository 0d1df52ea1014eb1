"""How a run of a plan ended, in words: for the log of its last task, its report, and its note in Airflow. Pure.

The words say who decided, what was done, and what to do next. Nothing is decided by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.actions import Action
from mqops.estate_workflows import Approval
from mqops.lake.run import RunFolder
from mqops.look.core.question import TIMED_OUT
from mqops.look.words.balance import done
from mqops.model import Counts, total_of
from mqops.queue_names import not_seen
from mqops_airflow.approval.answer import read_question
from mqops_airflow.approval.policy import verdict_on
from mqops_airflow.runs.plan_files import preflight_in, read_plan
from mqops_airflow.ui.markdown import NOTHING, Markdown, code, joined, md, number, thousands, words

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.look.core.question import Answer, Over
    from mqops.model import RunSummary

KEY = "mqops_told"
"""XCom of these words. `mqops_airflow.notices.notes` makes them the run's note."""
POLICY = md("the policy of the estate")
AGAIN = md("To ask again, clear the task approve and what is behind it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known when the last task of a run begins.

    Parameters: `acted` the state of the task act, `approved` of the task approve; `stopped_by_plan` why the plan was
    for nobody to approve (dry run ...), "" for other plans; `answer` of a person or of the time-out, None where there
    is none; `over` why nobody can answer any more; `stops` the kill switches in force, in words.
    """

    acted: str
    approved: str
    stopped_by_plan: str = ""
    answer: Answer | None = None
    over: Over | None = None
    stops: Sequence[str] = ()


def outcome_text(ending: Ending, summary: RunSummary) -> Markdown:
    """One or more sentences."""
    return joined(" ", _sentences(ending, summary))


def _sentences(ending: Ending, summary: RunSummary) -> list[Markdown]:
    if ending.acted == "skipped":
        return _not_acted(ending)
    why = _unapproved(ending)
    if why and (ending.acted == "upstream_failed" or not (summary.moved or summary.discarded)):
        refused = ending.answer is not None and bool(ending.answer.refused)
        return [md("Nothing was moved: {}.", why), *([] if refused else [AGAIN])]
    counts = _counts(summary)
    if ending.acted == "success" and summary.finished:
        by = words(ending.answer.by) if ending.answer and ending.answer.approved else POLICY
        return [md("Approved by {}: {}.", by, counts), _balance(summary)]
    if ending.stops:
        return [
            md("Stopped: {}. So far {}.", joined("; ", ending.stops), counts),
            md("Nothing is lost."),
            resume(summary),
        ]
    return [
        md("act ended as {}: {}.", words(ending.acted), counts),
        md("Nothing is lost: its log says why it ended. Clear the task act to go on."),
    ]


def _balance(summary: RunSummary) -> Markdown:
    """Whether it balances; of a run that has not seen all queues that it should have, what it has not seen."""
    if summary.balanced and summary.unseen:
        return md("{}.", words(not_seen(summary.unseen)))
    return md("This balances.") if summary.balanced else md("This does NOT balance.")


def _counts(summary: RunSummary) -> Markdown:
    """The balance, in words. Messages that nobody has chosen are not in it."""
    from mqops.deciders.registry import fates_of, not_chosen  # noqa: PLC0415

    sums: Counts = summary
    others = not_chosen(summary.workflow, Counter({one.action: one.planned for one in summary.rules}))
    if others:
        sums = total_of(one for one in summary.rules if one.action != Action.IGNORE)
    planned = number(sums.planned, "chosen message" if others else "message")
    copies = any(one.action == Action.COPY for one in summary.rules)
    figures = done(summary, fates_of(summary.workflow), copies=copies)
    acted = joined(" + ", (md("{} {}", thousands(count), words(word)) for count, word in figures))
    return md("{} + {} left + {} gone of {}", acted, thousands(sums.left), thousands(sums.gone), planned)


def _not_acted(ending: Ending) -> list[Markdown]:
    """Why act was skipped."""
    if ending.stopped_by_plan:
        return [md("{}.", words(_capital(ending.stopped_by_plan)))]
    why = _unapproved(ending)
    if why:
        again = md("Start a new run to ask again.") if ending.answer else AGAIN
        return [md("Nothing was moved: {}.", why), again]
    return [md("Nothing was moved: the task act was skipped.")]


def _unapproved(ending: Ending) -> Markdown:
    """Why no approval permits the plan, nothing where one does."""
    answer = ending.answer
    if answer is None:
        return words(ending.over.meaning) if ending.over else NOTHING
    by = words(answer.by or "nobody")
    if answer.refused:
        return md("the approval by {} was refused: {}", by, words(answer.refused))
    if not answer.approved:
        return md("the plan was rejected by {}", by) if answer.by else words(TIMED_OUT)
    return md("Airflow failed the task approve after {} had approved", by) if ending.approved == "failed" else NOTHING


def resume(summary: RunSummary) -> Markdown:
    """What takes a stop back."""
    return md(
        "To go on, run mq_stop with Do = resume for queue manager {}, then clear the task act of this run.",
        words(summary.queue_manager),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def keep_for_note(context: Context, text: Markdown) -> None:
    """Keep the words for the run's note. What is no Markdown after all becomes code."""
    context["ti"].xcom_push(key=KEY, value=str(text if isinstance(text, Markdown) else code(text)))


def ending_of(context: Context, folder: str, states: dict[str, str], act_task: str) -> Ending:
    """What the run's folder and Airflow know of its end. Raises `LakeError`."""
    from mqops.lake.stop import stops_of  # noqa: PLC0415

    plan, asked = read_plan(folder), read_question(folder)
    # Which policy decides about a plan that moves something is not asked here, only whether there was one to decide on.
    verdict = verdict_on(plan, preflight_in(folder), approval=Approval(), context=context)
    return Ending(
        acted=states.get(act_task, "none"),
        approved=states.get("approve", ""),
        stopped_by_plan=verdict.why if verdict.way == "stop" else "",
        answer=asked.answer if asked and asked.question.digest == plan.digest else None,
        over=asked.over if asked and asked.question.digest == plan.digest else None,
        stops=stops_of(RunFolder(Path(folder))),
    )
