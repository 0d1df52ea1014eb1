"""The page `run`: what a run has done and does, who decided, and what can be done with it.

All of it is live: it is asked for again until the run is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.decide.core.preflight import COMES_BACK
from mqops.decide.preflight import NOT_DONE
from mqops.decide.preflight_record import read_preflight
from mqops.expiry.core.outcome import ExpirySummary
from mqops.expiry.record import SCANNED
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunState
from mqops.look.placed_since import DEAD_LETTERS
from mqops.look.run_story import (
    RunStory,
    UnmovedMessage,
)
from mqops.look.run_view import RunView, latest_view
from mqops.look.scan_reports import scan_reports
from mqops.look.taken_since import taken_by_later
from mqops.quality.summary import WORKFLOW as QUALITY
from mqops_airflow.pages.by_hand import by_hand, more_by_hand, still_by_hand
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_balance import balance, chart_of, fate_words, others, sums_of, workflow_of, would
from mqops_airflow.pages.run_forms import RECOVER, found_full, may_do, rooms, to_ask_again, to_clear
from mqops_airflow.pages.run_words import (
    AT_WORK,
    CHECK,
    became,
    folded,
    gone,
    old_proof,
    state_in_words,
    untouched,
    what,
    why,
)
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.which_run import (
    APPROVE,
    ASKERS,
    ENDED,
    Asked,
    Started,
    Task,
    asked_by,
    form_of_dry_run,
    started_of,
    tasks_of,
)
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions, questions_before, who_answers
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

FEW = 10
"""Messages that the page names without being asked to."""
MESSAGES = 50
"""Messages that the page names; a link goes on."""
PLANNERS = ("decide", "plan")
"""Tasks that make a plan: a workflow with none of them makes none."""


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, asked_for = APIRouter(), asked_by(page.right)

    def shown(template: str, request: Request, who: Reader, asked: Asked, after: int) -> HTMLResponse:
        seen = Seen.of(asked, after)
        parts = (_said(who, seen), _balanced(seen), _by_hand(who, seen), _full(who, seen), _forms(who, seen))
        values = {name: value for part in parts for name, value in part.items()}
        return render_page(request, page, who, asked.run.queue_manager, template=template, after=after, **values)

    def of(part: str, template: str) -> None:
        @routes.get(page.path + part)
        def one(request: Request, after: int = -1, found: tuple[Reader, Asked] = asked_for) -> HTMLResponse:
            return shown(template, request, *found, after)

    of("", "run")
    of("/live", "run_live")
    return routes


class Seen(NamedTuple):
    """What is known of a run.

    Parameters: `tasks` and `started` as Airflow has them; `clear` the tasks with which it can go on; `over` whether
    nothing more comes of it by itself; `waiting` the messages that a person must place still, and `placed` later runs →
    how many of these each has taken.
    """

    asked: Asked
    view: RunView
    tasks: Mapping[str, Task]
    started: Started
    clear: Sequence[str]
    over: bool
    waiting: Sequence[UnmovedMessage]
    placed: Mapping[str, int]

    @classmethod
    def of(cls, asked: Asked, after: int) -> Seen:
        """What is known now. Parameters: `after` the row of the plan that the messages come behind."""
        view = latest_view(asked.run, limit=MESSAGES, after=after)
        tasks, started = tasks_of(asked), started_of(asked)
        clear = to_clear(view, tasks) if not started.goes_on else []
        held = view.story.stops or clear or to_ask_again(view.story, tasks)
        over = view.over and not held and all(task.state in ENDED for task in tasks.values())
        placed, waiting = still_by_hand(asked.run, view.story.by_hand)
        return cls(asked, view, tasks, started, clear, over, waiting, placed)

    @property
    def story(self) -> RunStory:
        """All that the lake knows of it."""
        return self.view.story

    @property
    def form(self) -> Mapping[str, Any] | None:
        """What a person gave in the form of a dry run that is over."""
        return form_of_dry_run(self.asked) if self.story.plan and self.over and not self.story.begun_at else None


def _said(who: Reader, seen: Seen) -> dict[str, Any]:
    """The run in words: what it is, its state, its people and steps."""
    asked, view, tasks, started = seen.asked, seen.view, seen.tasks, seen.started
    story, line = seen.story, seen.story.line
    state = state_in_words(line, tasks, goes_on=started.goes_on, stopped=bool(story.stopped))
    if story.unapproved and line.state in {RunState.REFUSED, RunState.UNANSWERED}:
        state = state._replace(meaning=f"nothing was moved: {story.unapproved}")
    by = story.people.get("requested_by") or started.by
    checks = line.workflow == QUALITY or CHECK in tasks
    scan = scan_of(asked.run)
    begun = line.state not in _NOT_BEGUN
    ended = seen.over or line.state in _NOT_APPROVED or bool(asked.dag_id and not started.goes_on)
    return {
        "query": {"queue_manager": asked.run.queue_manager, "run": asked.run.run},
        "asked": asked,
        "view": view,
        "story": story,
        "line": line,
        "tasks": tasks,
        "started": started,
        "over": seen.over,
        "few": FEW,
        "plans": not tasks or not tasks.keys().isdisjoint(PLANNERS),
        "state": state,
        "old_proof": old_proof(line, at_work=state.word == AT_WORK),
        "waits": who_answers(who, asked, tasks.get(APPROVE)),
        "asker": ASKERS.get(by, by),
        "checks": checks,
        "what": what(story, checks=checks),
        "queues": line.queue.split(","),
        "scan": scan,
        "reports": scan_reports(lake(who.estate), scan) if scan and scan.done else None,
        "begun": begun,
        "untouched": "" if begun else untouched(view, ended=ended),
        "gone": gone(view),
        "became": partial(became, words=fate_words(view)),
        "why": partial(why, workflow=workflow_of(story)),
        "moving": _moving(view),
    }


def _balanced(seen: Seen) -> dict[str, Any]:
    """What became of the messages by rule, or would."""
    view, rows = seen.view, balance(seen.view)
    dry = would(view)
    looked = read_preflight(seen.asked.run) if dry else None
    found = [one for one in looked.findings if not one.what.endswith(NOT_DONE)] if looked else []
    return {
        "would": dry,
        "findings": folded(found),
        "may_keep": any(one.severity != "warning" and not one.what.endswith(COMES_BACK) for one in found),
        "words": fate_words(view),
        "balance": rows,
        "sums": sums_of(view),
        "others": others(view),
        "chart": chart_of(view, rows),
    }


def _by_hand(who: Reader, seen: Seen) -> dict[str, Any]:
    """The messages that a person must place, and the forms for them."""
    run, unplaced = seen.asked.run, {one.queue for one in seen.waiting}
    may = bool(unplaced) and who.may_start(RECOVER)
    return {
        "placed": seen.placed,
        "by_hand": by_hand(run, seen.story, seen.waiting),
        "more_by_hand": more_by_hand(seen.story),
        "none_waits": not unplaced,
        "move_waits_for": open_questions(who, RECOVER, run.queue_manager, unplaced) if may else (),
    }


def _full(who: Reader, seen: Seen) -> dict[str, Any]:
    """What is to be done about queues that were full, and who has taken messages of the run's queues since."""
    run, line, full = seen.asked.run, seen.story.line, found_full(seen.story)
    dead = line.workflow == DEAD_LETTERS
    replays = [queue for queue, manager in full if not manager] if dead and who.may_start(RECOVER) else []
    return {
        "rooms": rooms(full, figures_now(who.estate, [run.queue_manager])[run.queue_manager]) if full else (),
        "dead_letters": dead,
        "replays": replays,
        "replay_waits_for": open_questions(who, RECOVER, run.queue_manager, [line.queue]) if replays else (),
        "later": taken_by_later(run) if would(seen.view) or full else (),
    }


