"""Before anything is moved: is it the approved plan, is the snapshot still there, are the tickets issued."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mqops.act.core.issue import issue
from mqops.act.mover_port import MoverPort
from mqops.act.sources import check_source
from mqops.clock import utc_now
from mqops.decide.core import COLUMNS, plan_digest, row_digest
from mqops.decide.core.pacing import Handling, covered
from mqops.errors import LakeError, OutcomeUnknown, PlanChanged, SettingsError
from mqops.lake.files import missing_files, read_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.drain import check_signer, issued_lanes, note_issued
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import LedgerQueue
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be acted on.

    Attributes: `plan` its identity; `queues` it takes from; `document` plan.json as it stands; `handling` how the plan
    is carried out; `folder` of the run.
    """

    plan: PlanIdentity
    queues: tuple[str, ...]
    queue_manager: str
    document: Mapping[str, Any]
    handling: Handling
    folder: RunFolder


def read_order(run: RunFolder, approved: str = "") -> Order:
    """The order of a run's plan.

    Parameters: `approved` the digest that was approved, "" where no approval was needed.

    Raises:
        PlanChanged: the plan has another digest than the approved one.
        LakeError: plan or snapshot are not there, or no longer as they were written (DESIGN law 4).
    """
    document = read_json(run.plan_json)
    if approved and document["digest"] != approved:
        raise PlanChanged(f"The plan has digest {document['digest']}, approved was {approved}; let it be approved anew")
    missing = missing_files(run.snapshot, read_json(run.observe_json)["files"])
    if missing:
        raise LakeError(f"The snapshot of run {run.run} has lost {missing[0]}: nothing is moved without its copy")
    return Order(
        plan=PlanIdentity(run=document["run"], digest=document["digest"]),
        queues=tuple(document["queue"].split(",")),
        queue_manager=document["queue_manager"],
        document=document,
        handling=Handling.from_json(document.get("handling", {})),
        folder=run,
    )


def refuse_other_queue_manager(session: Session, order: Order) -> None:
    """Refuse a session with a queue manager that is not the one of the plan, before anything is looked at there.

    Raises:
        SettingsError: it is another one.
    """
    if (name := queue_manager_name(session)) != order.queue_manager:
        raise SettingsError(
            f"Run {order.plan.run} is one of {order.queue_manager}, this is {name}: connect to {order.queue_manager}"
        )


def check_rows(order: Order, digest: str) -> None:
    """Refuse a plan whose rows are not those that plan.json speaks of, and that were approved.

    Parameters: `digest` computed anew from the rows of RUN/plan.

    Raises:
        PlanChanged: rows were changed, added or removed since the plan was made; nothing was moved.
    """
    digest = covered(digest, order.handling.to_json())
    if digest != order.plan.digest:
        raise PlanChanged(
            f"The rows of the plan of run {order.plan.run} have digest {digest}, the plan was made with "
            f"{order.plan.digest}: its files were changed; make a new run for a new plan"
        )


def plan_rows(run: RunFolder, order: Order) -> Iterator[dict[str, Any]]:
    """The rows of RUN/plan, to be read to their end: behind the last one the digest is known (`check_rows`).

    Raises `PlanChanged`, `LakeError`.
    """
    digests: list[str] = []
    for batch in read_parquet(run.plan, COLUMNS):
        for row in batch.to_pylist():
            digests.append(row_digest(row))
            yield row
    check_rows(order, plan_digest(digests))


def reached_in_ledger(order: Order) -> dict[int, int]:
    """Lane → the position up to which the ledger has it. Raises `LedgerBroken`, `LakeError`."""
    return account(LedgerFile(order.folder.lake_folder, utc_now).markers(plan=order.plan)).done


def issue_once(
    connection: MqConnection,
    run: RunFolder,
    order: Order,
    lengths: Callable[[], Sequence[int]],
    about: Mapping[str, Any],
    *,
    needs: Sequence[str] | None = None,
) -> list[int]:
    """Issue the plan's tickets unless they are; the run's lock is held. Returns the rows of each lane.

    Parameters: `lengths` counts the rows of each lane, asked only when nothing was issued; `about` who and why; `needs`
    the queues that must be there to be taken from, the plan's unless they are given.

    Raises:
        SettingsError: the connection leads to another queue manager. Nothing was moved.
        MQError, LakeError: nothing was moved.
    """
    with connect(connection) as session:
        refuse_other_queue_manager(session, order)
    ledger = LedgerFile(run.lake_folder, utc_now)
    ledger.make_key()
    check_signer(run, order.plan, ledger)
    lanes = issued_lanes(run, order.plan)
    queues = order.queues if needs is None else needs
    if lanes is None:
        lanes = list(lengths())
        if not any(lanes):
            return lanes  # nothing to act on: nothing to issue, nothing for the ledger
        _issue(connection, order, queues, lanes, about)
        note_issued(run, order.plan, lanes, ledger.keys.newest().id)
    else:
        with connect(connection) as session:
            _check_sources(session, queues)
            MoverPort(session, queues, ledger.keys)  # a queue that is gone is better told here than by every task
    return lanes


def _check_sources(session: Session, queues: Sequence[str]) -> None:
    for queue in queues:
        check_source(session, queue)


def _issue(
    connection: MqConnection, order: Order, queues: Sequence[str], lanes: Sequence[int], about: Mapping[str, Any]
) -> None:
    seal = KeyRing(order.folder.lake_folder)
    for last_try in (False, True):
        try:
            with connect(connection) as session:
                _check_sources(session, queues)
                issue(MoverPort(session, queues, seal), order.plan, lanes, about=about, now=utc_now)
            return
        except OutcomeUnknown:
            if last_try:
                raise  # the next execution looks for the marker


def unfinished_lanes(session: Session, run: RunFolder, plan: PlanIdentity, lanes: Sequence[int]) -> list[int]:
    """The lanes whose last marker is neither on the ledger queue nor in the ledger. Raises `MQError`, `LakeError`."""
    file = LedgerFile(run.lake_folder, utc_now)
    recorded = file.units()
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
    """The open lanes whose ticket lies on the ledger queue where the lane stands: nobody is at work on them.

    Raises `MQError`, `LakeError`.
    """
    queue = LedgerQueue(session, KeyRing(run.lake_folder))
    try:
        return [lane for lane in sums.open_lanes if _is_idle(queue, run, plan, lane, sums.done.get(lane, 0))]
    finally:
        queue.close()


def _is_idle(queue: LedgerQueue, run: RunFolder, plan: PlanIdentity, lane: int, position: int) -> bool:
    """Whether a lane's ticket is there and no process holds the lane: the ticket may be a copy (rule 11)."""
    if not queue.has_ticket(plan, lane, position):
        return False
    with run.lane_lock(lane) as is_free:
        return is_free


def about_plan(order: Order, **more: Any) -> dict[str, Any]:
    """What the "issued" marker tells of a plan: table, queue, who."""
    names = ("workflow", "queue_manager", "queue", "table_digest", "rows", "requested_by", "approved_by")
    return {name: order.document[name] for name in names if name in order.document} | more
