"""Who goes on with what was begun: a line of the ledger, before anything more is moved."""

from __future__ import annotations

from mqops.act.tickets import Order
from mqops.clock import utc_now
from mqops.ledger.core.account import account
from mqops.ledger.core.marker import Marker
from mqops.ledger.drain import drain
from mqops.ledger.file import LedgerFile
from mqops.mq.connection import MqConnection, connect


def note_finisher(connection: MqConnection, order: Order, who: str) -> None:
    """Write down who goes on with a plan, unless the ledger says so or nothing of it is left to do; the run's lock is
    held.

    What was done before is drained first: the lines behind this one are what is done for `who`.

    Parameters: `who` blank for those who asked for the run and approved it, as in another try of its task.

    Raises:
        MqopsError: call again; nothing was moved.
    """
    ledger = LedgerFile(order.folder.lake_folder, utc_now)
    noted = [marker.about["finished_by"] for marker in ledger.markers(plan=order.plan, kind="resumed")]
    if who == (noted[-1] if noted else ""):
        return
    with connect(connection) as session:
        drain(session, ledger, order.folder, order.plan)
    if not account(ledger.markers(plan=order.plan)).open_lanes:
        return
    at = utc_now()
    line = Marker(
        unit=order.plan.resumed_id(at).hex(),
        run=order.plan.run,
        plan=order.plan.digest,
        kind="resumed",
        at=at,
        about={"finished_by": who},
    )
    with ledger.writer() as writer:
        writer.add([line])
