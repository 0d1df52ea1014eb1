"""The page `run`: what a run has done and does, who decided, and what can be done with it.

All of it is live: it is asked for again until the run is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.counted import counted
from mqops.decide.core.preflight import COMES_BACK
from mqops.decide.preflight import NOT_DONE
from mqops.decide.preflight_record import read_preflight
from mqops.deciders.registry import by_choice
from mqops.expiry.record import SCANNED
from mqops.lake.run import RunFolder
from mqops.look.placed_since import DEAD_LETTERS
from mqops.look.run_view import RunView
from mqops.look.scan_reports import scan_reports
from mqops.look.taken_since import taken_by_later
from mqops.look.words import balance, scan, steps, unmoved
from mqops.look.words import run as words
from mqops.look.words.plan import folded
from mqops.look.words.text import NOTHING, Label, Link, Table, Text, Time, said, sentences
from mqops.message_checks import WORKFLOW as QUALITY
from mqops_airflow.pages.by_hand import by_hand, for_others, more_by_hand
from mqops_airflow.pages.charts import chart_of
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_forms import RECOVER, Resume, found_full, may_do, real_run, rooms, to_ask_again
from mqops_airflow.pages.run_seen import Seen
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.shown import below
from mqops_airflow.pages.which_run import APPROVE, ASKERS, Asked, Task, asked_by
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions, questions_before, who_answers
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page
from mqops_airflow.ui.views import path_of_dag, path_of_run

FEW = 10
"""Messages that the page names without being asked to."""
PLANNERS = ("decide", "plan")
"""Tasks that make a plan: a workflow with none of them makes none."""


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, asked_for = APIRouter(), asked_by(page.right)

    def shown(template: str, request: Request, who: Reader, asked: Asked, after: int) -> HTMLResponse:
        seen = Seen.of(asked, after)
        parts = (_said(who, seen), _figures(who, seen), _by_hand(who, seen), _full(who, seen), _forms(who, seen))
        values = {name: value for part in parts for name, value in part.items()}
        live = Link("", "run/live", {**seen.query, "after": str(after)})
        return render_page(request, page, who, asked.run.queue_manager, template=template, live=live, **values)

    def of(part: str, template: str) -> None:
        @routes.get(page.path + part)
        def one(request: Request, after: int = -1, found: tuple[Reader, Asked] = asked_for) -> HTMLResponse:
            return shown(template, request, *found, after)

    of("", "run")
    of("/live", "run_live")
    return routes


def _said(who: Reader, seen: Seen) -> dict[str, Any]:
    """The run in words: what it is, its state, its people and steps."""
    asked, view, story = seen.asked, seen.view, seen.story
    line = story.line
    checks = line.workflow == QUALITY or words.CHECK in seen.tasks
    waits = who_answers(who, asked, seen.tasks.get(APPROVE))
    return {
        "query": seen.query,
        "asked": asked,
        "story": story,
        "line": line,
        "over": seen.over,
        "state": seen.state,
        "what": words.title(story, checks=checks),
        "queues": line.queue.split(","),
        "links": words.links(story, seen.query, path_of_run(asked.dag_id, asked.run_id) if asked.dag_id else ""),
        "waits": waits,
        "question": words.question(waits.in_words(), seen.query, may=waits.may) if waits else NOTHING,
        "undos": tuple(words.undos(view)),
        "remarks": tuple(steps.remarks(story)),
        "moving": seen.moving,
        "progress": words.progress(story, seen.words),
        "held": tuple(words.held(story)),
        "outcomes": tuple(_outcomes(view)),
        "outcomes_of": words.later_outcomes(view),
        "untouched": _untouched(seen),
        "unmoved": _unmoved(seen),
        "failures": steps.failures(story),
        "tasks": _tasks(seen.tasks),
        "steps": _steps(who, seen),
        "scan": _scan(who, asked.run) if not view.rules else None,
        "nothing": _nothing(seen, checks=checks),
    }


def _outcomes(view: RunView) -> Iterator[Text]:
    """What became of moved messages later."""
    yield from (said("{} {}: {}", messages, what, meaning) for what, messages, meaning in view.outcomes)
    if view.untold:
        yield said("{} of which nothing is known", view.untold)


def _untouched(seen: Seen) -> Text:
    """Where the messages of a plan are that nobody has begun to carry out."""
    groups = said("{}.", Link("The plan has them by group", "plan", seen.query))
    return sentences(said("{}.", seen.untouched), groups) if seen.untouched else NOTHING


def _steps(who: Reader, seen: Seen) -> Table:
    story, tasks = seen.story, seen.tasks
    by = story.people.get("requested_by") or seen.started.by
    plans = not tasks or not tasks.keys().isdisjoint(PLANNERS)
    rules = below(story.plan.table_source if story.plan else "", who.estate.path.parent)
    failed = "prove" in tasks and tasks["prove"].state == "failed"
    asks = bool(story.plan) or (not seen.over and plans)
    return steps.steps(story, asker=ASKERS.get(by, by), rules=rules, asks=asks, failed_proof=failed)


def _tasks(tasks: Mapping[str, Task]) -> Table:
    rows = []
    for task in tasks.values():
        began, ended = (Time(at.isoformat() if at else "") for at in (task.began, task.ended))
        rows.append((task.name, Label(task.state, _KINDS.get(task.state, "quiet")), began, ended, str(task.tries)))
    return Table("Tasks of the run in Airflow", ["*Step", "State", "Began", "Ended", "Tries|number"], rows)


_KINDS = {"success": "good", "failed": "bad", "upstream_failed": "bad", "running": "note", "awaiting_input": "warn"}
"""State of a task in Airflow → the colour of its word."""


def _nothing(seen: Seen, *, checks: bool) -> str:
    """What is said in place of figures, "" where there are some, or a plan."""
    if seen.story.plan or SCANNED.exists(seen.asked.run) or seen.view.rules or seen.old_proof:
        return ""
    if checks:
        return "Nothing was moved: quality checks only read."
    if seen.tasks and seen.tasks.keys().isdisjoint(PLANNERS):
        return "This workflow makes no plan."
    return "Nothing was planned." if seen.over else "Not planned yet."


def _scan(who: Reader, run: RunFolder) -> dict[str, Any] | None:
    """What a scan for expired messages found, None for any other run. Raises `LakeError`."""
    if not SCANNED.exists(run):
        return None
    found = SCANNED.read(run)
    reports = scan_reports(lake(who.estate), found) if found.done else None
    sentences_of = [scan.who_gets_reports(found, reports)] if found.done else []
    sentences_of += [scan.reports_found(found, reports)] if reports else []
    wrong = "The figures of a queue do not add up: the task report says which"
    return {
        "found": found,
        "problems": [] if found.balanced else [wrong],
        "queues": scan.by_queue(found),
        "sentences": [text for text in sentences_of if text],
        "reasons": list(scan.report_reasons(reports)) if reports else [],
        "exact": all(one.exact for one in found.queues),
    }


def _unmoved(seen: Seen) -> dict[str, Any] | None:
    """The messages that were not moved or discarded, None where nothing is said of them yet."""
    story, sums = seen.story, seen.sums
    gone = sums.gone_of_plan
    if _to_be_proved(seen) or not story.messages or (seen.untouched and not gone and not sums.would):
        return None
    total, choice = sum(one.messages for one in story.unmoved), by_choice(story.workflow)
    undone = "copied" if story.line.copies else seen.fates.undone
    part = bool(story.more) or seen.after >= 0
    behind = Link(
        f"{counted(story.more, 'more message')}", "run", {**seen.query, "after": str(story.next)}, place="unmoved"
    )
    return {
        "heading": words.unmoved_heading(total - sums.others, sums, seen.words, undone, over=seen.over),
        "reasons": tuple(unmoved.reasons(story, seen.words, by_choice=choice)),
        "open": seen.after >= 0 or total <= FEW,
        "which": f"{len(story.messages):,} of them" if part else "Each of them",
        "messages": unmoved.messages(
            story, seen.words, by_choice=choice, would=sums.would, gone=bool(gone), over=seen.over
        ),
        "next": behind if story.more else None,
    }


def _to_be_proved(seen: Seen) -> bool:
    """Whether the run has acted since its proof: what it left is told when the task prove has looked."""
    line = seen.story.line
    return seen.old_proof or (line.begun and not line.proved_since)


def _figures(who: Reader, seen: Seen) -> dict[str, Any]:
    """What became of the messages by rule, or would."""
    view, sums, fates, told = seen.view, seen.sums, seen.fates, seen.words
    looked = read_preflight(seen.asked.run) if sums.would else None
    found = [one for one in looked.findings if not one.what.endswith(NOT_DONE)] if looked else []
    may_keep = any(one.severity != "warning" and not one.what.endswith(COMES_BACK) for one in found)
    shares = balance.balance(view, sums, fates, by_choice=by_choice(seen.story.workflow))
    in_words = balance.sums_in_words(view, sums, shares, told, old_proof=seen.old_proof, may_keep=may_keep)
    shown = bool(view.rules) and not seen.old_proof
    if not in_words and seen.story.plan and not SCANNED.exists(seen.asked.run):
        in_words = balance.not_proved(view, sums, told, moving=seen.moving)
    return {
        "heading": words.heading(fates, would=sums.would),
        "findings": folded(found),
        "sums_in_words": in_words,
        "balance": balance.balance_table(shares, told, would=sums.would) if shown else None,
        "chart": chart_of(shares, told, would=sums.would) if shown else "",
        "to_be_proved": _to_be_proved(seen),
    }


def _by_hand(who: Reader, seen: Seen) -> dict[str, Any]:
    """The messages that a person must place, and the forms for them."""
    run, unplaced = seen.asked.run, {one.queue for one in seen.waiting}
    may, groups = bool(unplaced) and who.may_start(RECOVER), by_hand(run, seen.story, seen.waiting)
    return {
        "placed": tuple(words.placed(seen.story.line, seen.placed)),
        "by_hand": groups,
        "for_others": () if may else tuple(map(for_others, groups)),
        "more_by_hand": words.more_by_hand(seen.story, more_by_hand(seen.story), none_waits=not unplaced),
        "move_waits_for": open_questions(who, RECOVER, run.queue_manager, unplaced) if may else (),
    }


def _full(who: Reader, seen: Seen) -> dict[str, Any]:
    """What is to be done about queues that were full, and who has taken messages of the run's queues since."""
    run, line, full = seen.asked.run, seen.story.line, found_full(seen.story)
    dead, dag_id, dry = line.workflow == DEAD_LETTERS, seen.asked.dag_id, balance.would(seen.view)
    replays = [queue for queue, manager in full if not manager] if dead and who.may_start(RECOVER) else []
    later = taken_by_later(run) if dry or full else ()
    since = partial(words.since_then, line, later)
    fixed = {"queue_manager": line.queue_manager, "action": "replay", "queue": line.queue}
    return {
        "rooms": tuple(rooms(full, figures_now(who.estate, [run.queue_manager])[run.queue_manager])) if full else (),
        "then": words.to_make_room(
            seen.story, dead_letters=dead, replays=bool(replays), dag_id=dag_id, dag_path=path_of_dag(dag_id)
        ),
        "replays": [{"queue": queue, "fixed": fixed} for queue in replays],
        "replay_waits_for": open_questions(who, RECOVER, run.queue_manager, [line.queue]) if replays else (),
        "since_figures": since("The figures below are those before; a new run looks again.") if dry else NOTHING,
        "since_left": since("What was left here may be there no more."),
    }


def _forms(who: Reader, seen: Seen) -> dict[str, Any]:
    """Which forms the page has."""
    asked, form, story = seen.asked, seen.form, seen.story
    go_on = [] if story.stops else seen.clear
    ask = to_ask_again(story, seen.tasks)
    ask = ask if ask and who.may_clear(asked.dag_id) else []
    more = {"move": bool(seen.waiting) and who.may_start(RECOVER), "go_on": bool(go_on), "ask": bool(ask)}
    may = may_do(who, asked, seen.view, form) | more
    may["stop"] = may["stop"] and not go_on  # nothing is at work that could be stopped
    may_clear = bool(seen.clear) and who.may_clear(asked.dag_id)
    return {
        "may": may,
        "form": real_run(asked.dag_id, form) if form is not None else None,
        "this_run": {"queue_manager": story.line.queue_manager, "run": story.line.run},
        "resumes": [*Resume.of_each(asked, story, seen.clear if may_clear else [])] if may["resume"] else [],
        "go_on": go_on,
        "ask_again": ask,
        "may_clear": may_clear,
        "questions": questions_before(who, asked, story) if may["real"] else (),
        "four_eyes": partial(asks_for_four_eyes, who.estate),
    }
