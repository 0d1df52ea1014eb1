"""Stopping a run, going on with it, and finishing one that was begun (`mqops stop`, `mqops resume`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.act.in_process import act
from mqops.act.tickets import read_order
from mqops.decide.core import PlanSummary
from mqops.errors import SettingsError, Stopped
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.drain import issued_lanes
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection
from mqops.prove import undo_record as undos
from mqops.prove.prove import prove


def find_run(lake: Path, key: str, queue_manager: str = "") -> RunFolder:
    """The folder of a run, by its key.

    Parameters: `queue_manager` blank to look at those of all.

    Raises:
        SettingsError: the lake has no such run, or several queue managers have one.
    """
    of_one = RunFolder.at(lake, queue_manager, key) if queue_manager else None
    name = RunFolder.at(lake, "any", key).run
    folders = [of_one.path] if of_one else sorted(lake.glob("*/runs/*"))
    found = [RunFolder(path) for path in folders if path.name == name and path.is_dir()]
    if len(found) != 1:
        several = f"runs {key} of {', '.join(run.queue_manager for run in found)}: name the queue manager"
        raise SettingsError(f"{lake} has {several if found else f'no run {key}'}")
    return found[0]


def acted_and_proved(
    connection: MqConnection,
    run: RunFolder,
    *,
    unit_size: int = DEFAULT_UNIT_SIZE,
    approved: str = "",
    about: Mapping[str, Any] | None = None,
) -> RunSummary:
    """Act on a plan and prove what came of it, also where somebody stopped it.

    Raises:
        Stopped: it was stopped; what was done until then is proved in summary.json.
        MqopsError: as `act` and `prove`.
    """
    try:
        act(connection, run, unit_size=unit_size, approved=approved, about=about)
    except Stopped:
        prove(connection, run)
        raise
    return prove(connection, run)


def finish(
    connection: MqConnection, run: RunFolder, *, unit_size: int = DEFAULT_UNIT_SIZE, who: str = ""
) -> RunSummary:
    """Go on with a run that was begun and not ended. It was approved when it began.

    Parameters: `who` finishes it, for the ledger.

    Raises:
        SettingsError: nothing of it was begun, so nobody may have approved it; or it is an undo.
        MqopsError: as `acted_and_proved`.
    """
    plan = PlanSummary.from_json(read_json(run.plan_json))
    if undos.kept(run) is not None:
        raise SettingsError(f"Run {run.run} is an undo: `mqops undo` of the run that it undoes finishes it")
    order = read_order(run)
    if issued_lanes(run, order.plan) is None:
        raise SettingsError(f"Nothing of run {run.run} was begun: start a new run")
    return acted_and_proved(connection, run, unit_size=unit_size, approved=plan.digest, about={"finished_by": who})
