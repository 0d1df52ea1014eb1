"""A run in words: its state, what it is, and why messages are where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mqops.actions import Action
from mqops.counted import counted
from mqops.decide.core.preflight import Finding, same_said
from mqops.deciders.registry import by_choice
from mqops.look.core.run_state import RunLine, RunState
from mqops.look.plan_view import acted_on
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
from mqops.look.run_view import RunView
from mqops_airflow.pages.run_balance import others, sums_of
from mqops_airflow.pages.which_run import APPROVE, ENDED, Task

WORKING = ("scheduled", "queued", "running", "restarting", "up_for_retry")
"""States of a task that Airflow is at work on."""
AT_WORK = "at work"
"""The word for a run that Airflow is at work on."""
ACT = "act"
"""The task that carries out a plan."""
CHECK = "quality"
"""The task that checks messages."""
EARLY = (RunState.INCOMPLETE, RunState.OBSERVED, RunState.PLANNED)
"""States of a run whose first tasks have not all ended, or that stays as it is."""
KIND = {
    **dict.fromkeys((RunState.DONE, RunState.APPROVED, RunState.CHECKED), "good"),
    **dict.fromkeys(
        (RunState.UNBALANCED, RunState.REJECTED, RunState.REFUSED, RunState.STOPPED, RunState.FAILED), "bad"
    ),
    **dict.fromkeys((RunState.UNFINISHED, RunState.WAITING, RunState.UNANSWERED, RunState.INCOMPLETE), "warn"),
    RunState.BEGUN: "note",
}
"""State → the colour of its word."""


def old_proof(line: RunLine, *, at_work: bool) -> bool:
    """Whether a run has acted since it was proved, or does now: what it had moved then is not its balance."""
    return bool(line.proved_at) and line.begun and (at_work or not line.proved_since)


class Shown(NamedTuple):
    """A state for people. Parameters: `kind` the colour of its word."""

    word: str
    meaning: str
    kind: str


def state_in_words(line: RunLine, tasks: Mapping[str, Task], *, goes_on: bool = False, stopped: bool = False) -> Shown:
    """The state of a run and what it means. By its files a run that has just begun is like one that ended too early:
    Airflow knows better.

    Parameters: `goes_on` whether its DAG run has not ended: between two tasks none is at work; `stopped` whether a stop
    of it was taken back.
    """
    working = [one.name for one in tasks.values() if one.state in WORKING]
    what = f"the task {working[-1]} is on its way" if working else "the run goes on to its next task" if goes_on else ""
    if line.state in {*EARLY, RunState.APPROVED} and what:
        return Shown(AT_WORK, f"in Airflow {what}: nothing was moved", "note")
    if line.state in {RunState.BEGUN, RunState.UNFINISHED} and what:
        return Shown(AT_WORK, f"in Airflow {what}", "note")
    if (over := _question_ended(line, tasks)) is not None:
        return over
    if line.state is RunState.APPROVED and ACT in tasks and tasks[ACT].state == "failed":
        ended = "a stop, which was taken back, ended the task act" if stopped else "the task act failed"
        return Shown(line.word, f"{ended} before it moved anything", "warn")
    if line.state is RunState.OBSERVED and CHECK in tasks and tasks[CHECK].state != "success":
        return Shown(
            "not checked", f"the task {CHECK} has not checked the messages: its log in Airflow says why", "bad"
        )
    return Shown(line.word, beside(line), KIND.get(line.state, "quiet"))


def _question_ended(line: RunLine, tasks: Mapping[str, Task]) -> Shown | None:
    """That Airflow has ended the task that asks, of which the files of the run do not know."""
    state = {name: task.state for name, task in tasks.items()}
    if line.state is RunState.WAITING and state.get(APPROVE, ENDED[0]) in ENDED:
        meaning = "nothing was moved: nobody can answer the question of its plan any more"
        return Shown(RunState.UNANSWERED.value, meaning, "warn")
    if line.state is RunState.APPROVED and state.get(APPROVE) == "failed" and state.get(ACT) != "failed":
        return Shown(line.word, "Airflow failed the task approve after that: nothing was moved", "warn")
    return None


def beside(line: RunLine) -> str:
    """What the state of a run means, beside its word: that is not said twice."""
    return line.meaning if line.unseen else _BESIDE.get(line.state, line.meaning)


_BESIDE = {
    RunState.DONE: "proved: it balances",
    RunState.UNBALANCED: "find the cause before anything else is done",
    RunState.STOPPED: "by a person: what was done is in the ledger, the rest is where it was",
    RunState.BEGUN: "not proved: a process is at work on it, or ended too early",
    RunState.APPROVED: "not begun yet: nothing was moved",
    RunState.WAITING: "for an approval: nothing was moved",
    RunState.REJECTED: "nothing was moved",
    RunState.REFUSED: "it permits nothing: nothing was moved",
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

    Parameters: `words` of its run, as `fate_words` gives them."""
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


def folded(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Severity and text of what was found, once for all destinations with the same."""
    return [
        (severity, f"{', '.join(names)}: {what}" + (f". {remedy}" if remedy else ""))
        for (severity, what, remedy), names in same_said(findings).items()
    ]
