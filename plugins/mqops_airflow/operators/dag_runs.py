"""Starts a run of another DAG, as Airflow's TriggerDagRunOperator does, but many in one task and with an answer.

The operator starts one run for each task instance, and a task instance costs seconds. Airflow has no public call for a
task to start a run, so this sends the message that the operator's task sends (`airflow.sdk.execution_time`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.trigger.core.trigger_message import Start

NOT_FOUND = 404
REFUSED = 400
"""HTTP codes of Airflow's own API: no such DAG; a DAG that has import errors, or does not take this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Airflow says. Parameters: `again` the run was there already; `refused` why there is no run, in words."""

    again: bool = False
    refused: str = ""


def start_run(context: Context, start: Start) -> Answer:
    """Start a run. No run starts of a DAG that is paused: it would wait, and nobody would know.

    Raises:
        NotStarted: Airflow's API does not answer, or with an error of its own; repeat it, nothing is started twice.
    """
    from mqops_airflow.airflow_private.task import ErrorResponse, TriggerDagRun, task_runner  # noqa: PLC0415

    task_instance: Any = context["ti"]
    try:
        if task_instance.get_dag(start.dag_id).is_paused:
            return Answer(refused=f"the DAG {start.dag_id} is paused")
        wanted = TriggerDagRun(dag_id=start.dag_id, run_id=start.run_id, conf=start.conf)
        said = task_runner.SUPERVISOR_COMMS.send(wanted)
    except AirflowRuntimeError as error:
        return Answer(refused=_why_not(start.dag_id, error))
    if isinstance(said, ErrorResponse) and said.error != ErrorType.DAGRUN_ALREADY_EXISTS:
        return Answer(refused=_why_not(start.dag_id, AirflowRuntimeError(said)))
    return Answer(again=isinstance(said, ErrorResponse))


def queued(context: Context, dag_id: str, run_ids: Sequence[str]) -> int:
    """How many of these runs of a DAG are queued. Raises `NotStarted` as `start_run`."""
    task_instance: Any = context["ti"]
    try:
        return int(task_instance.get_dr_count(dag_id, run_ids=list(run_ids), states=["queued"]))
    except AirflowRuntimeError as error:
        from mqops.trigger.work import NotStarted  # noqa: PLC0415

        raise NotStarted(f"Airflow does not say how many runs of the DAG {dag_id} are queued: {error}") from error


def _why_not(dag_id: str, error: AirflowRuntimeError) -> str:
    """In words, why Airflow refuses the DAG; raises NotStarted if it is not a refusal."""
    detail = error.error.detail or {}
    if detail.get("status_code") == NOT_FOUND:
        return f"there is no DAG {dag_id}"
    if detail.get("status_code") == REFUSED:
        return f"Airflow refuses a run of the DAG {dag_id}: {_message(detail)}"
    from mqops.trigger.work import NotStarted  # noqa: PLC0415

    code = f"HTTP {detail['status_code']}" if "status_code" in detail else error.error.error.value
    raise NotStarted(f"Airflow could not start a run of the DAG {dag_id} now ({code}): {_message(detail)}") from error


def _message(detail: Any) -> str:
    """What Airflow's API said."""
    while isinstance(detail, dict):
        detail = detail.get("detail") or detail.get("message")
    return str(detail)
