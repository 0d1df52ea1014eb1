"""What is said of a run of Airflow that has no files in the lake yet: whether it is queued, and behind which runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from mqops.counted import counted
from mqops.estate_sections import dag_prefix
from mqops.lake.shared import MOUNT
from mqops.look.words.text import AirflowLink, Link, Text, Value, joined
from mqops.workflow import Workflow
from mqops_airflow.airflow_private.database import (
    DagModel,
    DagRun,
    DagRunState,
    State,
    TaskInstance,
    TaskInstanceState,
    create_session,
)
from mqops_airflow.ui.views import path_of_dag, path_of_run

FORMS: dict[str, tuple[str, str, str]] = {
    Workflow.DLQ_RULES: ("dead_letters", "handle", "The dead letters of {}, with the form of this run"),
    Workflow.EXPIRY_SCAN: ("expiry", "", "What expires on {}"),
    Workflow.SNAPSHOT_QUALITY: ("quality", "", "The quality checks of {}, with the form of this run"),
}
"""Workflow → the page about it, the place there, and what it is called. Backout queues are on Estate."""
BEHIND_THE_FIRST = ("observe", "scan", "decide", "approve", "act", "prove")
"""Tasks that work with the files of the first one: where one of them has begun, there are files."""
BEGUN = (
    *(TaskInstanceState.RUNNING, TaskInstanceState.SUCCESS, TaskInstanceState.FAILED),
    TaskInstanceState.UP_FOR_RETRY,
)
_AT_WORK = {
    TaskInstanceState.RUNNING: "The run is at work on its task {}, and has no files in the lake yet.",
    TaskInstanceState.UP_FOR_RETRY: "The task {} of the run has failed. Airflow tries it again soon.",
}
_NOT_SHARED = (
    "This page sees no files of this run, and its task {} needs them: the lake that Airflow's API server sees is not "
    f"the one of the tasks. {MOUNT}. Or somebody removed the run's folder."
)
_WITHOUT_FILES = {
    DagRunState.SUCCESS: "it had nothing to do, its DAG keeps none, or they were removed",
    DagRunState.FAILED: "it ended before it read a message, or they were removed",
}
EXPLAIN = "mq_trigger_explain"
"""The DAG that explains the trigger of any queue, as the page Triggers does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A run that keeps another run waiting. Parameters: `asks` whether it waits for the answer of a person itself."""

    dag_id: str
    run_id: str
    asks: bool


class NotYet(HTTPException):
    """HTTP 404: the run has no files in the lake.

    Attributes: `dag_id` and `run_id` of the run; `known` whether Airflow knows it; `awaited` whether it can have files
    later; `note` that Airflow has of it; `ended_well` whether it succeeded, and its note is Markdown; `before` the runs
    that it is queued behind; `queue_manager` that it is of, "" where that is not known; `form` as of
    `FORMS`, None where there is none; `explains` the queue of a run that explains its trigger, "" for any other.

    Parameters: `own` the queue manager of the DAG, "" where it serves several; `seen` those that the person may see.
    """

    def __init__(self, dag_id: str, run_id: str, *, own: str, seen: Collection[str]) -> None:
        self.dag_id, self.run_id = dag_id, run_id
        self.form = FORMS.get(dag_id.removeprefix(f"{dag_prefix(own)}_")) if own else None
        with create_session() as session:
            run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
            text, self.before = _said(session, run)
            self.known = run is not None
            self.awaited = run is not None and run.state in State.unfinished_dr_states
            named = own or (run.conf or {}).get("queue_manager", "") if run is not None else own
            self.queue_manager = named if named in seen else ""
            explains = run is not None and dag_id == EXPLAIN
            self.explains = str((run.conf or {}).get("queue") or "") if run is not None and explains else ""
            self.ended_well = run is not None and run.state == DagRunState.SUCCESS
            self.note = (run.note or "") if run is not None else ""
        super().__init__(404, text)

    @property
    def title(self) -> str:
        """The heading of the page."""
        if self.awaited:
            return "Nothing to show yet"
        return "No such run" if not self.known else "The run has ended" if self.ended_well else "The run failed"

    @property
    def lines(self) -> list[str]:
        """The lines of Airflow's note; none where the note is Markdown as a whole."""
        return [] if self.ended_well else [line for line in self.note.split("\n") if line]

    @property
    def links(self) -> Text:
        """The pages where a reader goes on."""
        name = self.queue_manager
        query = {"queue_manager": name} if name else {}
        found: list[Value] = []
        if name and self.explains:
            words = f"All conditions of {self.explains} as they are now"
            found.append(Link(words, "triggers", query | {"queue": self.explains}))
        if name and self.form:
            page, place, words = self.form
            found.append(Link(words.format(name), page, query, place))
        found.append(Link(f"Estate: {name}" if name else "Estate", "estate", query))
        if self.known:
            found.append(AirflowLink("The run in Airflow", path_of_run(self.dag_id, self.run_id)))
            words = f"{self.dag_id} in Airflow, where each run can be started"
            found.append(AirflowLink(words, path_of_dag(self.dag_id)))
        return joined(" · ", found)


