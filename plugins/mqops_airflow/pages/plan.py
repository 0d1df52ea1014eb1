"""The page `plan`: the question that an approver answers, and Airflow's own two buttons under it."""

from __future__ import annotations

import threading
import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.actions import ACTED
from mqops.decide.core.preflight import Finding, Looked, Preflight, judge
from mqops.errors import MqopsError
from mqops.look.core.run_state import MEANING
from mqops.look.plan_view import PlanView, destinations, look_now, plan_view
from mqops.look.run_story import run_story
from mqops_airflow.pages.render import render
from mqops_airflow.pages.run import KIND
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.table import Page
from mqops_airflow.pages.which_run import Asked, asked_run, tasks_of
from mqops_airflow.plan_text import subject
from mqops_airflow.reach import connection_for

KEPT = 5.0
"""Seconds for which what a queue manager said is kept."""
GROUPS = 200
"""Groups that the page shows, the largest."""
APPROVE = "approve"
WAITS = "awaiting_input"
_looks: dict[str, tuple[float, tuple[str, tuple[Looked, ...], str]]] = {}
_lock = threading.Lock()


def router(page: Page) -> APIRouter:
    """The route of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(
        request: Request,
        *,
        queue_manager: str = "",
        run: str = "",
        dag_id: str = "",
        run_id: str = "",
        who: Reader = sees,
    ) -> HTMLResponse:
        asked = asked_run(who, queue_manager=queue_manager, run=run, dag_id=dag_id, run_id=run_id)
        name = asked.run.queue_manager
        values: dict[str, Any] = {"page": page, "who": who, "queue_manager": name, "asked": asked}
        if not asked.run.plan_json.exists():
            return render(request, "plan_none", **values)
        view = plan_view(asked.run)
        at, looked, error = _look(who, view)
        values |= {
            "view": view,
            "plan": view.plan,
            "kinds": KIND,
            "meaning": MEANING[view.line.state],
        }
        values |= {"subject": subject(view.plan), "groups": view.groups[:GROUPS], "acted": ACTED}
        values |= {"left_off": len(view.groups[GROUPS:]) + view.plan.counts_left_off}
        values |= {"destinations": destinations(looked), "at": at, "error": error, "since_then": _news(view, looked)}
        return render(request, "plan", **values, **_answer(who, asked))

    @routes.get(f"{page.path}/answer")
    def answer(request: Request, queue_manager: str = "", run: str = "", who: Reader = sees) -> HTMLResponse:
        asked = asked_run(who, queue_manager=queue_manager, run=run, dag_id="", run_id="")
        return render(request, "plan_answer", page=page, who=who, asked=asked, **_answer(who, asked))

    return routes


def _answer(who: Reader, asked: Asked) -> dict[str, Any]:
    """Who is asked, or what was answered. `settled`: nothing of it changes any more."""
    tasks, story = tasks_of(asked), run_story(asked.run, limit=1)
    task = tasks.get(APPROVE)
    return {
        "story": story,
        "line": story.line,
        "task": task,
        "waiting": task if task is not None and task.state == WAITS else None,
        "may_answer": bool(asked.dag_id) and who.may_answer(asked.dag_id),
        "settled": bool(story.approval.get("answer")) or task is None or task.state in {"skipped", "failed"},
    }


def _look(who: Reader, view: PlanView) -> tuple[str, tuple[Looked, ...], str]:
    """When the destinations were looked at last, what was seen, and why no later look was possible."""
    found = view.found
    if found is None or not found.looked:
        return "", (), ""
    with _lock:
        kept = _looks.get(view.plan.digest)
    if kept and time.monotonic() - kept[0] < KEPT:
        return kept[1]
    seen = _asked(who, view.plan.queue_manager, found)
    with _lock:
        if len(_looks) > 100:  # plans come and go
            _looks.clear()
        _looks[view.plan.digest] = time.monotonic(), seen
    return seen


def _asked(who: Reader, queue_manager: str, found: Preflight) -> tuple[str, tuple[Looked, ...], str]:
    try:
        return (*look_now(connection_for(queue_manager, who.estate), found), "")
    except MqopsError as error:
        return found.checked_at, found.looked, str(error)


def _news(view: PlanView, looked: tuple[Looked, ...]) -> list[Finding]:
    """What is wrong with the destinations now and was not when the plan was made."""
    if view.found is None:
        return []
    known = {(one.destination, one.remedy.split(" ")[0]) for one in view.found.findings}
    now = judge(looked, view.found.taken_from)
    return [one for one in now if (one.destination, one.remedy.split(" ")[0]) not in known]
