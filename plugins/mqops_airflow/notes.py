"""The note of a DAG run says how the run ended: Airflow shows it in the list of runs and on the run's page.

Airflow gives a task no way to write the note of its run. A listener can: Airflow calls it in the process that ends the
run, mostly the scheduler, with the run as it is in the database. The words are those that a task of the run has pushed
as XCom (`mqops_airflow.outcome_text`). A note that a person has written stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.listeners import hookimpl

from mqops.printable import printable
from mqops_airflow.outcome_text import KEY

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from sqlalchemy.orm import Session

LONGEST = 1000
"""Characters, which is what Airflow's column takes."""
TAG = "mq"


@hookimpl
def on_dag_run_success(dag_run: DagRun, msg: str) -> None:
    """Airflow calls it when a run ends well."""
    write(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: DagRun, msg: str) -> None:
    """Airflow calls it when a run fails."""
    write(dag_run)


def write(dag_run: DagRun) -> None:
    """Write the run's note, where it is a run of ours and no person has written one."""
    there = dag_run.dag_run_note
    if there is not None and there.user_id is not None:
        return
    text = _outcome(dag_run) or _failed(dag_run)
    if text:
        dag_run.note = "\n".join(map(printable, text.split("\n")))[:LONGEST]  # a table has lines


def _outcome(dag_run: DagRun) -> str:
    """The newest words of the run's tasks (`mqops_airflow.outcome_text`)."""
    from airflow.models.xcom import XComModel  # noqa: PLC0415 - where Airflow has its database
    from sqlalchemy import select  # noqa: PLC0415

    asked = (
        select(XComModel)
        .where(XComModel.dag_id == dag_run.dag_id, XComModel.run_id == dag_run.run_id, XComModel.key == KEY)
        .order_by(XComModel.timestamp.desc())
        .limit(1)
    )
    found = _session(dag_run).scalar(asked)
    return str(XComModel.deserialize_value(found)) if found is not None else ""


def _failed(dag_run: DagRun) -> str:
    """Which task of a workflow failed before any task had words for the note."""
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from sqlalchemy import select  # noqa: PLC0415

    dag = dag_run.dag
    if dag is None or TAG not in dag.tags:
        return ""
    asked = select(TaskInstance.task_id).where(
        TaskInstance.dag_id == dag_run.dag_id, TaskInstance.run_id == dag_run.run_id, TaskInstance.state == "failed"
    )
    failed = sorted(_session(dag_run).scalars(asked))
    return f"The task {', '.join(failed)} failed: its log says why, and what to do." if failed else ""


def _session(dag_run: DagRun) -> Session:
    """The session that the run is in. No other one is opened: Airflow would close this one with it."""
    from sqlalchemy.orm import object_session  # noqa: PLC0415

    session = object_session(dag_run)
    assert session is not None
    return session