def _forms(who: Reader, seen: Seen) -> dict[str, Any]:
    """Which forms the page has."""
    asked, form = seen.asked, seen.form
    go_on = [] if seen.story.stops else seen.clear
    ask = to_ask_again(seen.story, seen.tasks)
    ask = ask if ask and who.may_clear(asked.dag_id) else []
    more = {"move": bool(seen.waiting) and who.may_start(RECOVER), "go_on": bool(go_on), "ask": bool(ask)}
    may = may_do(who, asked, seen.view, form) | more
    may["stop"] = may["stop"] and not go_on  # nothing is at work that could be stopped
    may_clear = bool(seen.clear) and who.may_clear(asked.dag_id)
    return {
        "may": may,
        "form": form,
        "go_on": go_on,
        "ask_again": ask,
        "may_clear": may_clear,
        "resumed_go_on": seen.clear if may_clear else [],
        "questions": questions_before(who, asked, seen.story) if may["real"] else (),
        "four_eyes": partial(asks_for_four_eyes, who.estate),
    }


def scan_of(run: RunFolder) -> ExpirySummary | None:
    """What a scan for expired messages found, None for any other run. Raises `LakeError`."""
    return SCANNED.find(run)


_NOT_APPROVED = (RunState.REJECTED, RunState.REFUSED, RunState.UNANSWERED)
_NOT_BEGUN = (RunState.WAITING, RunState.APPROVED, RunState.PLANNED, *_NOT_APPROVED)


def _moving(view: RunView) -> bool:
    """Whether the run acts, or has begun to and not ended: its progress is of interest."""
    state = view.story.line.state
    return view.story.progress is not None and state in {RunState.BEGUN, RunState.UNFINISHED, RunState.STOPPED}
