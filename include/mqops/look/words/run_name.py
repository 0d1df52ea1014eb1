"""The name of a run, by what it is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqops.iso_time import moment
from mqops.look.core.run_state import RunLine
from mqops.workflow import Workflow

KINDS: Mapping[str, str] = {
    Workflow.DLQ_RULES: "dead letters",
    Workflow.BACKOUT_REPROCESS: "backed-out messages",
    Workflow.POISON_GUARD: "messages that loop",
    Workflow.AGE_OUT: "old messages",
    Workflow.UNDO: "undo",
    Workflow.RECOVER: "chosen messages",
    Workflow.MESSAGE_LOAD: "messages of a file",
    Workflow.EXPIRY_SCAN: "expired messages",
    Workflow.SNAPSHOT_QUALITY: "quality checks",
    Workflow.SNAPSHOT: "snapshot",
}
"""Workflow → what its runs are about. A decider of another package is named by its own name."""
ASKERS: Mapping[str, str] = {
    "scheduled": "its schedule",
    "manual": "a person whom Airflow does not name",
    "backfill": "a backfill",
    "asset_triggered": "the event of an asset",
    "operator_triggered": "a task of another DAG",
}
"""Kind of a DAG run, which stands for a person where none started it (Airflow's `DagRunType`) → who or what asked."""


def kinds(workflows: Iterable[str]) -> dict[str, str]:
    """Workflow → what its runs are about: those of `KINDS`, and these, "" for none."""
    return {name: KINDS.get(name, name) for name in (*KINDS, *filter(None, workflows))}


def name_of(run: RunLine, today: str = "", asked: str = "", *, seconds: bool = False) -> str:
    """A run by what it is: "dead letters of QM1, 21:16, real, by operator". Times are UTC.

    Parameters: `today` ISO 8601, "" to say the day of each run; `asked` the words for who asked for it, "" for what its
    line says; `seconds` whether the time has them, where a list without keys has to tell runs of one minute apart.
    """
    at = moment(run.at)
    day = "" if run.at[:10] == today[:10] else "%Y-%m-%d "
    when = at.strftime(f"{day}%H:%M{':%S' if seconds else ''}") if at else ""
    how = "real" if run.real else "dry run" if run.planned or run.state.value == "planned" else ""
    by = asked or ASKERS.get(run.requested_by, run.requested_by)
    what = KINDS.get(run.workflow, run.workflow or "run")
    return ", ".join(part for part in (f"{what} of {run.queue_manager}", when, how, f"by {by}" if by else "") if part)
