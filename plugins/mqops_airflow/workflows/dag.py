"""What all DAGs of mqops have alike: tags, retries, the macro of their tasks, no runs for times that are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow.sdk import DAG, DeadlineAlert, Param  # type: ignore[attr-defined]  # the stub lacks DeadlineAlert

from mqops.estate_sections import dag_prefix
from mqops_airflow.runs.run_folder import handed_on
from mqops_airflow.runs.workplace import schedule_of
from mqops_airflow.workflows.retry import default_args

if TYPE_CHECKING:
    from mqops_airflow.airflow_private.dag import ScheduleArg

Fields: TypeAlias = Mapping[str, Param]
"""Fields of a form by their names."""


def made(
    dag_id: str,
    *tags: str,
    description: str,
    page: str,
    form: Fields | None = None,
    schedule: ScheduleArg = None,
    at_once: int | None = None,
    deadlines: Sequence[DeadlineAlert] = (),
) -> DAG:
    """A DAG without tasks.

    :param tags: besides `mq`.
    :param page: what its page says, in Markdown.
    :param at_once: its runs at the same time, None for as many as Airflow's configuration says.
    """
    most: dict[str, Any] = {} if at_once is None else {"max_active_runs": at_once}
    return DAG(
        dag_id,
        description=description,
        doc_md=page,
        schedule=schedule,
        catchup=False,
        deadline=list(deadlines),
        tags=["mq", *tags],
        default_args=default_args(),
        user_defined_macros={"handed_on": handed_on},
        params=dict(form or {}),
        **most,
    )


def of_manager(
    name: str,
    workflow: str,
    schedule: str | timedelta | None,
    *,
    description: str,
    page: str,
    form: Fields,
    at_once: int = 1,
    deadlines: Sequence[DeadlineAlert] = (),
) -> DAG:
    """The DAG `<queue manager>_<workflow>`, without tasks; the other parameters are as of `made`.

    :param name: of the queue manager.
    :param schedule: what the estate says.
    """
    dag_id = f"{dag_prefix(name)}_{workflow}"
    return made(
        dag_id,
        workflow,
        name,
        description=description,
        page=page,
        form=form,
        schedule=schedule_of(dag_id, schedule),
        at_once=at_once,
        deadlines=deadlines,
    )
