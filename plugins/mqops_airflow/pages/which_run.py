"""The run that an address means, by its place in Airflow or in the lake, and what Airflow knows of its tasks.

1. `dag_id` and `run_id` name a run of Airflow: whoever may read that DAG may see it.
2. `queue_manager` and `run` name a run of the lake. If a DAG made it, the person must be allowed to read that DAG, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from fastapi import Depends, HTTPException
from sqlalchemy import select, tuple_

from mqops.errors import MqopsError, SettingsError
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.run import RunFolder, find_run
from mqops.look.words import expiry
from mqops.look.words.run_name import ASKERS
from mqops.look.words.text import NOTHING, Link, Text
from mqops_airflow.airflow_private.database import (
    DagModel,
    DagRun,
    DagRunState,
    DagRunType,
    Log,
    State,
    TaskInstance,
    create_session,
)
from mqops_airflow.pages.not_yet import NotYet
from mqops_airflow.pages.security import Reader, may, own_dags, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.runs.run_folder import folders, is_of, run_key
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Right

Fields: TypeAlias = Mapping[str, object]
"""Fields of a DAG's form, name → JSON: what a person gave (the conf of a DAG run), or what a form of a page sends."""
CLEANED = "cli_cleanup_tables"
"""What Airflow's audit log calls `airflow db clean`."""
APPROVE = "approve"
"""The task that waits for a person."""
ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
"""States that a task of Airflow does not leave by itself."""
ORDER = (
    *("check", "plan", "observe", "scan", "decide", "quality", "route", "approve", "act", "prove", "report"),
    "planned",
)
"""The tasks of all workflows, as they run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run of the lake, and its place in Airflow, whose ids are blank for a run that no DAG made."""

    run: RunFolder
    dag_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task of a run as Airflow has it. Parameters: `until` when Airflow gives up a waiting task."""

    name: str
    state: str
    began: datetime | None
    ended: datetime | None
    tries: int
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A DAG run. Parameters: `person` who started the run, "" where no person did; `kind` of run, "" for a run that no
    DAG made; `goes_on` whether the run has not ended; `conf` that the run was started with; `cleaned_at` when
    Airflow's records were cleaned last, ISO 8601, "" where that is not known, of a run of which it has no record any
    more: then `kind` is what the lake knows. None where it has one."""

    person: str = ""
    kind: str = ""
    goes_on: bool = False
    conf: Fields = field(default_factory=dict)
    cleaned_at: str | None = None

    @property
    def by(self) -> str:
        """The person who started it, else the kind of run."""
        return self.person or self.kind

    @property
    def dry_form(self) -> Fields | None:
        """The form of a dry run that a person started; None for another run."""
        return self.conf if self.kind == DagRunType.MANUAL and self.conf.get("dry_run", True) else None

    @property
    def in_words(self) -> str:
        """The person or thing that asked for the run."""
        return self.person or ASKERS.get(self.kind, self.kind)


def asked_by(right: Right) -> Any:
    """The dependency of a route about a run: the reader, and the run of the query. Raises as `asked_run`."""

    sees = reader(right)

    def found(
        queue_manager: str = "", run: str = "", dag_id: str = "", run_id: str = "", who: Reader = sees
    ) -> tuple[Reader, Asked]:
        return who, asked_run(who, queue_manager=queue_manager, run=run, dag_id=dag_id, run_id=run_id)

    return Depends(found)


def asked_run(who: Reader, *, queue_manager: str, run: str, dag_id: str, run_id: str) -> Asked:
    """The run of a query. Raises `HTTPException` 403: the person may not see it; 404: there is no such run."""
    if dag_id:
        who.must_read(dag_id)
        own = who.of_dag(dag_id)
        for name in (own,) if own else who.queue_managers:
            if (found := _of_airflow(who, name, dag_id, run_id)) is not None:
                return Asked(run=found, dag_id=dag_id, run_id=run_id)
        raise NotYet(dag_id, run_id, own=own, seen=who.queue_managers)
    name = who.queue_manager(queue_manager)
    try:
        found = find_run(lake(who.estate), key=run, queue_manager=name)
    except SettingsError as error:
        raise HTTPException(404, str(error)) from error
    asked = _with_place(found)
    if asked.dag_id:
        who.must_read(asked.dag_id)
    return asked


def _of_airflow(who: Reader, queue_manager: str, dag_id: str, run_id: str) -> RunFolder | None:
    """The last folder of a DAG run; None where the queue manager has none, or its part of the lake cannot be read."""
    with suppress(MqopsError):
        for _number, folder in reversed(folders(lake(who.estate), queue_manager, run_key(dag_id, run_id))):
            if is_of(folder, dag_id, run_id):
                return folder
    return None


def approvals_of(place: Path, runs: Iterable[tuple[str, str]]) -> Iterator[tuple[Asked, Task]]:
    """The task `approve` of each run that a DAG made.

    Parameters: `place` the lake; `runs` queue manager and run. A run with a file that cannot be read is left out.
    """
    for name, run in runs:
        with suppress(MqopsError):
            asked = _with_place(RunFolder.at(place, name, run))
            if task := tasks_of(asked).get(APPROVE):
                yield asked, task


