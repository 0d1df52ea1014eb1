"""The lane tokens of a plan: issued once, then looked for to see which lanes are open and which are idle.

A lane token is the message of kind "ticket" on the ledger queue (rule 2 of `mqops.act`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqops.act.approved_plan import ApprovedPlan, refuse_other_queue_manager
from mqops.act.core.issue_tokens import issue_tokens
from mqops.act.mover_port import MoverPort
from mqops.act.sources import check_source
from mqops.clock import utc_now
from mqops.errors import MQError, OutcomeUnknown
from mqops.lake.run import RunFolder
from mqops.ledger.before_act import refuse_broken
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import About
from mqops.ledger.drain import check_signer, issued_lanes, note_issued
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import LedgerQueue
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import Session, has_ended


def reached_in_ledger(approved_plan: ApprovedPlan) -> dict[int, int]:
    """Lane → the position up to which the ledger has it. Raises `LedgerBroken`, `LakeError`."""
    return account(LedgerFile(approved_plan.folder.lake_folder).markers(plan=approved_plan.identity)).done


def issue_tokens_once(
    connection: MqConnection,
    run: RunFolder,
    approved_plan: ApprovedPlan,
    lengths: Callable[[], Sequence[int]],
    about: About,
    *,
    needs: Sequence[str] | None = None,
) -> list[int]:
    """Issue the plan's lane tokens, if that was not done before; the run's lock is held. Returns the rows of each lane.

    Parameters: `lengths` counts the rows of each lane, asked only when nothing was issued; `about` who and why; `needs`
    the queues that must be there to be taken from, the plan's unless they are given.

    Raises:
        SettingsError: the connection leads to another queue manager. Nothing was moved.
        LedgerBroken: the ledger was changed or damaged. Nothing was moved.
        MQError, LakeError: nothing was moved.
    """
    ledger = LedgerFile(run.lake_folder)
    with connect(connection) as session:
        refuse_other_queue_manager(session, approved_plan)
        ledger.make_key()
        refuse_broken(session, ledger)
    check_signer(run, approved_plan.identity, ledger)
    lanes = issued_lanes(run, approved_plan.identity)
    queues = approved_plan.queues if needs is None else needs
    if lanes is None:
        lanes = list(lengths())
        if not any(lanes):
            return lanes  # nothing to act on: nothing to issue, nothing for the ledger
        _issue(connection, approved_plan, queues, lanes, about)
        note_issued(run, approved_plan.identity, lanes, ledger.keys.newest().id)
    else:
        with connect(connection) as session:
            _check_sources(session, queues)
            MoverPort(
                session, queues, ledger.keys
            )  # here a missing queue is one error, later each task would fail with it
    return lanes


def _check_sources(session: Session, queues: Sequence[str]) -> None:
    for queue in queues:
        try:
            check_source(session, queue)
        except MQError as error:
            if not has_ended(error, queues):
                raise


def _issue(
    connection: MqConnection, approved_plan: ApprovedPlan, queues: Sequence[str], lanes: Sequence[int], about: About
) -> None:
    seal = KeyRing(approved_plan.folder.lake_folder)
    for last_try in (False, True):
        try:
            with connect(connection) as session:
                _check_sources(session, queues)
                issue_tokens(MoverPort(session, queues, seal), approved_plan.identity, lanes, about=about, now=utc_now)
            return
        except OutcomeUnknown:
            if last_try:
                raise  # the next execution looks for the marker


def unfinished_lanes(session: Session, run: RunFolder, plan: PlanIdentity, lanes: Sequence[int]) -> list[int]:
    """The lanes whose last marker is neither on the ledger queue nor in the ledger. Raises `MQError`, `LakeError`."""
    file = LedgerFile(run.lake_folder)
    recorded = file.recorded({plan.last_id(lane).hex() for lane in range(len(lanes))})
    queue = LedgerQueue(session, file.keys)
    try:
        return [
            lane
            for lane, rows in enumerate(lanes)
            if rows and plan.last_id(lane).hex() not in recorded and queue.marker(plan.last_id(lane)) is None
        ]
    finally:
        queue.close()


def waiting_lanes(session: Session, run: RunFolder, plan: PlanIdentity, sums: Account) -> list[int]:
    """The open lanes that no process works on: their lane token is on the ledger queue at the lane's position.

    Raises `MQError`, `LakeError`.
    """
    queue = LedgerQueue(session, KeyRing(run.lake_folder))
    try:
        return [lane for lane in sums.open_lanes if _is_idle(queue, run, plan, lane, sums.done.get(lane, 0))]
    finally:
        queue.close()


def _is_idle(queue: LedgerQueue, run: RunFolder, plan: PlanIdentity, lane: int, position: int) -> bool:
    """Whether a lane's token is there and no process holds the lane: the lane token may be a copy (rule 11)."""
    if not queue.has_lane_token(plan, lane, position):
        return False
    with run.lane_lock(lane) as is_free:
        return is_free
