"""The page `plan`: the question that an approver answers, and Airflow's own two buttons under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.decide.core.preflight import Finding, Looked, Preflight, judge
from mqops.decide.core.staying import staying
from mqops.decide.preflight import NOT_DONE
from mqops.deciders.registry import by_choice, fates_of, holds_queues
from mqops.errors import MqopsError
from mqops.lake.pruned import has_removed
from mqops.look.core.run_state import RunLine
from mqops.look.plan_view import PlanView, acted_on, destinations, look_now, plan_view
from mqops.look.run_story import RunStory
from mqops.look.run_view import latest_view
from mqops.look.unmoved import BY_HAND
from mqops.look.words import plan as words
from mqops.look.words.fates import rule_in_words
from mqops.look.words.planned import decided_by, discarded, title
from mqops.look.words.run import beside, not_in_airflow
from mqops.look.words.state import RunState
from mqops.look.words.steps import remark
from mqops.look.words.text import NOTHING, AirflowLink, Link, OfRun, Table, Text, said, sentences
from mqops_airflow.approval.plan_text import THIS_PLAN_ONLY
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.answers import Answers
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_forms import RECOVER, real_run, to_ask_again
from mqops_airflow.pages.run_seen import MESSAGES
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.shown import below, size
from mqops_airflow.pages.which_run import APPROVE, ENDED, Asked, Task, asked_by, started_of, tasks_of
from mqops_airflow.pages.who_answers import asks_for_four_eyes, questions_before, who_answers
from mqops_airflow.runs.plan_files import undone_in, undone_run
from mqops_airflow.ui.table import Page
from mqops_airflow.ui.views import path_of_run

GROUPS = 200
"""Groups that the page shows, the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The destinations of a plan, as they were last seen. Parameters: `at` when, ISO 8601 UTC; `error` why they could
    not be seen later."""

    at: str = ""
    looked: tuple[Looked, ...] = ()
    error: str = ""

    @property
    def in_words(self) -> str:
        """The sentences why the destinations were not looked at later."""
        why = self.error.rstrip(".")
        return f"The queue manager cannot be asked now: {why}. These are the figures of the pre-flight."


ANSWERS: Answers[Seen] = Answers(5.0)
_view = shared(plan_view)


def router(page: Page) -> APIRouter:
    """The route of the page."""
    routes, of = APIRouter(), asked_by(page.right)

    @routes.get(page.path)
    def whole(request: Request, found: tuple[Reader, Asked] = of) -> HTMLResponse:
        who, asked = found
        name = asked.run.queue_manager
        if not asked.run.plan_json.exists():
            return render_page(request, page, who, name, template="plan_none", asked=asked)
        view, answer = _view(asked.run), _Answer(who, asked)
        seen = _look(who, view, now=answer.open)
        told = _InWords(who, view, seen, answer)
        return render_page(request, page, who, name, view=view, words=told, seen=seen, answer=answer)

    @routes.get(f"{page.path}/answer")
    def answered(request: Request, found: tuple[Reader, Asked] = of) -> HTMLResponse:
        who, asked = found
        return render_page(
            request, page, who, asked.run.queue_manager, template="plan_answer", answer=_Answer(who, asked)
        )

    return routes


class _Answer:
    """The question about a plan and its answer. `settled`: nothing changes any more; `open`: the question is open, or
    will be."""

    def __init__(self, who: Reader, asked: Asked) -> None:
        tasks, view = tasks_of(asked), latest_view(asked.run, limit=MESSAGES)
        story, task = view.story, tasks.get(APPROVE)
        started = started_of(asked)
        form = started.dry_form if not story.begun_at else None
        may_start = form is not None and who.may_start(asked.dag_id) and acted_on(story.actions) > 0
        settled = bool(story.approval and story.approval.answer) or task is None or task.state in ENDED
        waits = who_answers(who, asked, task)
        again = to_ask_again(story, tasks)
        held = holds_queues(story.workflow)
        self.asked = asked
        self.dry = form is not None
        self.form = real_run(asked.dag_id, form) if form is not None else None
        self.questions = questions_before(who.estate, asked, story) if may_start else ()
        self.over = view.over
        self.line = story.line
        self.waits = waits
        self.eyes = asks_for_four_eyes(who.estate, asked.dag_id)
        self.settled = settled
        self.ask_again = again if again and who.may_clear(asked.dag_id) else []
        self.live = not settled or bool(again)
        self.open = bool(waits) or (not settled and form is None)
        self.snapshot = words.snapshot(story.line, None if settled else _depth(who, story.line)) if held else NOTHING
        gone = not_in_airflow(asked.dag_id, started.cleaned_at)
        self.told = (*_answered(asked, story, task, dry=form is not None), *filter(None, [gone]))
        self.asks_again = settled and may_start and _is_dry_run(story, task)
        self.run_path = path_of_run(asked.dag_id, asked.run_id) if asked.dag_id and not gone else ""
        self.live_part = Link("", "plan/answer", {"queue_manager": asked.run.queue_manager, "run": asked.run.run})
        self.discarded = discarded(story.plan) if story.plan else 0
        self.who_asked = waits.in_words(asked=True) if waits else NOTHING


class _InWords:
    """The plan in words. Parameters: `seen` the destinations of the plan."""

    def __init__(self, who: Reader, view: PlanView, seen: Seen, answer: _Answer) -> None:
        plan, tables = view.plan, _tables(Same(view))
        asks = "{}?" if answer.open else "would {}" if answer.dry else "plan to {}"
        problems = view.found.findings if view.found else ()
        by_hand = not plan.actions.keys().isdisjoint(BY_HAND) and not has_removed(view.pruned, answer.asked.run.plan)
        news = words.folded(_news(view, seen.looked))
        self.meaning = beside(view.line)
        self.run = said("The plan of {}.", OfRun(plan.queue_manager, view.line.run))
        stay = staying(view.found, plan.digest).messages if answer.open or answer.dry else 0
        self.subject = title(plan, asks, undone=undone_in(str(answer.asked.run.path), plan), stay=stay)
        self.stops = tuple(words.stops(view, NOT_DONE))
        self.remarks = tuple(map(remark, view.plan.remarks))
        self.findings = words.folded(one for one in problems if not one.what.endswith(NOT_DONE))
        self.since_then = [(kind, f"Since the plan was made: {text}") for kind, text in news]
        self.sums = words.sums(view, size(plan.bytes))
        self.compared = words.compared(view)
        self.groups = tables.groups
        self.may_move = by_hand and view.line.state is not RunState.WAITING and who.may_start(RECOVER)
        self.left_off = words.left_off(view, GROUPS)
        self.gone = tables.gone
        self.more_gone = max(0, len(view.gone) - words.MOST_GONE)
        self.destinations = words.destinations(destinations(seen.looked))
        self.samples = tables.samples
        self.rules = decided_by(plan.queue_manager, undone_run(plan), below(plan.table_source, who.estate.path.parent))
        self.this_plan_only = THIS_PLAN_ONLY


class _Tables(NamedTuple):
    """The tables of a plan that depend on nothing else."""

    groups: Table
    gone: Table
    samples: Table


@shared
def _tables(view: Same[PlanView]) -> _Tables:
    workflow = view.value.plan.workflow
    decided = partial(rule_in_words, None, by_choice=by_choice(workflow), fates=fates_of(workflow))
    groups = words.groups(view.value, GROUPS, decided)
    return _Tables(groups, words.gone_groups(view.value), words.samples(view.value))


def _is_dry_run(story: RunStory, task: Task | None) -> bool:
    """Whether nobody has answered, and Airflow does not run the task that asks. Parameters: `task` approve."""
    return not words.answered(story.approval) and (task is None or task.state not in _ASKING)


def _answered(asked: Asked, story: RunStory, task: Task | None, *, dry: bool) -> Iterator[Text]:
    """Sentences about the answer to the question. Parameters: `task` approve; `dry` whether a form started a dry
    run."""
    failed = task is not None and task.state == "failed"
    path = f"{path_of_run(asked.dag_id, asked.run_id)}/tasks/approve"
    log = said("{} says why.", AirflowLink("Its log in Airflow", path)) if failed else NOTHING
    unanswered = sentences(said("{}", _unanswered(task, story)), log)
    if answer := words.answered(story.approval):
        yield answer
        if failed and not story.begun_at:
            yield unanswered
    elif task and task.state in _ASKING:
        yield said(_ASKING[task.state])
    elif dry:
        yield said("This is the plan of a dry run: nobody is asked about it, and nothing of it is done.")
    else:
        yield unanswered


_ON_ITS_WAY = "Airflow runs the task approve: its question, or its answer, is told here in a moment."
_AGAIN = (
    "Airflow tries the task approve again, which takes up the answer that Airflow has recorded, within a minute. If "
    "there is none, the question is put again."
)
_ASKING = {
    **dict.fromkeys(("scheduled", "queued", "running", "restarting"), _ON_ITS_WAY),
    **dict.fromkeys(("up_for_retry", "deferred"), _AGAIN),
}
"""State of the task approve in which Airflow is at work on it → what is said of it."""


def _depth(who: Reader, line: RunLine) -> int | None:
    """How many messages are on the queues of a plan now; None where the depth is not known."""
    figures = figures_now(who.estate, [line.queue_manager])[line.queue_manager]
    depths = [None if figures.unreachable else figures.depth_of(queue) for queue in line.queue.split(",")]
    return None if None in depths else sum(depth or 0 for depth in depths)


def _unanswered(task: Task | None, story: RunStory) -> str:
    """The sentence about a plan without an answer that is not the plan of a dry run. Parameters: `task` approve."""
    if task is None or story.unapproved:
        why = story.unapproved or "nobody is asked about this plan"
        return f"{why[:1].upper()}{why[1:]}."
    if task.state != "skipped":
        return _UNANSWERED.get(task.state, "Nobody is asked about this plan yet.")
    if story.people.get("approved_by"):
        return f"Nobody was asked about this plan: {story.people['approved_by']} approved it."
    if story.line.begun:
        return "Nobody was asked about this plan, and the run has begun to act."
    if not any(action.acts for action in story.actions):
        return "Nobody is asked about this plan: it moves and discards nothing."
    return "The task approve was skipped: nobody is asked about this plan."


_UNANSWERED = {
    "failed": "The task approve failed: nothing of this plan is done until it is cleared.",
    "success": "Nobody has answered: to mark the task approve as success approves nothing.",
    "removed": "Nobody is asked about this plan.",
    "upstream_failed": "Nobody is asked about this plan, because a task before approve failed.",
}
"""State of the task approve → what follows from it."""


def _look(who: Reader, view: PlanView, *, now: bool) -> Seen:
    """The destinations as they are now. As the pre-flight saw them where the queue manager does not answer or is not
    asked: after the run has acted, the figures of now include the messages that it moved."""
    found = view.found
    if found is None or not found.looked:
        return Seen()
    if not now:
        return Seen(at=found.checked_at, looked=found.looked)
    name, digest = view.plan.queue_manager, view.plan.digest
    answer = ANSWERS.of({digest: partial(_asked, who, name, found)}, lane=name)[digest]
    if answer.value and not answer.overdue:
        return answer.value
    error = f"{name} was asked {max(1, round(answer.waiting))} s ago and has not answered"
    return Seen(at=found.checked_at, looked=found.looked, error=error)


def _asked(who: Reader, queue_manager: str, found: Preflight) -> Seen:
    try:
        at, looked = look_now(connection_for(queue_manager, who.estate), found)
    except MqopsError as error:
        return Seen(at=found.checked_at, looked=found.looked, error=str(error))
    return Seen(at=at, looked=looked)


def _still_refused(one: Looked, refused: tuple[tuple[str, str], ...]) -> Looked:
    """A destination that cannot be inquired now, with the refusal of MQOPEN in the pre-flight: nothing is opened
    now."""
    return replace(one, there=replace(one.there, refused=refused)) if one.there.unknown else one


def _news(view: PlanView, looked: tuple[Looked, ...]) -> list[Finding]:
    """The problems of the destinations that came after the plan was made."""
    if view.found is None:
        return []
    known = {(one.destination, one.remedy.split(" ")[0]) for one in view.found.findings}
    refused = {one.demand.name: one.there.refused for one in view.found.looked}
    now = judge([_still_refused(one, refused.get(one.demand.name, ())) for one in looked], view.found.taken_from)
    return [one for one in now if (one.destination, one.remedy.split(" ")[0]) not in known]
