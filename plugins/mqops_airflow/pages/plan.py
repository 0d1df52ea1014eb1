"""The page `plan`: the question that an approver answers, and Airflow's own two buttons under it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.actions import ACTED, Action
from mqops.decide.core.preflight import Finding, Looked, Preflight, judge
from mqops.decide.preflight import NOT_DONE
from mqops.errors import MqopsError
from mqops.look.core.run_state import RunLine
from mqops.look.plan_view import PlanView, acted_on, destinations, look_now, plan_view
from mqops.look.run_story import BY_HAND, RunStory
from mqops.look.run_view import latest_view
from mqops_airflow.approval.plan_text import THIS_PLAN_ONLY, subject
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.answers import Answers
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run import MESSAGES
from mqops_airflow.pages.run_balance import rule_in_words
from mqops_airflow.pages.run_forms import RECOVER, to_ask_again
from mqops_airflow.pages.run_words import KIND, beside, folded
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.which_run import APPROVE, ENDED, Asked, Task, asked_by, form_of_dry_run, tasks_of
from mqops_airflow.pages.who_answers import asks_for_four_eyes, questions_before, who_answers
from mqops_airflow.ui.table import Page

GROUPS = 200
"""Groups that the page shows, the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The destinations of a plan. Parameters: `at` when they were looked at, ISO 8601 UTC; `error` why no later look
    was possible."""

    at: str = ""
    looked: tuple[Looked, ...] = ()
    error: str = ""


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
        view = _view(asked.run)
        values: dict[str, Any] = {
            "asked": asked,
            "view": view,
            "plan": view.plan,
            "kinds": KIND,
            "meaning": beside(view.line),
        }
        answers = _answer(who, asked)
        seen = _look(who, view, now=answers["open"])
        said = "{}?" if answers["open"] else "would {}" if answers["form"] is not None else "plan to {}"
        values |= {
            "subject": subject(view.plan, said=said),
            "groups": view.groups[:GROUPS],
            "acted": ACTED,
        }
        by_hand = not view.plan.actions.keys().isdisjoint(BY_HAND)
        values |= {"may_move": by_hand and who.may_start(RECOVER), "rule_in_words": rule_in_words}
        values |= {"this_plan_only": THIS_PLAN_ONLY}
        values |= {"left_off": len(view.groups[GROUPS:]) + view.plan.counts_left_off}
        values |= {"destinations": destinations(seen.looked), "seen": seen}
        problems = view.found.findings if view.found else ()
        values |= {"findings": folded(one for one in problems if not one.what.endswith(NOT_DONE)), "not_done": NOT_DONE}
        values |= {"since_then": folded(_news(view, seen.looked))}
        return render_page(request, page, who, name, **values, **answers)

    @routes.get(f"{page.path}/answer")
    def answer(request: Request, found: tuple[Reader, Asked] = of) -> HTMLResponse:
        who, asked = found
        name = asked.run.queue_manager
        return render_page(request, page, who, name, template="plan_answer", asked=asked, **_answer(who, asked))

    return routes


def _answer(who: Reader, asked: Asked) -> dict[str, Any]:
    """Who is asked, or what was answered. `settled`: nothing of it changes any more; `open`: somebody is asked, or will
    be."""
    tasks, view = tasks_of(asked), latest_view(asked.run, limit=MESSAGES)
    story = view.story
    task = tasks.get(APPROVE)
    form = form_of_dry_run(asked) if not story.begun_at else None
    may_start = form is not None and who.may_start(asked.dag_id) and acted_on(story.plan["actions"]) > 0
    settled = bool(story.approval.get("answer")) or task is None or task.state in ENDED
    waits = who_answers(who, asked, task)
    again = to_ask_again(story, tasks)
    return {
        "form": form,
        "may_start": may_start,
        "questions": questions_before(who, asked, story) if may_start else (),
        "story": story,
        "over": view.over,
        "line": story.line,
        "task": task,
        "waits": waits,
        "four_eyes": partial(asks_for_four_eyes, who.estate),
        "settled": settled,
        "ask_again": again if again and who.may_clear(asked.dag_id) else [],
        "live": not settled or bool(again),
        "open": bool(waits) or (not settled and form is None),
        "unanswered": _unanswered(task, story),
        "depth": None if settled or story.undoes else _depth(who, story.line),
    }


def _depth(who: Reader, line: RunLine) -> int | None:
    """Messages that are on the queues of a plan now; None where that is not known."""
    figures = figures_now(who.estate, [line.queue_manager])[line.queue_manager]
    depths = [None if figures.unreachable else figures.depth_of(queue) for queue in line.queue.split(",")]
    return None if None in depths else sum(depth or 0 for depth in depths)


def _unanswered(task: Task | None, story: RunStory) -> str:
    """What is said of a plan that no answer permits, and that is not of a dry run. Parameters: `task` approve."""
    if task is None or story.unapproved:
        why = story.unapproved or "nobody is asked about this plan"
        return f"{why[:1].upper()}{why[1:]}."
    if task.state != "skipped":
        return _UNANSWERED.get(task.state, "Nobody is asked about this plan yet.")
    if story.people.get("approved_by"):
        return f"Nobody was asked about this plan: {story.people['approved_by']} approved it."
    if story.line.begun:
        return "Nobody was asked about this plan, and the run has begun to act."
    if not any(Action(name).acts for name in story.plan.get("actions", {})):
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
    """What the destinations are like now; what the pre-flight saw where that is not known, or is not asked: the figures
    of now may have the messages that the plan moved in them."""
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
    """What cannot be inquired now, with what MQOPEN said when the plan was made: the later look opens nothing."""
    return replace(one, there=replace(one.there, refused=refused)) if one.there.unknown else one


def _news(view: PlanView, looked: tuple[Looked, ...]) -> list[Finding]:
    """What is wrong with the destinations now and was not when the plan was made."""
    if view.found is None:
        return []
    known = {(one.destination, one.remedy.split(" ")[0]) for one in view.found.findings}
    refused = {one.demand.name: one.there.refused for one in view.found.looked}
    now = judge([_still_refused(one, refused.get(one.demand.name, ())) for one in looked], view.found.taken_from)
    return [one for one in now if (one.destination, one.remedy.split(" ")[0]) not in known]
