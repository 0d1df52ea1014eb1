"""The lane tokens of a plan, looked for to see which lanes are open and which are idle (rule 2 of `mqops.act`)."""

from __future__ import annotations

from collections.abc import Sequence

from mqops.ledger.core.account import Account
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import LedgerQueue
from mqops.mq.session import Session


def unfinished_lanes(session: Session, ledger: OpenLedger, lanes: Sequence[int]) -> list[int]:
    """The lanes whose last marker is neither on the ledger queue nor in the ledger. Raises `MQError`, `LakeError`."""
    plan = ledger.plan
    recorded = ledger.file.recorded({plan.last_id(lane).hex() for lane in range(len(lanes))})
    queue = LedgerQueue(session, ledger.keys)
    try:
        return [
            lane
            for lane, rows in enumerate(lanes)
            if rows and plan.last_id(lane).hex() not in recorded and queue.marker(plan.last_id(lane)) is None
        ]
    finally:
        queue.close()


def waiting_lanes(session: Session, ledger: OpenLedger, sums: Account) -> list[int]:
    """The open lanes that no process works on: their lane token is on the ledger queue at the lane's position.

    Raises `MQError`, `LakeError`.
    """
    queue = LedgerQueue(session, ledger.keys)
    try:
        return [lane for lane in sums.open_lanes if _is_idle(queue, ledger, lane, sums.done.get(lane, 0))]
    finally:
        queue.close()


def _is_idle(queue: LedgerQueue, ledger: OpenLedger, lane: int, position: int) -> bool:
    """Whether a lane's token is there and no process holds the lane: the lane token may be a copy (rule 11)."""
    assert ledger.run is not None, "a step that acts or proves has its run"
    if not queue.has_lane_token(ledger.plan, lane, position):
        return False
    with ledger.run.lane_lock(lane) as is_free:
        return is_free
