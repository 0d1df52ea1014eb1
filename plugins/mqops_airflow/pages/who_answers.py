"""Who may answer the question of a run: Airflow's rights say who may answer, and the estate's four eyes who may not
approve (`mqops_airflow.approval.permission`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mqops.deciders.registry import holds_queues
from mqops.estate import EstateFile
from mqops.estate_sections import dag_prefix
from mqops.estate_workflows import MovingWorkflow
from mqops.look.run_story import RunStory
from mqops.look.runs import list_runs
from mqops.look.words.run import WhoAnswers
from mqops.look.words.state import RunState
from mqops_airflow.airflow_private.server import SimpleAuthManagerUser, get_auth_manager
from mqops_airflow.approval.four_eyes import same_person
from mqops_airflow.pages.security import Reader, may_answer
from mqops_airflow.pages.which_run import APPROVE, ENDED, Asked, Started, Task, approvals_of, started_of
from mqops_airflow.roles import ROLES, RolesAuthManager
from mqops_airflow.runs.dags_for_all import THAT_ACT
from mqops_airflow.runs.workplace import lake

WAITS = "awaiting_input"
"""The state of a task whose question is open."""
ASKING = frozenset({RunState.WAITING, RunState.STOPPED})
"""States in which a run can have an open question."""


class Question(NamedTuple):
    """A question that somebody can answer, or will be asked. Parameters: `task` that asks; `started` the DAG run, None
    while the task has not asked yet."""

    asked: Asked
    task: Task
    started: Started | None

    @property
    def of(self) -> tuple[str, str]:
        """The queue manager and the key of the run: runs of several queue managers may have the same key."""
        return self.asked.run.queue_manager, self.asked.run.run


def who_answers(who: Reader, asked: Asked, task: Task | None) -> WhoAnswers | None:
    """The people who may answer, None where no question is open. Parameters: `task` approve, None without one."""
    if task is None or not _asks(task):
        return None
    return _by(who, asked, task, started_of(asked))


def open_questions_of(place: Path, runs: Iterable[tuple[str, str]]) -> Iterator[Question]:
    """The questions of runs, without those that nobody can answer any more: the task has ended, or Airflow has deleted
    the run. Parameters: `place` the lake; `runs` queue manager and run."""
    for asked, task in approvals_of(place, runs):
        if task.state not in ENDED:
            yield Question(asked, task, started_of(asked) if _asks(task) else None)


def who_answers_each(who: Reader, questions: Iterable[Question]) -> Iterator[tuple[tuple[str, str], WhoAnswers | None]]:
    """Queue manager and run → who may answer its question, None while the task that asks is at work."""
    for one in questions:
        yield one.of, _by(who, one.asked, one.task, one.started) if one.started else None


def _asks(task: Task) -> bool:
    return task.state == WAITS and task.name == APPROVE


def _by(who: Reader, asked: Asked, task: Task, started: Started) -> WhoAnswers:
    person = started.person if asks_for_four_eyes(who.estate, asked.dag_id) else ""
    return WhoAnswers(
        dag_id=asked.dag_id,
        until=task.until.isoformat() if task.until else "",
        roles=_roles(asked.dag_id),
        may=who.may_answer(asked.dag_id),
        asked=started.in_words,
        not_by=person,
        own=bool(person) and any(same_person(person, name) for name in (who.user.get_name(), who.user.get_id())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """An open question that a real run would wait for. Parameters: `queue` the names of its queues, with commas."""

    queue_manager: str
    run: str
    queue: str


def open_questions(estate: EstateFile, dag_id: str, queue_manager: str, queues: Iterable[str] = ()) -> tuple[Open, ...]:
    """The plans with an open question that a real run of a DAG on the same queue would wait for
    (`mqops_airflow.approval.which_run.waited_for`): such a run plans nothing meanwhile. An undo keeps no run waiting.
    Raises `LakeError`.

    Parameters: `queues` of the real run, () for all.
    """
    place, wanted = lake(estate), set(queues)
    waiting = {
        line.run: line.queue
        for line in list_runs(place, queue_manager=queue_manager, states=ASKING)
        if line.asks and holds_queues(line.workflow) and (not wanted or wanted & set(line.queue.split(",")))
    }
    asked = approvals_of(place, [(queue_manager, run) for run in waiting])
    return tuple(
        Open(queue_manager=queue_manager, run=one.run.run, queue=waiting[one.run.run])
        for one, task in asked
        if dag_id in {one.dag_id, *THAT_ACT} and task.state == WAITS
    )


def questions_before(estate: EstateFile, asked: Asked, story: RunStory) -> tuple[Open, ...]:
    """The open questions that the real run of a dry run would wait for; none for an undo. Raises `LakeError`."""
    if not holds_queues(story.workflow):
        return ()
    return open_questions(estate, asked.dag_id, story.line.queue_manager, story.line.queue.split(","))


def asks_for_four_eyes(estate: EstateFile, dag_id: str) -> bool:
    """Whether the estate asks for four eyes on the runs of a DAG that moves messages, as the DAG files have it."""
    managers = estate.estate.queue_managers
    own = {
        f"{dag_prefix(name)}_{workflow}": section.approval.four_eyes
        for name, settings in managers.items()
        for workflow, section in settings.workflows(MovingWorkflow)
    }
    return own[dag_id] if dag_id in own else estate.four_eyes()


def _roles(dag_id: str) -> tuple[str, ...]:
    if not isinstance(get_auth_manager(), RolesAuthManager):
        return ()
    return tuple(role for role in ROLES if may_answer(SimpleAuthManagerUser(username="", role=role), dag_id))
