"""A person who marks a run, or its task `approve`, ends its question: RUN/approval.json says so.

No task of the run need run then. Airflow calls listeners in the process of its API server, and gives no state before:
this tells what a person has marked from what a task has come to.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.listeners import hookimpl

from mqops.errors import MqopsError
from mqops.look.core.question import Over
from mqops.printable import printable

APPROVE = "approve"
log = logging.getLogger(__name__)


@hookimpl
def on_task_instance_failed(previous_state: object, task_instance: Any, error: object) -> None:
    """Airflow calls it when a task has failed."""
    _ended(previous_state, task_instance, Over.MARKED_FAILED)


@hookimpl
def on_task_instance_success(previous_state: object, task_instance: Any) -> None:
    """Airflow calls it when a task has ended well."""
    _ended(previous_state, task_instance, Over.MARKED_SUCCESS)


@hookimpl
def on_task_instance_skipped(previous_state: object, task_instance: Any) -> None:
    """Airflow calls it when a task was skipped."""
    _ended(previous_state, task_instance, Over.MARKED_SKIPPED)


def _ended(previous_state: object, task_instance: Any, over: Over) -> None:
    """An error here would be one of the person's call. The pages ask Airflow, too, so they do not need the note."""
    if previous_state is not None or task_instance.task_id != APPROVE:
        return
    from mqops_airflow.approval.answer import end_question  # noqa: PLC0415 - the plugin is loaded by each process of Airflow
    from mqops_airflow.runs.run_folder import run_of  # noqa: PLC0415
    from mqops_airflow.runs.workplace import estate_file  # noqa: PLC0415

    try:
        run = run_of(estate_file(), task_instance.dag_id, task_instance.run_id)
        if run is not None:
            end_question(str(run.path), over)
    except (MqopsError, OSError) as error:
        log.warning(
            "The end of the question of run %s is not noted: %s", printable(task_instance.run_id), printable(error)
        )
