"""The ledger line that says who goes on with an interrupted run; it is written before anything more is moved."""

from __future__ import annotations

from mqops.act.approved_plan import ApprovedPlan
from mqops.clock import utc_now
from mqops.ledger.core.account import account
from mqops.ledger.core.marker import Marker
from mqops.ledger.drain import drain
from mqops.ledger.file import LedgerFile
from mqops.mq.connection import MqConnection, connect


def record_resume(connection: MqConnection, approved_plan: ApprovedPlan, who: str) -> None:
    """Record who goes on with a plan, unless the ledger says so already or the plan is finished; the run's lock is
    held.

    The markers of earlier work are drained first. So the lines after this one are the work that `who` started.

    Parameters: `who` user@host; blank for the persons who asked for the run and approved it, as in a retry of its task.

    Raises:
        MqopsError: call again; nothing was moved.
    """
    ledger = LedgerFile(approved_plan.folder.lake_folder)
    noted = [marker.about["finished_by"] for marker in ledger.markers(plan=approved_plan.identity, kind="resumed")]
    if who == (noted[-1] if noted else ""):
        return
    with connect(connection) as session:
        drain(session, ledger, approved_plan.folder, approved_plan.identity)
    if not account(ledger.markers(plan=approved_plan.identity)).open_lanes:
        return
    at = utc_now()
    line = Marker(
        unit=approved_plan.identity.resumed_id(at).hex(),
        run=approved_plan.identity.run,
        plan=approved_plan.identity.digest,
        kind="resumed",
        at=at,
        about={"finished_by": who},
    )
    with ledger.writer() as writer:
        writer.add([line])
