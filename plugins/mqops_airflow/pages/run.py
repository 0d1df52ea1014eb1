"""The page `run`: what a run has done and does, who decided, and what can be done with it.

All of it is live: it is asked for again until the run is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from mqops.actions import NO_RULE_FITS, Action
from mqops.counted import counted
from mqops.decide.core.preflight import Finding, same_said
from mqops.decide.preflight_record import read_preflight
from mqops.deciders.registry import by_choice, not_chosen
from mqops.expiry.core.outcome import ExpirySummary
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import BEGUN_AND_OPEN, RunLine, RunState
from mqops.look.estate_now import nearly_full
from mqops.look.figures import Figures
from mqops.look.placed_since import DEAD_LETTERS
from mqops.look.plan_view import acted_on, planned_actions
from mqops.look.run_story import (
    FAILED,
    LEFT,
    NOT_REACHED,
    NOT_REACHED_ELSEWHERE,
    WHY_LEFT,
    RunStory,
    Unmoved,
    UnmovedMessage,
)
from mqops.look.run_view import RunView, latest_view
from mqops.look.runs import run_line
from mqops.look.scan_reports import scan_reports
from mqops.look.taken_since import taken_by_later
from mqops.message_file import WORKFLOW as MESSAGE_LOAD
from mqops.model import Counts, RuleBalance, total_of
from mqops.prove.undo_record import WORKFLOW as UNDO_WORKFLOW
from mqops.quality.summary import WORKFLOW as QUALITY
from mqops_airflow.pages.by_hand import by_hand, more_by_hand, still_by_hand
from mqops_airflow.pages.charts import FATES, stacked
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.table import Page
from mqops_airflow.pages.which_run import APPROVE, ASKERS, Asked, Task, asked_by, form_of_dry_run, started_of, tasks_of
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions, questions_before, who_answers
from mqops_airflow.workplace import lake
from mqwire.constants import MQRC_Q_FULL
from mqwire.names import reason_name

STOP, UNDO, RECOVER = "mq_stop", "mq_undo", "mq_recover"
FEW = 10
"""Messages that the page names without being asked to."""
MESSAGES = 50
"""Messages that the page names; a link goes on."""
ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
"""States that a task of Airflow does not leave by itself."""
WORKING = ("scheduled", "queued", "running", "restarting", "up_for_retry")
"""States of a task that Airflow is at work on."""
AT_WORK = "at work"
"""The word for a run that Airflow is at work on."""
ACT, PROVE = "act", "prove"
"""The tasks that carry out a plan, and prove it."""
CHECK = "quality"
"""The task that checks messages."""
PLANNERS = ("decide", "plan")
"""Tasks that make a plan: a workflow with none of them makes none."""
EARLY = (RunState.INCOMPLETE, RunState.OBSERVED, RunState.PLANNED)
"""States of a run whose first tasks have not all ended, or that stays as it is."""
KIND = {
    **dict.fromkeys((RunState.DONE, RunState.APPROVED, RunState.CHECKED), "good"),
    **dict.fromkeys((RunState.UNBALANCED, RunState.REJECTED, RunState.STOPPED, RunState.FAILED), "bad"),
    **dict.fromkeys((RunState.UNFINISHED, RunState.WAITING, RunState.INCOMPLETE), "warn"),
    RunState.BEGUN: "note",
}
"""State → the colour of its word."""


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, asked_for = APIRouter(), asked_by(page.right)

    def shown(template: str, request: Request, who: Reader, asked: Asked, after: int) -> HTMLResponse:
        view = latest_view(asked.run, limit=MESSAGES, after=after)
        query = {"queue_manager": asked.run.queue_manager, "run": asked.run.run}
        values: dict[str, Any] = {
            "query": query,
            "asked": asked,
            "view": view,
            "story": view.story,
            "line": view.story.line,
        }
        scan = scan_of(asked.run)
        values |= {"scan": scan, "reports": scan_reports(lake(who.estate), scan) if scan and scan.done else None}
        tasks, started = tasks_of(asked), started_of(asked)
        clear = to_clear(view, tasks) if not started.goes_on else []
        go_on = [] if view.story.stops else clear
        over = view.over and not (view.story.stops or go_on) and all(task.state in ENDED for task in tasks.values())
        state = state_in_words(view.story.line, tasks, goes_on=started.goes_on)
        values |= {"started": started, "plans": not tasks or not tasks.keys().isdisjoint(PLANNERS)}
        values |= {"state": state, "tasks": tasks, "after": after, "few": FEW, "over": over}
        values |= {"waits": who_answers(who, asked, tasks.get(APPROVE))}
        by = view.story.people.get("requested_by") or started.by
        values |= {"asker": ASKERS.get(by, by)}
        checks = view.story.line.workflow == QUALITY or CHECK in tasks
        values |= {
            "what": what(view.story, checks=checks),
            "queues": view.story.line.queue.split(","),
            "checks": checks,
        }
        begun = view.story.line.state not in _NOT_BEGUN
        form = form_of_dry_run(asked) if view.story.plan and over and not view.story.begun_at else None
        ended = over or view.story.line.state is RunState.REJECTED or bool(asked.dag_id and not started.goes_on)
        values |= {
            "became": partial(became, words=_words(view)),
            "begun": begun,
            "untouched": "" if begun else untouched(view, ended=ended),
        }
        values |= {"gone": gone(view), "four_eyes": partial(asks_for_four_eyes, who.estate)}
        placed, waiting = still_by_hand(asked.run, view.story.by_hand)
        values |= {"by_hand": by_hand(asked.run, view.story, waiting), "placed": placed}
        values |= {"more_by_hand": more_by_hand(view.story), "none_waits": not waiting}
        values |= {"why": partial(why, workflow=_workflow(view.story))}
        may = _may(who, asked, view, form) | {"move": bool(waiting) and who.may_start(RECOVER), "go_on": bool(go_on)}
        may_clear = bool(clear) and who.may_clear(asked.dag_id)
        values |= {"go_on": go_on, "may_clear": may_clear, "resumed_go_on": clear if may_clear else []}
        values |= {"old_proof": old_proof(view.story.line, at_work=state.word == AT_WORK)}
        values |= {"questions": questions_before(who, asked, view.story) if may["real"] else ()}
        full = found_full(view.story)
        room = rooms(full, figures_now(who.estate, [asked.run.queue_manager])[asked.run.queue_manager]) if full else ()
        dead = view.story.line.workflow == DEAD_LETTERS
        replays = [queue for queue, manager in full if not manager] if dead and who.may_start(RECOVER) else []
        own = [view.story.line.queue]
        held = open_questions(who, RECOVER, asked.run.queue_manager, own) if replays else ()
        values |= {"rooms": room, "dead_letters": dead, "replays": replays, "replay_waits_for": held}
        values |= {"later": taken_by_later(asked.run) if would(view) or full else ()}
        rows = balance(view)
        unplaced = {one.queue for one in waiting}
        before = open_questions(who, RECOVER, asked.run.queue_manager, unplaced) if may["move"] else ()
        values |= {"move_waits_for": before}
        values |= {
            "would": would(view),
            "findings": folded(found.findings) if would(view) and (found := read_preflight(asked.run)) else (),
            "words": _words(view),
            "balance": rows,
            "sums": sums_of(view),
            "others": others(view),
            "chart": _chart(view, rows),
            "may": may,
            "moving": _moving(view),
            "form": form,
        }
        return render_page(request, page, who, asked.run.queue_manager, template=template, **values)

    def of(part: str, template: str) -> None:
        @routes.get(page.path + part)
        def one(request: Request, after: int = -1, found: tuple[Reader, Asked] = asked_for) -> HTMLResponse:
            return shown(template, request, *found, after)

    of("", "run")
    of("/live", "run_live")
    return routes


def scan_of(run: RunFolder) -> ExpirySummary | None:
    """What a scan for expired messages found, None for any other run. Raises `LakeError`."""
    return ExpirySummary.from_json(read_json(run.expiry_json)) if run.expiry_json.exists() else None


def to_clear(view: RunView, tasks: Mapping[str, Task]) -> list[str]:
    """The tasks that are cleared for a run to go on, whose task act failed; none where it cannot. A stop that holds it
    must be taken back before."""
    if view.story.line.state not in BEGUN_AND_OPEN | {RunState.PLANNED, RunState.STOPPED} or ACT not in tasks:
        return []
    return [name for name in (ACT, PROVE) if name in tasks] if tasks[ACT].state == "failed" else []


def old_proof(line: RunLine, *, at_work: bool) -> bool:
    """Whether a run has acted since it was proved, or does now: what it had moved then is not its balance."""
    return bool(line.proved_at) and line.begun and (at_work or not line.proved_since)


class Shown(NamedTuple):
    """A state for people. Parameters: `kind` the colour of its word."""

    word: str
    meaning: str
    kind: str


def state_in_words(line: RunLine, tasks: Mapping[str, Task], *, goes_on: bool = False) -> Shown:
    """The state of a run and what it means. By its files a run that has just begun is like one that ended too early:
    Airflow knows better. Parameters: `goes_on` whether its DAG run has not ended: between two tasks none is at work."""
    working = [one.name for one in tasks.values() if one.state in WORKING]
    what = f"the task {working[-1]} is on its way" if working else "the run goes on to its next task" if goes_on else ""
    if line.state in EARLY and what:
        return Shown(AT_WORK, f"in Airflow {what}: nothing was moved", "note")
    if line.state in {RunState.BEGUN, RunState.UNFINISHED} and what:
        return Shown(AT_WORK, f"in Airflow {what}", "note")
    if line.state is RunState.OBSERVED and CHECK in tasks and tasks[CHECK].state != "success":
        return Shown(
            "not checked", f"the task {CHECK} has not checked the messages: its log in Airflow says why", "bad"
        )
    return Shown(line.word, beside(line), KIND.get(line.state, "quiet"))


def beside(line: RunLine) -> str:
    """What the state of a run means, beside its word: that is not said twice."""
    return _BESIDE.get(line.state, line.meaning)


_BESIDE = {
    RunState.DONE: "proved: it balances",
    RunState.UNBALANCED: "find the cause before anything else is done",
    RunState.STOPPED: "by a person: what was done is in the ledger, the rest is where it was",
    RunState.BEGUN: "not proved: a process is at work on it, or ended too early",
    RunState.APPROVED: "not begun yet: nothing was moved",
    RunState.WAITING: "for an approval: nothing was moved",
    RunState.REJECTED: "nothing was moved",
    RunState.PLANNED: "nothing was moved",
}
"""State → its meaning where that repeats the word."""


def what(story: RunStory, *, checks: bool) -> str:
    """What a run is, for its title. Parameters: `checks` whether it checks messages."""
    line, queues = story.line, story.line.queue.split(",")
    if story.undoes:
        return f"undo of run {story.undoes}"
    if not line.queue:
        return f"run {line.run}"
    of = line.queue if len(queues) == 1 else counted(len(queues), "queue")
    return f"{'quality checks' if checks else 'run'} of {of}"


def became(one: UnmovedMessage | Unmoved, *, words: Mapping[str, str]) -> str:
    """What became of a message, for people: what no run has reached is not said to be left by one.

    Parameters: `words` of its run, as `_words` gives them."""
    if one.became == FAILED:
        return "left: its try failed"
    waits = _WAITS.get(one.why) if one.became == LEFT else None
    return waits or words.get(one.became, one.became)


_WAITS = {
    NOT_REACHED: "still on the queue",
    NOT_REACHED_ELSEWHERE[Action.RESTORE]: "not put back yet",
    NOT_REACHED_ELSEWHERE[Action.RETURN]: "not put back yet",
    NOT_REACHED_ELSEWHERE[Action.WITHDRAW]: "not taken away yet",
    NOT_REACHED_ELSEWHERE[Action.LOAD]: "not put yet",
}
"""Why a message is left whose turn has not come → what is so of it."""


def why(one: UnmovedMessage | Unmoved, *, workflow: str) -> str:
    """Why a message was not moved or discarded, for people. Parameters: `workflow` of the run."""
    return NOT_CHOSEN if one.why == WHY_LEFT[Action.IGNORE] and by_choice(workflow) else one.why


NOT_CHOSEN = "it was not chosen"


def untouched(view: RunView, *, ended: bool) -> str:
    """Where the messages of a plan are that nobody has begun to carry out, in sentences. What the proof found is true
    of its time. Parameters: `ended` whether nothing more is done by the run."""
    line = view.story.line
    if view.story.undoes:
        return ". ".join(_undo_untouched(view, ended=ended))
    if not ended and not line.proved_at:
        acts = acted_on(view.story.plan["actions"])
        of = f"The plan has {counted(line.planned, 'message')}, and acts on {acts:,} of them"
        return f"So far nothing was moved or discarded. {of}"
    if not line.proved_at:
        number = counted(line.planned, "message")
        return f"Nothing was moved or discarded: the run leaves the {number} of its plan as they are"
    sums = sums_of(view)
    which = ("chosen message was", "chosen messages were") if others(view) else _OF_THE_PLAN
    there = counted(sums.planned - sums.gone, *which)
    found = f"Nothing was moved or discarded. At {line.proved_at}, {there} still on the queue"
    return f"{found}. {_gone(sums.gone)}" if sums.gone else found


_OF_THE_PLAN = ("message of the plan was", "messages of the plan were")


def gone(view: RunView) -> int:
    """The `chosen` messages of a plan that the proof found gone. Those of an undo are where the run had put them: what
    is not to be put back was not on its queue when the undo was planned."""
    if not view.story.undoes:
        return sums_of(view).gone
    return sum(one.gone for one in view.rules if Action(one.action).acts)


def _gone(number: int) -> str:
    return counted(
        number,
        "is gone: another program took it, or it expired",
        "are gone: another program took them, or they expired",
        spec=",",
    )


def _undo_untouched(view: RunView, *, ended: bool) -> Iterator[str]:
    counts = {Action(name): int(number) for name, number in view.story.plan.get("actions", {}).items()}
    ways = [f"{counted(counts[one], 'message')} {where}" for one, where in _BEFORE_UNDO.items() if one in counts]
    refused = sum(number for action, number in counts.items() if not action.acts)
    ways += [f"{counted(refused, 'message')} cannot or need not be put back"] if refused else []
    nothing = "Nothing was" if ended or view.story.line.proved_at else "So far nothing was"
    yield f"{nothing} put back. The undo has planned: {'; '.join(ways) or 'nothing'}"
    if number := gone(view):
        yield f"At {view.story.line.proved_at}: {_gone(number)}"


_BEFORE_UNDO = {
    Action.RESTORE: "to put back from the lake (RESTORE): the run discarded them",
    Action.RETURN: "to bring back from where the run put them (RETURN)",
    Action.WITHDRAW: "to take away, which the run put as copies (WITHDRAW)",
}
"""Action of an undo → what it has in mind, before it acts."""


_NOT_BEGUN = (RunState.WAITING, RunState.APPROVED, RunState.PLANNED, RunState.REJECTED)


def _moving(view: RunView) -> bool:
    """Whether the run acts, or has begun to and not ended: its progress is of interest."""
    state = view.story.line.state
    return view.story.progress is not None and state in {RunState.BEGUN, RunState.UNFINISHED, RunState.STOPPED}


def _may(who: Reader, asked: Asked, view: RunView, form: Mapping[str, Any] | None) -> dict[str, bool]:
    """Which forms the page shows. Parameters: `form` of a dry run that is over."""
    story = view.story
    stops = who.may_start(STOP)
    undoable = bool(
        story.begun_at
        and not story.undoes
        and story.line.workflow != MESSAGE_LOAD
        and not _did_nothing(story.line)
        and not _undone(asked, view)
    )
    return {
        "real": form is not None and who.may_start(asked.dag_id),
        "undo": undoable and who.may_start(UNDO),
        "stop": stops and not story.stops and not view.over,
        "resume": stops and bool(story.stops),
    }


def _did_nothing(line: RunLine) -> bool:
    """Whether it is proved that a run has moved and discarded nothing."""
    return line.proved_since and not line.moved and not line.discarded


def _undone(asked: Asked, view: RunView) -> bool:
    """Whether an undo has put back all that could be put back."""
    return any(_leaves_nothing(RunFolder(asked.run.path.parent / key)) for key, _words in view.undos)


def _leaves_nothing(undo: RunFolder) -> bool:
    """Whether a later undo of the same run would find nothing more to do than this one."""
    line = run_line(undo)
    if line.state is not RunState.DONE or line.failed or read_json(undo.summary_json).get("left_because"):
        return False
    return planned_actions(undo).actions.keys().isdisjoint(_LATER)


_LATER = frozenset({Action.HIDDEN, Action.UNPROVABLE})
"""What an undo does not put back now, and a later one may (rule 4 of `mqops.undo`)."""


def found_full(story: RunStory) -> list[tuple[str, str]]:
    """The destinations (queue, queue manager; blank for the run's own) that had no room for messages of a run."""
    own = ("", story.line.queue_manager)
    found = [one for one in story.failures if one.reason == reason_name(MQRC_Q_FULL)]
    return list(dict.fromkeys((one.dest_q, "" if one.dest_q_mgr in own else one.dest_q_mgr) for one in found))


def rooms(full: Iterable[tuple[str, str]], figures: Figures) -> Iterator[str]:
    """What is to be done so that these destinations have room, by the figures of now."""
    queues = {} if figures.unreachable else {one.name: one for one in figures.queues}
    for queue, manager in full:
        now = None if manager else queues.get(queue)
        if not manager and not figures.unreachable and queue in figures.other_names:
            yield f"{queue} was full, and is empty now"
        elif now is None:
            name = f"{queue}@{manager}" if manager else queue
            yield f"{name} was full when the run put messages there: let it be emptied, or raise its MAXDEPTH"
        elif now.nearly_full:
            yield nearly_full(now, figures)
        else:
            yield f"{queue} was full, and has room now (CURDEPTH {now.depth}, MAXDEPTH {now.max_depth})"


class Share(NamedTuple):
    """What became, or would become, of the messages of a rule. Parameters: `name` of the rule; `parts` what in words →
    messages."""

    rule: RuleBalance
    name: str
    parts: Mapping[str, int]


def would(view: RunView) -> bool:
    """Whether the page tells what would be done: a dry run, and any other plan that nobody carries out."""
    return bool(view.rules) and view.story.line.state is RunState.PLANNED


def folded(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Severity and text of what was found, once for all destinations with the same."""
    return [
        (severity, f"{', '.join(names)}: {what}" + (f". {remedy}" if remedy else ""))
        for (severity, what, remedy), names in same_said(findings).items()
    ]


def _words(view: RunView) -> Mapping[str, str]:
    """What becomes of a message (`FATES`) → the word for it. An undo puts messages back, and takes away those that its
    run put as copies."""
    undo, copies = bool(view.story.undoes), Action.WITHDRAW in view.story.plan.get("actions", {})
    words = _WOULD if would(view) else _DONE
    return {fate: word for fate, word in words[undo].items() if copies or not undo or fate != "discarded"}


_DONE = (
    {fate: fate for fate in FATES},
    {"moved": "put back", "discarded": "taken away", "left": "left", "gone": "gone"},
)
_WOULD = (
    {"moved": "would be moved", "discarded": "would be discarded", "left": "would stay"},
    {"moved": "would be put back", "discarded": "would be taken away", "left": "would not be put back"},
)
"""What becomes of a message → the word for it: of any other run, and of an undo."""


def others(view: RunView) -> int:
    """The messages of a plan that nobody has chosen: they are not in its sums."""
    return not_chosen(_workflow(view.story), view.story.plan.get("actions", {}))


def chosen(view: RunView) -> Sequence[RuleBalance]:
    """The proved balance by rule, without the messages that nobody has chosen."""
    return [one for one in view.rules if one.action != Action.IGNORE] if others(view) else view.rules


def sums_of(view: RunView) -> Counts | RunLine:
    """The sums of the proof, of `chosen` messages."""
    return total_of(chosen(view)) if others(view) else view.story.line


def balance(view: RunView) -> list[Share]:
    """What became of the messages of each rule, or would; of `chosen` ones."""
    words, workflow = _words(view), _workflow(view.story)
    dry = would(view)
    stays = {(one.queue, one.rule_line, one.action): one.messages for one in view.story.stays}
    shares = []
    for one in chosen(view):
        stay = stays.get((one.queue, one.rule_line, one.action), 0)
        planned = Counter({_fate(Action(one.action)): one.planned - stay}) + Counter(left=stay)
        parts = {word: planned[fate] if dry else getattr(one, fate) for fate, word in words.items()}
        shares.append(Share(one, rule_name(one, workflow=workflow), parts))
    return shares


def _chart(view: RunView, shares: Sequence[Share]) -> Markup | None:
    if not shares:
        return None
    several = len({one.rule.queue for one in shares}) > 1
    rows = [{"rule": f"{one.name} ({one.rule.queue})" if several else one.name, **one.parts} for one in shares]
    what = "What the plan would do with" if would(view) else "What became of"
    label = f"{what} the messages of each rule; the table below has the figures"
    return stacked(rows, of="rule", label=label, parts={word: FATES[fate] for fate, word in _words(view).items()})


def _fate(action: Action) -> str:
    return "discarded" if action.discards else "moved" if action.acts else "left"


def rule_name(one: RuleBalance, *, workflow: str) -> str:
    """A rule in a few words. Parameters: `workflow` of the run."""
    rule, action = rule_in_words(one.rule_line, Action(one.action), workflow), one.action
    return rule if action == Action.ERROR else f"{rule} {action}" if one.rule_line else f"{rule}: {action}"


def rule_in_words(line: int | None, action: Action, workflow: str) -> str:
    """What has decided about messages. Parameters: `line` of the rule, None for none; `workflow` "" where it is not
    known."""
    if line:
        return f"line {line}"
    if action is Action.ERROR:
        return NO_RULE_FITS
    if workflow == UNDO_WORKFLOW:
        return "undo"
    if by_choice(workflow):
        return "chosen" if action.acts else "not chosen"
    return "no rule"


def _workflow(story: RunStory) -> str:
    return UNDO_WORKFLOW if story.undoes else story.line.workflow
