"""Who started a run of Airflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Context


def requester(context: Context) -> str:
    """Who started the run: a person's name, else the kind of run."""
    run = context["dag_run"]
    return str(run.triggering_user_name or run.run_type.value)