def at_work(place: Path, runs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The runs (queue manager and key) whose DAG run is at work, or queued. A run with a file that cannot be read, and
    a run that no DAG made, are not among them. Parameters: `place` the lake."""
    places: dict[tuple[str, str], tuple[str, str]] = {}
    for name, run in runs:
        with suppress(MqopsError):
            asked = _with_place(RunFolder.at(place, name, run))
            if asked.dag_id:
                places[name, run] = asked.dag_id, asked.run_id
    if not places:
        return set()
    with create_session() as session:
        chosen = select(DagRun.dag_id, DagRun.run_id).where(
            tuple_(DagRun.dag_id, DagRun.run_id).in_(set(places.values())), DagRun.state.in_(State.unfinished_dr_states)
        )
        working = {tuple(row) for row in session.execute(chosen)}
    return {run for run, place in places.items() if place in working}


def next_by_schedule(who: Reader) -> dict[str, list[tuple[str, datetime]]]:
    """Queue manager → the DAGs that their schedules start next, each with its time, the earliest first, without paused
    DAGs and without DAGs that the person may not read."""
    own = own_dags(who.estate)
    of = {dag_id: name for name in who.queue_managers for dag_id in own[name]}
    found: dict[str, list[tuple[str, datetime]]] = {}
    for dag_id, at in _scheduled(tuple(of)):
        if may(who.user, dag_id, entity=who.right):
            found.setdefault(of[dag_id], []).append((dag_id, at))
    return found


@shared
def _scheduled(dag_ids: tuple[str, ...]) -> list[tuple[str, datetime]]:
    """Those of these DAGs that their schedules start and that are not paused, the earliest first, and when."""
    with create_session() as session:
        chosen = select(DagModel.dag_id, DagModel.next_dagrun_create_after).where(
            DagModel.dag_id.in_(dag_ids),
            DagModel.is_paused.is_(False),
            DagModel.is_stale.is_(False),
            DagModel.next_dagrun_create_after.is_not(None),
        )
        rows = session.execute(chosen.order_by(DagModel.next_dagrun_create_after)).tuples()
        return [(dag_id, at) for dag_id, at in rows if at]


def newest_at_work(who: Reader, dag_id: str, what: str, finds: str) -> Text:
    """The sentence that a run of a DAG has not ended, the newest one; nothing where all have ended, or the person may
    not read the DAG. Parameters: `dag_id` "" for none; `what`, `finds` as of `mqops.look.words.expiry.at_work`."""
    if not dag_id or not may(who.user, dag_id, entity=who.right):
        return NOTHING
    with create_session() as session:
        chosen = select(DagRun.run_id, DagRun.start_date).where(
            DagRun.dag_id == dag_id, DagRun.state.in_(State.unfinished_dr_states)
        )
        row = session.execute(chosen.order_by(DagRun.id.desc()).limit(1)).first()
    if row is None:
        return NOTHING
    link = Link("look at the run", "run", {"dag_id": dag_id, "run_id": row.run_id})
    return expiry.at_work(what, finds, link, row.start_date.isoformat() if row.start_date else "")


def _with_place(run: RunFolder) -> Asked:
    kept = HANDED_ON.find(run) or NO_DAG_RUN
    return Asked(run=run, dag_id=kept.dag_id, run_id=kept.run_id)


def tasks_of(asked: Asked) -> Mapping[str, Task]:
    """The tasks of the run in Airflow: in the order in which they began, then the later tasks as they will run. None
    for a run that no DAG made."""
    if not asked.dag_id:
        return {}
    with create_session() as session:
        rows = session.scalars(
            select(TaskInstance).where(
                TaskInstance.dag_id == asked.dag_id, TaskInstance.run_id == asked.run_id, TaskInstance.map_index == -1
            )
        ).all()
        found = [
            Task(
                name=row.task_id,
                state=str(row.state or "none"),
                began=row.start_date,
                ended=row.end_date,
                tries=row.try_number,
                until=row.trigger_timeout,
            )
            for row in rows
        ]
    return {one.name: one for one in sorted(found, key=_begins)}


def started_of(asked: Asked) -> Started:
    """The DAG run of a run of the lake."""
    if not asked.dag_id:
        return Started()
    with create_session() as session:
        run = session.scalar(select(DagRun).where(DagRun.dag_id == asked.dag_id, DagRun.run_id == asked.run_id))
        if run is None:
            cleaned = session.scalar(select(Log.dttm).where(Log.event == CLEANED).order_by(Log.id.desc()).limit(1))
            by = (HANDED_ON.find(asked.run) or NO_DAG_RUN).found.get("requested_by", "")
            return Started(kind=str(by), cleaned_at=_iso(cleaned))
        goes_on = run.state in State.unfinished_dr_states
        person, conf = run.triggering_user_name or "", dict(run.conf or {})
        return Started(person=person, kind=str(run.run_type), goes_on=goes_on, conf=conf)


def has_failed(dag_id: str, run_id: str) -> bool:
    """Whether a DAG run is failed now: one that a person has cleared is at work again, or has ended otherwise."""
    with create_session() as session:
        state = session.scalar(select(DagRun.state).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    return state == DagRunState.FAILED


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def _begins(task: Task) -> tuple[bool, str, int, str]:
    place = ORDER.index(task.name) if task.name in ORDER else len(ORDER)
    return task.began is None, str(task.began), place, task.name
