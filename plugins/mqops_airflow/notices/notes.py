"""The note of a DAG run says how the run ended: Airflow shows it in the list of runs and on the run's page.

Airflow gives a task no way to write the note of its run. A listener can: Airflow calls it in the process that ends the
run, mostly the scheduler, with the run as it is in the database. The words are those that a task of the run has pushed
as XCom (`notices.outcome_text`); where none has, the errors of the tasks that failed. Airflow calls another
listener in the process of such a task, before it is told that the task has failed, and this one keeps the error as
XCom. Of a run that a person marks, no task may have words: where its question was open, the note says what ended it
(`mqops_airflow.approval.marked`). A note that a person has written stays.

Airflow shows the note as Markdown: text of others is code in it, and no file is named by its absolute path.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow.listeners import hookimpl
from sqlalchemy.orm import object_session

from mqops.errors import MqopsError
from mqops_airflow.notices.outcome_text import AGAIN, KEY
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md, shortened, without_paths, words

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from mqops_airflow.airflow_private.database import DagRun

LONGEST = 1000
"""Characters, which is what Airflow's column takes."""
TAG = "mq"
BY_HAND = "manually set"
"""What Airflow says of a run that a person marks."""
ERROR = "mqops_error"
"""XCom of the error with which a task failed."""


@hookimpl
def on_task_instance_failed(previous_state: object, task_instance: Any, error: object) -> None:
    """Airflow calls it when a try of a task fails. Only errors of ours are kept: they have no secret, and their first
    line says what to do. What a library says is in the task's log."""
    if isinstance(error, MqopsError):
        first, *more = str(error).split("\n")
        task_instance.xcom_push(key=ERROR, value=f"{first} (the task's log has more)" if more else first)


@hookimpl
def on_dag_run_success(dag_run: DagRun, msg: str) -> None:
    """Airflow calls it when a run ends well."""
    write(dag_run, msg)


@hookimpl
def on_dag_run_failed(dag_run: DagRun, msg: str) -> None:
    """Airflow calls it when a run fails."""
    write(dag_run, msg)


def write(dag_run: DagRun, msg: str = "") -> None:
    """Write the run's note, where it is a run of ours and no person has written one.

    The run of a DAG without our tag is not looked at any further: other people's runs cost no query. `airflow dags
    test` hands over a run that is in no session: its note cannot be written.

    Parameters: `msg` what Airflow says of the end.
    """
    dag = dag_run.dag
    if (dag is not None and TAG not in dag.tags) or object_session(dag_run) is None:
        return
    there = dag_run.dag_run_note
    if there is not None and there.user_id is not None:
        return
    text = (_unanswered(dag_run) if BY_HAND in msg else NOTHING) or _outcome(dag_run) or _failed(dag_run)
    if text:
        dag_run.note = str(shortened(without_paths(_with_queue_manager(dag_run, text)), LONGEST))


def _with_queue_manager(dag_run: DagRun, text: Markdown) -> Markdown:
    """The words with the queue manager that the form has chosen in front, where they do not name it."""
    name = str((dag_run.conf or {}).get("queue_manager") or "")
    named = not name or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(text))
    return text if named else md("{}: {}", words(name), text)


def _unanswered(dag_run: DagRun) -> Markdown:
    """What ended the question of a run that nobody has answered; nothing where it had none, or an answer."""
    from mqops_airflow.approval.answer import read_question  # noqa: PLC0415
    from mqops_airflow.runs.run_folder import run_of  # noqa: PLC0415
    from mqops_airflow.runs.workplace import estate_file  # noqa: PLC0415

    with suppress(MqopsError):  # a process that does not see the lake
        run = run_of(estate_file(), dag_run.dag_id, dag_run.run_id)
        asked = read_question(str(run.path)) if run else None
        if run and asked and asked.over and not asked.answer:
            done = NOTHING if run.issued_json.exists() else md("Nothing was moved: ")
            return md("{}{}. {}", done, Markdown(asked.over.meaning), AGAIN)
    return NOTHING


def _outcome(dag_run: DagRun) -> Markdown:
    """The newest words of the run's tasks (`mqops_airflow.notices.outcome_text`), which `keep_for_note` has kept."""
    return next((Markdown(words) for _task, words in _kept(dag_run, KEY)), NOTHING)


def _failed(dag_run: DagRun) -> Markdown:
    """Which tasks of a workflow failed before any task had words for the note, and why, a line a task."""
    from sqlalchemy import select  # noqa: PLC0415

    from mqops_airflow.airflow_private.database import TaskInstance  # noqa: PLC0415

    if dag_run.dag is None:
        return NOTHING
    asked = select(TaskInstance.task_id).where(
        TaskInstance.dag_id == dag_run.dag_id, TaskInstance.run_id == dag_run.run_id, TaskInstance.state == "failed"
    )
    errors = dict(_kept(dag_run, ERROR))
    return joined(
        "\n",
        (
            md("The task {} failed: {}", words(task), errors.get(task, md("its log says why, and what to do.")))
            for task in sorted(_session(dag_run).scalars(asked))
        ),
    )


def _kept(dag_run: DagRun, key: str) -> list[tuple[str, str]]:
    """Task and text of the run's XComs with this key, the newest first."""
    from sqlalchemy import select  # noqa: PLC0415

    from mqops_airflow.airflow_private.database import XComModel  # noqa: PLC0415 - where Airflow has its database

    asked = (
        select(XComModel)
        .where(XComModel.dag_id == dag_run.dag_id, XComModel.run_id == dag_run.run_id, XComModel.key == key)
        .order_by(XComModel.timestamp.desc())
    )
    return [(one.task_id, str(XComModel.deserialize_value(one))) for one in _session(dag_run).scalars(asked)]


def _session(dag_run: DagRun) -> Session:
    """The session that the run is in. No other one is opened: Airflow would close this one with it."""
    session = object_session(dag_run)
    assert session is not None
    return session
