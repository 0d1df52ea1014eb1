"""What Airflow's metrics (StatsD, OpenTelemetry) are told of runs, where they are on: counts, no name of a queue.

The counters of messages are of what this proof has found more than the one before: a run that is cleared and proved
again counts nothing twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.model import RunSummary

MESSAGES = ("moved", "discarded", "left", "gone")
"""Counters of messages: `mqops.messages_moved` and so on."""
PROVED, FAILED = "mqops.runs_proved", "mqops.runs_failed"


def count_messages(context: Context, before: RunSummary | None, summary: RunSummary) -> None:
    """Count what became of the messages of a run.

    :param before: what the proof before this one has found, None for the first.
    """
    for name in MESSAGES:
        more = getattr(summary, name) - (getattr(before, name) if before else 0)
        if more > 0:
            _count(context, f"mqops.messages_{name}", more)


def count_run(context: Context, *, proved: bool) -> None:
    """Count a run: proved, or failed."""
    _count(context, PROVED if proved else FAILED, 1)


def _count(context: Context, name: str, number: int) -> None:
    from mqops_airflow.airflow_private.task import stats  # noqa: PLC0415 - for running tasks only

    stats.incr(name, number, tags={"dag_id": context["dag_run"].dag_id})
