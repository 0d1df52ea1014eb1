"""What is known of a run, by the lake and by Airflow, when its page is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mqops.deciders.registry import fates_of, not_chosen
from mqops.lake.step import StepProgress, read_step
from mqops.look.run_story import RunStory
from mqops.look.run_view import RunView, latest_view
from mqops.look.taken_since import still_by_hand
from mqops.look.unmoved import UnmovedMessage
from mqops.look.words import balance
from mqops.look.words import run as words
from mqops.look.words.fates import Fate, Fates
from mqops.look.words.run import Shown
from mqops.look.words.state import AT_WORK, RunState
from mqops_airflow.pages.run_forms import to_ask_again, to_clear
from mqops_airflow.pages.which_run import ENDED, Asked, Fields, Started, Task, started_of, tasks_of
from mqops_airflow.ui.views import path_of_run

MESSAGES = 50
"""Messages that the page names; a link goes on."""
_NOT_APPROVED = (RunState.REJECTED, RunState.REFUSED, RunState.UNANSWERED)
_NOT_BEGUN = (RunState.WAITING, RunState.APPROVED, RunState.PLANNED, *_NOT_APPROVED)


class Seen(NamedTuple):
    """What the lake and Airflow know of a run.

    Parameters: `tasks` and `started` as Airflow has them; `clear` the tasks to clear so that the run goes on; `over`
    whether the run does nothing more by itself; `waiting` the messages that a person must still place, none while the
    plan waits for its approval; `placed` later runs → how many of these messages each has taken; `after` the row of the
    plan before the first message.
    """

    asked: Asked
    view: RunView
    tasks: Mapping[str, Task]
    started: Started
    clear: Sequence[str]
    over: bool
    waiting: Sequence[UnmovedMessage]
    placed: Mapping[str, int]
    after: int

    @classmethod
    def of(cls, asked: Asked, after: int) -> Seen:
        """What is known of a run now. Parameters: `after` the row of the plan before the first message."""
        view = latest_view(asked.run, limit=MESSAGES, after=after)
        tasks, started = tasks_of(asked), started_of(asked)
        clear = to_clear(view, tasks) if not started.goes_on else []
        held = view.story.stops or clear or to_ask_again(view.story, tasks)
        over = view.over and not held and all(task.state in ENDED for task in tasks.values())
        placed, waiting = still_by_hand(asked.run, view.story)
        waiting = waiting if view.story.line.state is not RunState.WAITING else []  # a real run would plan nothing
        return cls(asked, view, tasks, started, clear, over, waiting, placed, after)

    @property
    def story(self) -> RunStory:
        """What the lake knows of the run."""
        return self.view.story

    @property
    def query(self) -> dict[str, str]:
        """The query that names the run in the address of a page."""
        return {"queue_manager": self.asked.run.queue_manager, "run": self.asked.run.run}

    @property
    def run_path(self) -> str:
        """The path of the run in Airflow, "" where Airflow has no such run."""
        asked = self.asked
        return path_of_run(asked.dag_id, asked.run_id) if asked.dag_id and self.started.cleaned_at is None else ""

    @property
    def fates(self) -> Fates:
        """The words of the run's workflow for fates of messages."""
        return fates_of(self.story.workflow)

    @property
    def words(self) -> dict[Fate, str]:
        """Fate of messages of the run → the word for it."""
        return balance.words_of(self.view, self.fates)

    @property
    def sums(self) -> balance.Sums:
        """The sums of the chosen messages of the run."""
        return balance.sums_of(self.view, not_chosen(self.story.workflow, self.story.actions))

    @property
    def state(self) -> Shown:
        """The state of the run by its files and by Airflow."""
        states = {name: task.state for name, task in self.tasks.items()}
        line, stopped = self.story.line, bool(self.story.stopped)
        state = words.state_in_words(line, states, goes_on=self.started.goes_on, stopped=stopped)
        if self.story.unapproved and line.state in {RunState.REFUSED, RunState.UNANSWERED}:
            return state._replace(meaning=f"nothing was moved: {self.story.unapproved}")
        return state

    @property
    def old_proof(self) -> bool:
        """Whether the run has acted since its proof, or acts now: the figures of the proof are not its balance."""
        line = self.story.line
        at_work = self.state.word == AT_WORK
        return bool(line.proved_at) and line.begun and (at_work or not line.proved_since)

    @property
    def moving(self) -> bool:
        """Whether the run acts, or has begun to act and not ended: the page shows its progress."""
        state = self.story.line.state
        return self.story.progress is not None and state in {RunState.BEGUN, RunState.UNFINISHED, RunState.STOPPED}

    @property
    def reading(self) -> StepProgress | None:
        """How far the step is that reads or decides messages now; None where none says so."""
        return None if self.over or self.story.begun_at else read_step(self.asked.run)

    @property
    def untouched(self) -> str:
        """The sentence where the messages of the run are while it has not begun to act; "" if it has."""
        state, asked = self.story.line.state, self.asked
        if not self.story.plan or state not in _NOT_BEGUN:
            return ""
        ended = self.over or state in _NOT_APPROVED or bool(asked.dag_id and not self.started.goes_on)
        return words.untouched(self.view, self.fates, self.sums, ended=ended)

    @property
    def form(self) -> Fields | None:
        """The form of a dry run that is over, as a person gave it; None for any other run."""
        return self.started.dry_form if self.story.plan and self.over and not self.story.begun_at else None
