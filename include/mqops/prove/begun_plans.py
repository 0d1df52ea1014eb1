"""The plans that were ever begun, by what their "issued" markers say: on the ledger queue and in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerKind
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import LedgerQueue
from mqops.mq.session import Session


def begun_plans(
    session: Session, ledger: LedgerFile, name: str, value: str, is_one: Callable[[Marker], bool]
) -> dict[PlanIdentity, Account]:
    """The plans whose "issued" marker is one that is asked for, with what all of their markers say.

    Parameters: `name` and `value` of what such a marker says of its run (`mqops.ledger.index_tables.ABOUT`).

    Raises `MQError`, `LedgerBroken`.
    """
    queue = LedgerQueue(session, ledger.keys)
    try:  # before the ledger: a marker that is drained meanwhile is seen twice, not missed
        waiting = list(queue.markers())
    finally:
        queue.close()
    found: dict[PlanIdentity, Account] = {}
    for marker in chain([one for one in waiting if one.kind == MarkerKind.ISSUED], ledger.issued_about(name, value)):
        mine = PlanIdentity(run=marker.run, digest=marker.plan)
        if mine not in found and is_one(marker):
            here = [one for one in waiting if (one.run, one.plan) == (mine.run, mine.digest)]
            found[mine] = account({one.unit: one for one in chain(here, ledger.markers(plan=mine))}.values())
    return found
