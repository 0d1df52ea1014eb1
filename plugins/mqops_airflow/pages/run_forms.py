"""What can be done with a run, by which form of its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mqops.actions import Action
from mqops.counted import counted
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import BEGUN_AND_OPEN, RunLine
from mqops.look.estate.nearly_full import how_full, more_room
from mqops.look.figures import Figures
from mqops.look.plan_view import acted_on, planned_actions
from mqops.look.run_row import run_line
from mqops.look.run_story import RunStory
from mqops.look.run_view import RunView
from mqops.look.words.run import ACT, resume_hint
from mqops.look.words.state import RunState
from mqops.look.words.text import NOTHING, Name, Text, joined, said, with_commands
from mqops.model import Destination
from mqops.prove.records import SUMMARY
from mqops.workflow import Workflow
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.which_run import APPROVE, ENDED, Asked, Fields, Task
from mqwire.constants import MQRC_Q_FULL
from mqwire.names import reason_name

STOP, UNDO, RECOVER = "mq_stop", "mq_undo", "mq_recover"
PROVE = "prove"
"""The task that proves what was done."""


class RealRun(NamedTuple):
    """The form of a dry run once more, with Dry run off.

    Parameters: `button` its text, and `real` its text while the field dry_run is not ticked, "" for the same; `fixed`
    the fields; `said` the fields in words; `named` the queue that a person named for messages, "" for none.
    """

    dag_id: str
    button: str
    real: str
    fixed: Fields
    said: Text
    named: str


def real_run(dag_id: str, form: Fields) -> RealRun:
    """The form of a real run. Parameters: `form` of the dry run, as a person gave it."""
    named = str(form.get("destination") or "") if form.get("action") == "move" else ""
    button = "Start another dry run" if named else "Start the real undo" if dag_id == UNDO else "Start the real run"
    hidden = {"dry_run", "destination"} if named else {"dry_run"}
    fields = [
        Name(f"{name.replace('_', ' ')} {_in_words(name, value)}")
        for name, value in form.items()
        if name not in hidden and value not in (None, "", [])
    ]
    return RealRun(
        dag_id=dag_id,
        button=button,
        real="Start the real run" if named else "",
        fixed={**form, "dry_run": False},
        said=said(": {}", joined(", ", fields)) if fields else NOTHING,
        named=named,
    )


def _in_words(name: str, value: object) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    if name == "message_ids" and len(value) > 1:
        return f"of {counted(len(value), 'message')}"
    return ", ".join(map(str, value))


class Resume(NamedTuple):
    """A form that takes a stop back. Parameters: `fixed` its fields; `hint` on what follows; `clears` the tasks of the
    run that Airflow clears then, None for none."""

    button: str
    id: str
    fixed: Fields
    hint: str
    clears: Mapping[str, object] | None

    @classmethod
    def of_each(cls, asked: Asked, story: RunStory, go_on: Sequence[str]) -> Iterator[Resume]:
        """A form for each stop of a run that is in force. Parameters: `go_on` the tasks that are cleared for the run to
        go on, and that the reader may clear."""
        line = story.line
        for stop in story.stops:
            every_run = stop.startswith("all runs")
            at_once = bool(go_on) and not every_run and len(story.stops) == 1
            yield cls(
                button=f"Resume {'all runs' if every_run else 'this run, and go on' if at_once else 'this run'}",
                id=f"resume-{'all' if every_run else 'on' if at_once else 'run'}",
                fixed={"do": "resume", "queue_manager": line.queue_manager, "run": None if every_run else line.run},
                hint=resume_hint(go_on, every_run=every_run, at_once=at_once),
                clears={"dag_id": asked.dag_id, "run_id": asked.run_id, "task_ids": go_on} if at_once else None,
            )


def to_clear(view: RunView, tasks: Mapping[str, Task]) -> list[str]:
    """The tasks to clear so that a run whose task act failed goes on; none where it cannot go on. A stop that holds the
    run must be taken back before."""
    if view.story.line.state not in BEGUN_AND_OPEN | {RunState.PLANNED, RunState.STOPPED} or ACT not in tasks:
        return []
    return [name for name in (ACT, PROVE) if name in tasks] if tasks[ACT].state == "failed" else []


def to_ask_again(story: RunStory, tasks: Mapping[str, Task]) -> list[str]:
    """The tasks to clear so that the question of a plan is put again, because nobody can answer it any more or its
    approval permits nothing. None where the question cannot be put again, or where the run has begun to act."""
    if APPROVE not in tasks or story.begun_at or not story.approval:
        return []
    ended = tasks[APPROVE].state
    if ended != "failed" and not (ended in ENDED and story.line.state in {RunState.UNANSWERED, RunState.WAITING}):
        return []
    return [name for name in (APPROVE, ACT, PROVE) if name in tasks]


class May(NamedTuple):
    """Which forms a page shows: the real run of a dry run, an undo, a stop, and what takes a stop back."""

    real: bool
    undo: bool
    stop: bool
    resume: bool


def may_do(who: Reader, asked: Asked, view: RunView, form: Fields | None) -> May:
    """The forms that the page shows. No form for a plan that acts on no message. Parameters: `form` of a dry run that
    is over."""
    story = view.story
    stops = who.may_start(STOP)
    undoable = bool(
        story.begun_at
        and not story.undoes
        and story.line.workflow != Workflow.MESSAGE_LOAD
        and not _did_nothing(story.line)
        and not _undone(asked, view)
    )
    return May(
        real=form is not None and who.may_start(asked.dag_id) and acted_on(story.actions) > 0,
        undo=undoable and who.may_start(UNDO),
        stop=stops and not story.stops and not view.over,
        resume=stops and bool(story.stops),
    )


def _did_nothing(line: RunLine) -> bool:
    """Whether it is proved that a run has moved and discarded nothing."""
    return line.proved_since and not line.moved and not line.discarded


def _undone(asked: Asked, view: RunView) -> bool:
    """Whether an undo has put back all that could be put back."""
    return any(_leaves_nothing(RunFolder(asked.run.path.parent / key)) for key, fate_words in view.undos)


def _leaves_nothing(undo: RunFolder) -> bool:
    """Whether a later undo of the same run would find nothing more to do than this one."""
    line = run_line(undo)
    if line.state is not RunState.DONE or line.failed or SUMMARY.read(undo).left_because:
        return False
    return planned_actions(undo).actions.keys().isdisjoint(_LATER)


_LATER = frozenset({Action.HIDDEN, Action.UNPROVABLE})
"""What an undo does not put back now, and a later one may (rule 4 of `mqops.undo`)."""


def found_full(story: RunStory) -> list[Destination]:
    """The destinations that had no room for messages of a run. The queue manager is blank for the run's own."""
    own = ("", story.line.queue_manager)
    found = [one for one in story.failures if one.reason == reason_name(MQRC_Q_FULL)]
    return list(
        dict.fromkeys(Destination(one.dest_q, "" if one.dest_q_mgr in own else one.dest_q_mgr) for one in found)
    )


def rooms(full: Iterable[Destination], figures: Figures) -> Iterator[str | Text]:
    """What to do so that these destinations have room, a sentence each, by the figures of now."""
    queues = {} if figures.unreachable else {one.name: one for one in figures.queues}
    for queue, manager in full:
        now = None if manager else queues.get(queue)
        if not manager and not figures.unreachable and queue in figures.other_names:
            yield f"{queue} was full, and is empty now"
        elif now is None:
            name = str(Destination(queue, manager))
            yield f"{name} was full when the run put messages there: let it be emptied, or raise its MAXDEPTH"
        elif now.nearly_full:
            yield with_commands(f"{how_full(now)}: {more_room(now, figures)}")
        else:
            yield f"{queue} was full, and has room now (CURDEPTH {now.depth:,}, MAXDEPTH {now.max_depth:,})"
