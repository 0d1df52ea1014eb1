"""The page `run`: what a run has done and does, who decided, and what can be done with it.

All of it is live: it is asked for again until the run is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from mqops.actions import Action
from mqops.clock import utc_now
from mqops.counted import counted
from mqops.decide.core.preflight import COMES_BACK
from mqops.decide.preflight import NOT_DONE
from mqops.decide.preflight_record import PREFLIGHT
from mqops.deciders.registry import by_choice
from mqops.expiry.record import SCANNED
from mqops.lake.run import RunFolder
from mqops.look.run_view import RunView
from mqops.look.scan_reports import scan_reports
from mqops.look.taken_since import taken_by_later
from mqops.look.words import balance, runs, scan, steps, under_way, unmoved
from mqops.look.words import run as words
from mqops.look.words.fates import Became, Fate
from mqops.look.words.plan import answered, folded
from mqops.look.words.planned import decided_by
from mqops.look.words.run_name import ASKERS
from mqops.look.words.state import RunState
from mqops.look.words.text import NOTHING, Cell, Label, Link, Table, Text, Time, said, sentences
from mqops.rules.lines import rule_texts
from mqops.workflow import Workflow
from mqops_airflow.pages.by_hand import by_hand, for_others, more_by_hand
from mqops_airflow.pages.charts import chart_of
from mqops_airflow.pages.chosen import Form
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_forms import RECOVER, Resume, found_full, may_do, real_run, rooms, to_ask_again
from mqops_airflow.pages.run_seen import Seen
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.shown import below
from mqops_airflow.pages.which_run import APPROVE, Asked, Task, asked_by
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions, questions_before, who_answers
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page
from mqops_airflow.ui.views import path_of_dag

FEW = 10
"""Messages that the page names without being asked to."""
PLANNERS = ("decide", "plan")
"""Tasks that make a plan: a workflow with none of them makes none."""

ALL_OF_RUN = "For all at once: the page Messages with this run, and Which: those still there."


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, asked_for = APIRouter(), asked_by(page.right)

    @routes.get(page.path)
    @routes.get(f"{page.path}/live")
    def shown(request: Request, after: int = -1, found: tuple[Reader, Asked] = asked_for) -> HTMLResponse:
        who, asked = found
        seen = Seen.of(asked, after)
        return render_page(
            *(request, page, who, asked.run.queue_manager),
            seen=seen,
            live=Link("", "run/live", {**seen.query, "after": str(after)}),
            run=_InWords(who, seen),
            figures=_Figures(seen),
            full=_Full(who, seen),
            placing=_Placing(who, seen),
            forms=_Forms(who, seen),
        )

    return routes


class _InWords:
    """The run in words: what it is, its state, its people and steps."""

    def __init__(self, who: Reader, seen: Seen) -> None:
        asked, view, story = seen.asked, seen.view, seen.story
        line = story.line
        checks = line.workflow == Workflow.SNAPSHOT_QUALITY or words.CHECK in seen.tasks
        waits = who_answers(who, asked, seen.tasks.get(APPROVE))
        self.state = seen.state
        by = story.people.get("requested_by") or seen.started.by
        self.what = runs.title(story, utc_now(), ASKERS.get(by, by), checks=checks)
        self.queues = line.queue.split(",")
        self.links = words.links(story, seen.query, seen.run_path)
        self.question = words.question(waits.in_words(), seen.query, may=waits.may) if waits else NOTHING
        self.answered = answered(story.approval)
        gone = words.not_in_airflow(asked.dag_id, seen.started.cleaned_at)
        self.undos = (*words.undos(view), *filter(None, [words.pruned(view.story), gone]))
        self.remarks = tuple(steps.remarks(story))
        self.progress = under_way.progress(story, seen.words)
        self.step = seen.reading
        self.reading = under_way.reading(self.step.line, self.step.at) if self.step else NOTHING
        self.went = under_way.went(story, seen.words[Fate.MOVED]) if story.begun_at else None
        self.held = tuple(under_way.held(story))
        self.outcomes = tuple(_outcomes(view))
        self.outcomes_of = words.later_outcomes(view)
        self.untouched = _untouched(seen)
        self.unmoved = _Unmoved(who, seen) if _tells_unmoved(seen) else None
        self.failures = steps.failures(story)
        self.steps = _one_table(seen.tasks, _steps(who, seen))
        self.scan = _Scan(who, asked.run) if not view.rules and SCANNED.exists(asked.run) else None
        self.nothing = _nothing(seen, checks=checks)


def _outcomes(view: RunView) -> Iterator[Text]:
    """A sentence for each later outcome of moved messages."""
    yield from (words.outcome(what, messages, meaning) for what, messages, meaning in view.outcomes)
    if view.untold:
        yield said("{} of which nothing is known", view.untold)


def _untouched(seen: Seen) -> Text:
    """The sentence where the messages of a plan are while nobody has begun to carry out the plan."""
    groups = said("{}.", Link("The plan has them by group", "plan", seen.query))
    return sentences(said("{}.", seen.untouched), groups) if seen.untouched else NOTHING


def _steps(who: Reader, seen: Seen) -> Table:
    story, tasks = seen.story, seen.tasks
    by = story.people.get("requested_by") or seen.started.by
    plans = not tasks or not tasks.keys().isdisjoint(PLANNERS)
    source = below(story.plan.table_source if story.plan else "", who.estate.path.parent)
    rules = decided_by(story.line.queue_manager, story.undoes, source)
    failed = "prove" in tasks and tasks["prove"].state == "failed"
    asks = bool(story.plan) or (not seen.over and plans)
    return steps.steps(story, asker=ASKERS.get(by, by), rules=rules, asks=asks, failed_proof=failed)


def _one_table(tasks: Mapping[str, Task], recorded: Table) -> Table:
    """Each step once: what Airflow has of its task, and what the lake has.

    Parameters: `recorded` of the lake."""
    known = {str(step): (when, by) for step, when, by in recorded.rows}
    if not tasks:
        return recorded
    rows: list[tuple[Cell, ...]] = []
    for name in (*tasks, *(step for step in known if step not in tasks)):
        task = tasks.get(name)
        times = (task.began, task.ended) if task else (None, None)
        began, ended = (Time(at.isoformat() if at else "") for at in times)
        state = Label(_STATES.get(task.state, task.state), _KINDS.get(task.state, "quiet")) if task else None
        rows.append((name, state, began, ended, task.tries if task else None, *known.get(name, (None, None))))
    headings = ("*Step", "!State", "Began", "Ended", "Tries|number", "Recorded in the lake", "By|name")
    return Table("Steps: tasks in Airflow, and what the lake has", headings, rows)


_KINDS = {"success": "good", "failed": "bad", "upstream_failed": "bad", "running": "note", "awaiting_input": "warn"}
"""State of a task in Airflow → the colour of its word."""
_STATES = {
    "none": "not begun",
    "awaiting_input": "waits for an answer",
    "upstream_failed": "not run: a step before it failed",
    "up_for_retry": "waits for its next try",
    "up_for_reschedule": "waits for its next look",
}
"""State of a task in Airflow → words for it, where the state is not one."""


def _nothing(seen: Seen, *, checks: bool) -> str:
    """The sentence in place of figures, "" where the run has figures or a plan."""
    if seen.story.plan or SCANNED.exists(seen.asked.run) or seen.view.rules or seen.old_proof:
        return ""
    if checks:
        return "Nothing was moved: quality checks only read."
    if seen.tasks and seen.tasks.keys().isdisjoint(PLANNERS):
        return "This workflow makes no plan."
    return "Nothing was planned." if seen.over else "Not planned yet."


class _Scan:
    """The result of a scan for expired messages. `reasons` of the reports on a queue; `exact` whether no other program
    had a queue open meanwhile. Raises `LakeError`."""

    def __init__(self, who: Reader, run: RunFolder) -> None:
        found = SCANNED.read(run)
        reports = scan_reports(lake(who.estate), found) if found.done else None
        told = [scan.who_gets_reports(found, reports)] if found.done else []
        told += [scan.reports_found(found, reports)] if reports else []
        self.found = found
        self.problems = () if found.balanced else ("The figures of a queue do not add up: the task report says which",)
        self.queues = scan.by_queue(found)
        self.sentences = [text for text in told if text]
        self.reasons = list(scan.report_reasons(reports)) if reports else []
        self.exact = all(one.exact for one in found.queues)


class _Unmoved:
    """The messages that were not moved or discarded. `open` whether the page shows them without a click; `next` the
    link to the messages behind them; `choose` the form for those that are there, None where there is none."""

    def __init__(self, who: Reader, seen: Seen) -> None:
        story, sums, told, over = seen.story, seen.sums, seen.words, seen.over
        total, choice = sum(one.messages for one in story.unmoved), by_choice(story.workflow)
        undone = "copied" if story.line.copies else seen.fates.undone
        part = bool(story.more) or seen.after >= 0
        behind, gone = {**seen.query, "after": str(story.next)}, bool(sums.gone_of_plan)
        self.heading = words.unmoved_heading(total - sums.others, sums, told, undone, over=over)
        self.reasons = tuple(unmoved.reasons(story, told, by_choice=choice))
        self.open = seen.after >= 0 or total <= FEW
        self.which = f"{len(story.messages):,} of them" if part else "Each of them"
        left = sum(one.became != Became.GONE for one in story.messages)
        may = over and bool(left) and who.may_start(RECOVER)
        with_mqdlh = any(one.action != Action.ERROR for one in story.messages)
        form = Form("left", story.line.queue_manager, (), may, ALL_OF_RUN, with_mqdlh)
        self.choose = form if may else None
        self.messages = unmoved.messages(
            story, told, by_choice=choice, would=sums.would, gone=gone, over=over, ticks=may
        )
        self.next = Link(counted(story.more, "more message"), "run", behind, place="unmoved") if story.more else None


def _tells_unmoved(seen: Seen) -> bool:
    """Whether the page tells of messages that were not moved or discarded."""
    known = (
        not seen.untouched
        or bool(seen.sums.gone_of_plan)
        or (seen.sums.would and seen.story.line.state is RunState.PLANNED)
    )
    return known and bool(seen.story.messages) and not _to_be_proved(seen)


def _to_be_proved(seen: Seen) -> bool:
    """Whether the run has acted since its proof: the task prove has to look before the page tells what the run left."""
    line = seen.story.line
    return seen.old_proof or (line.begun and not line.proved_since)


class _Figures:
    """The balance: what became of the messages of each rule, or what the plan would do with them."""

    def __init__(self, seen: Seen) -> None:
        view, sums, fates, told = seen.view, seen.sums, seen.fates, seen.words
        looked = PREFLIGHT.find(seen.asked.run) if sums.would else None
        found = [one for one in looked.findings if not one.what.endswith(NOT_DONE)] if looked else []
        may_keep = any(one.severity != "warning" and not one.what.endswith(COMES_BACK) for one in found)
        shares = balance.balance(view, sums, fates, by_choice=by_choice(seen.story.workflow))
        in_words = balance.sums_in_words(view, sums, shares, told, old_proof=seen.old_proof, may_keep=may_keep)
        if not in_words and seen.story.plan and not SCANNED.exists(seen.asked.run):
            in_words = balance.not_proved(view, sums, told, moving=seen.moving)
        shown = shares if view.rules and not seen.old_proof else ()
        texts = rule_texts(seen.story.plan.table_text) if seen.story.plan else {}
        self.heading = words.heading(fates, would=sums.would)
        self.findings = folded(found)
        self.in_words = in_words
        self.balance = balance.balance_table(shown, told, view.story.line, would=sums.would, texts=texts)
        self.chart = chart_of(shown, told, would=sums.would)
        self.to_be_proved = _to_be_proved(seen)


class _Placing:
    """The messages that a person must place, and the forms for them."""

    def __init__(self, who: Reader, seen: Seen) -> None:
        run, unplaced = seen.asked.run, {one.queue for one in seen.waiting}
        may = bool(unplaced) and who.may_start(RECOVER)
        more = more_by_hand(seen.story) if seen.story.line.state is not RunState.WAITING else {}
        self.groups = by_hand(run, seen.story, seen.waiting)
        self.placed = tuple(words.placed(seen.story.line, seen.placed))
        self.for_others = () if may else tuple(map(for_others, self.groups))
        self.more = words.more_by_hand(seen.story, more, none_waits=not unplaced)
        self.waits_for = open_questions(who.estate, RECOVER, run.queue_manager, unplaced) if may else ()


class _Full:
    """What to do about queues that were full, and which later runs have taken messages of the run's queues."""

    def __init__(self, who: Reader, seen: Seen) -> None:
        run, line, full = seen.asked.run, seen.story.line, found_full(seen.story)
        dead, dag_id, dry = line.workflow == Workflow.DLQ_RULES, seen.asked.dag_id, balance.would(seen.view)
        replays = [queue for queue, manager in full if not manager] if dead and who.may_start(RECOVER) else []
        since = partial(words.since_then, line, taken_by_later(run) if dry or full else ())
        self.rooms = tuple(rooms(full, figures_now(who.estate, [run.queue_manager])[run.queue_manager])) if full else ()
        self.then = words.to_make_room(
            seen.story, dead_letters=dead, replays=bool(replays), dag_id=dag_id, dag_path=path_of_dag(dag_id)
        )
        self.replays = replays
        self.replay = {"queue_manager": line.queue_manager, "action": "replay", "queue": line.queue}
        self.waits_for = open_questions(who.estate, RECOVER, run.queue_manager, [line.queue]) if replays else ()
        self.since = since("The figures below are those before; a new run looks again.") if dry else NOTHING
        self.since_left = since("What was left here may be there no more.")


class _Forms:
    """The forms of the page."""

    def __init__(self, who: Reader, seen: Seen) -> None:
        asked, form, story = seen.asked, seen.form, seen.story
        ask = to_ask_again(story, seen.tasks)
        self.may_clear = bool(seen.clear or ask) and who.may_clear(asked.dag_id)
        self.go_on = [] if story.stops else seen.clear
        self.ask_again = ask if self.may_clear else []
        may = may_do(who, asked, seen.view, form)
        self.may = may._replace(stop=may.stop and not self.go_on)  # nothing is at work that could be stopped
        self.may_move = bool(seen.waiting) and who.may_start(RECOVER)
        self.any = any(self.may) or self.may_move or bool(self.go_on or self.ask_again)
        self.form = real_run(asked.dag_id, form) if form is not None else None
        self.this_run = {"queue_manager": story.line.queue_manager, "run": story.line.run}
        self.resumes = tuple(Resume.of_each(asked, story, seen.clear if self.may_clear else [])) if may.resume else ()
        self.questions = questions_before(who.estate, asked, story) if may.real else ()
        self.four_eyes = partial(asks_for_four_eyes, who.estate)
