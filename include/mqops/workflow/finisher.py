"""Who finishes what somebody else began: a line of the ledger, before anything more is moved."""

from __future__ import annotations

from mqops.ledger.account import account
from mqops.ledger.marker import Marker
from mqops.mq.connection import MqConnection, connect
from mqops.store.ledger import LedgerFile
from mqops.workflow.clock import utc_now
from mqops.workflow.prove import drain
from mqops.workflow.tickets import Order


def note_finisher(connection: MqConnection, order: Order, who: str) -> None:
    """Write down who goes on with a plan, unless nobody is named or nothing of it is left to do.

    What was done before is drained first: the lines behind this one are what is done for `who`.

    Raises:
        InProgress: somebody acts on the run.
        MqopsError: call again; nothing was moved.
    """
    if not who:
        return
    run = order.folder
    ledger = LedgerFile(run.lake_folder, utc_now)
    with run.lock(), connect(connection) as session:
        drain(session, ledger, run, order.plan)
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
