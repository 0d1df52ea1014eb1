"""Carrying out a plan that was rehearsed: the recorded run is acted on as it stands, no new plan is made.

A plan's digest covers its rows and its handling, and nothing of the time it was made. The messages are those of the
rehearsal's snapshot: what came later is left, what is gone by now is counted (DESIGN laws 2 and 3).
"""

from __future__ import annotations

from pathlib import Path

from mqops.decide.core import PlanSummary
from mqops.decide.preflight import preflight
from mqops.deciders.stop import acted_and_proved
from mqops.errors import PlanChanged, SettingsError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name
from mqops.prove.outcomes import look_back


def rehearsed(connection: MqConnection, lake: Path, run: str, digest: str) -> tuple[RunFolder, PlanSummary]:
    """The folder and the plan of a rehearsal that has this digest, its destinations looked at anew.

    Raises:
        SettingsError: the lake has no such run of the queue manager, or it is no rehearsal.
        PlanChanged: its plan has another digest.
        MqopsError: the queue manager or the lake failed. Nothing was moved.
    """
    with connect(connection) as session:
        name = queue_manager_name(session)
    folder = RunFolder.planned(lake, name, run)
    plan = PlanSummary.from_json(read_json(folder.plan_json))
    if not plan.requested_by:
        raise SettingsError(f"Run {run} is no rehearsal: make one with --dry-run")
    if plan.digest != digest:
        told = ", ".join(f"{count} {action}" for action, count in plan.actions.items())
        raise PlanChanged(
            f"Run {run} has another plan: digest {plan.digest}, {plan.rows} messages ({told}). Look at it, and approve "
            "that digest, or rehearse anew with --dry-run"
        )
    preflight(connection, folder)
    return folder, plan


def carry_out(
    connection: MqConnection, run: RunFolder, plan: PlanSummary, *, unit_size: int, approved_by: str
) -> RunSummary:
    """Act on it, prove what came of it, and look what became of the messages of earlier runs.

    Raises:
        PlanChanged: the plan's files are not those that the digest was made of.
        MqopsError: what was committed is in the ledger or on the ledger queue; nothing is lost.
    """
    about = {"requested_by": plan.requested_by, "approved_by": approved_by}
    summary = acted_and_proved(connection, run, unit_size=unit_size, approved=plan.digest, about=about)
    look_back(connection, run)
    return summary