def _said(session: Session, run: DagRun | None) -> tuple[str, tuple[Before, ...]]:
    if run is None:
        return "There is no such run, or its files were removed: neither the lake nor Airflow has it.", ()
    if begun := _begun_behind(session, run):
        return _NOT_SHARED.format(begun), ()
    if run.state in _WITHOUT_FILES:
        return f"This run has no files in the lake: {_WITHOUT_FILES[DagRunState(run.state)]}.", ()
    if run.state == DagRunState.RUNNING:
        return _of_first_task(session, run), ()
    return _queued(session, run)


def _queued(session: Session, run: DagRun) -> tuple[str, tuple[Before, ...]]:
    dag_id = run.dag_id
    dag = session.get(DagModel, dag_id)
    if dag is not None and dag.is_paused:
        return f"This run is queued: the DAG {dag_id} is paused. Unpause it, and the run starts.", ()
    before = _active(session, dag_id)
    if dag is None or len(before) < (dag.max_active_runs or 0):
        return "This run is queued: Airflow starts it in a moment.", ()
    most = counted(dag.max_active_runs or 0, "run")
    return (
        f"This run is queued: Airflow has {most} of {dag_id} at work at a time. It starts when one of these ends.",
        before,
    )


def _of_first_task(session: Session, run: DagRun) -> str:
    """That a run which has begun waits for its first task, or that this task is at work."""
    chosen = select(TaskInstance.task_id, TaskInstance.state).where(
        TaskInstance.dag_id == run.dag_id, TaskInstance.run_id == run.run_id, TaskInstance.state.in_(_AT_WORK)
    )
    if found := session.execute(chosen.order_by(TaskInstance.start_date.desc()).limit(1)).first():
        return _AT_WORK[TaskInstanceState(found[1])].format(found[0])
    return "The run waits for its first task: Airflow starts it in a moment."


def _begun_behind(session: Session, run: DagRun) -> str:
    """A task of the run that has begun, and that begins only where the first task has made files; "" for none."""
    chosen = select(TaskInstance.task_id).where(
        TaskInstance.dag_id == run.dag_id,
        TaskInstance.run_id == run.run_id,
        TaskInstance.task_id.in_(BEHIND_THE_FIRST),
        TaskInstance.state.in_(BEGUN),
    )
    return session.scalars(chosen.order_by(TaskInstance.start_date).limit(1)).first() or ""


def _active(session: Session, dag_id: str) -> tuple[Before, ...]:
    """The runs of a DAG that are at work, the oldest first."""
    runs = session.scalars(
        select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.state == DagRunState.RUNNING).order_by(DagRun.id)
    ).all()
    asks = set(
        session.scalars(
            select(TaskInstance.run_id).where(
                TaskInstance.dag_id == dag_id, TaskInstance.state == TaskInstanceState.AWAITING_INPUT
            )
        ).all()
    )
    return tuple(Before(dag_id=dag_id, run_id=run, asks=run in asks) for run in runs)
