"""Prove: drain the markers into the ledger, look at the queues, balance (DESIGN law 5)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mqops.act.canary import fates_of, unseen_by
from mqops.act.core.scope import SOURCE
from mqops.act.destinations import PICTURES
from mqops.act.mover_port import key_of
from mqops.act.tickets import Order, read_order, refuse_other_queue_manager, waiting_lanes
from mqops.clock import utc_now
from mqops.errors import LOST_CONNECTION, InProgress, MQError, Unbalanced
from mqops.lake.files import write_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.chain import Head
from mqops.ledger.core.identity import Place
from mqops.ledger.drain import drain
from mqops.ledger.file import LedgerFile
from mqops.ledger.set_aside import remark
from mqops.model import RunSummary
from mqops.mq.browse import browse
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import depth, has_uncommitted
from mqops.mq.session import Session
from mqops.observe import anatomy
from mqops.observe.core.anatomy import brief
from mqops.prove import undo_record as undo
from mqops.prove.core.balance import PlannedRow, balance
from mqwire.names import reason_name

LOOKS, LOOK_AGAIN = 5, 0.2
"""How often it is asked whether units of work still hide what seems gone, and the seconds between."""
MOST_TOLD = 10
"""Problems that the error of an unbalanced run names."""
_ROW_COLUMNS = ["row", "queue", "msg_key", "action", "rule_line", "rule_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """What `reopened` gives: the run's order, its ledger, the session, and what its markers come to."""

    order: Order
    ledger: LedgerFile
    session: Session
    sums: Account


def prove(connection: MqConnection, run: RunFolder, *, now: Callable[[], str] = utc_now) -> RunSummary:
    """Prove what became of a run's plan; writes summary.json. May be repeated at any time.

    `mqops.prove.core.balance` says what explains that a message is not on its queue. A unit of work of somebody else
    can hide a message: what seems gone is looked for again when nothing is hidden. If units of work go on hiding
    messages, a remark says so. The proof of an undo
    passes over a queue that nobody can look at, with a remark (rule 11 of `mqops.undo`).

    Raises:
        SettingsError: the connection leads to another queue manager.
        Unbalanced: the ledger, the plan and the queue contradict each other; summary.json says how.
        InProgress: a process still acts on the plan (or died with units of work that the queue manager has not backed
            out yet), so what is on the queue is no proof.
        MqopsError: the queue manager or the lake failed; nothing is lost, call again.
    """
    order = read_order(run)
    ledger = LedgerFile(run.lake_folder, now)
    with run.lock(), connect(connection) as session:
        refuse_other_queue_manager(session, order)

        def balanced() -> RunSummary:
            sums, on_queue, unseen = _still_picture(session, ledger, run, order)
            empty = _empty(order, ledger.head(), now())
            told = replace(empty, remarks=(*empty.remarks, *unseen.values()))
            return balance(told, lambda: _planned(run), sums, on_queue, reason_names=_names(sums), unseen=set(unseen))

        summary = balanced()
        if summary.gone or summary.unexplained:
            summary = _looked_again(session, summary, balanced)
    write_json(run.summary_json, summary.to_json())
    if not summary.balanced:
        raise _unbalanced(order, summary.problems)
    return summary


def _unbalanced(order: Order, problems: Sequence[str]) -> Unbalanced:
    """The error with the first problems: a ledger that is wrong can have one for each row."""
    more = f"; and {len(problems) - MOST_TOLD} more" if len(problems) > MOST_TOLD else ""
    return Unbalanced(f"Run {order.plan.run} does not balance: {'; '.join(problems[:MOST_TOLD])}{more}")


def _still_picture(
    session: Session, ledger: LedgerFile, run: RunFolder, order: Order
) -> tuple[Account, Counter[Place], dict[str, str]]:
    """The ledger's account and what `_on_queues` sees, of a time when nobody acted on the plan."""
    drain(session, ledger, run, order.plan)
    for _ in range(PICTURES):
        sums = account(ledger.markers(plan=order.plan))
        _nobody_at_work(session, order, sums)
        on_queue, unseen = _on_queues(session, order)
        if not drain(session, ledger, run, order.plan):
            _nobody_at_work(session, order, sums)
            return sums, on_queue, unseen
    raise InProgress(f"Run {order.plan.run} is being acted on by another process; wait for it to end and prove again")


def settled(session: Session, ledger: LedgerFile, run: RunFolder, order: Order) -> Account:
    """What a plan's markers say, all of them drained, at a time when nobody acts on it; the run's lock is held.

    Raises:
        InProgress: somebody does, or died with a unit of work that the queue manager has not backed out yet.
        MqopsError: as `drain`.
    """
    drain(session, ledger, run, order.plan)
    sums = account(ledger.markers(plan=order.plan))
    _nobody_at_work(session, order, sums)
    return sums


@contextmanager
def reopened(connection: MqConnection, run: RunFolder) -> Iterator[Reopened]:
    """A run that is over, to be looked into again: on its queue manager, its lock held, its ledger settled.

    Raises:
        SettingsError: the connection leads to another queue manager.
        Unbalanced: what its markers say contradicts itself.
        InProgress, MqopsError: as `settled`.
    """
    order = read_order(run)
    ledger = LedgerFile(run.lake_folder, utc_now)
    with run.lock(), connect(connection) as session:
        refuse_other_queue_manager(session, order)
        sums = settled(session, ledger, run, order)
        if sums.problems:
            raise _unbalanced(order, sums.problems)
        yield Reopened(order=order, ledger=ledger, session=session, sums=sums)


def _nobody_at_work(session: Session, order: Order, sums: Account) -> None:
    """A lane is finished, or its ticket lies on the queue, or somebody has it."""
    waiting = set(waiting_lanes(session, order.folder, order.plan, sums))
    taken = [lane for lane in sums.open_lanes if lane not in waiting]
    if taken:
        raise InProgress(
            f"Run {order.plan.run}: {len(taken)} of {len(sums.lengths)} lanes are being worked on by another process; "
            "wait for it to end, or for the queue manager to back out what it left, and prove again"
        )


def _on_queues(session: Session, order: Order) -> tuple[Counter[Place], dict[str, str]]:
    """(queue, msg_key) → number of such messages there; queue → the remark that an undo passed it over.

    An empty queue is not browsed.
    """
    passes = SOURCE if undo.kept(order.folder) else frozenset()
    found: Counter[Place] = Counter()
    unseen: dict[str, str] = {}
    for queue in order.queues:
        try:
            if depth(session, queue):
                found.update(Counter((queue, key_of(got.md, got.body)) for got in browse(session, queue)))
        except MQError as error:
            if error.reason not in passes:
                raise
            why = f"{error.verb}: {error.symbol}"
            unseen[queue] = f"{queue} was not looked at ({why}): what was not put back counts as left"
    return found, unseen


def _looked_again(session: Session, summary: RunSummary, balanced: Callable[[], RunSummary]) -> RunSummary:
    """The summary of another look, before and behind which no unit of work hides a message that seems gone.

    Where one does, or nobody can ask, a remark says so.
    """
    queues = sorted({rule.queue for rule in summary.rules if rule.gone or rule.unexplained})
    before = {queue: _doubt(session, queue, LOOKS) for queue in queues}
    again = balanced()
    doubts = {queue: before[queue] or _doubt(session, queue, 1) for queue in queues}
    gone = {queue: sum(rule.gone + rule.unexplained for rule in again.rules if rule.queue == queue) for queue in queues}
    what = "gone or unexplained" if again.unexplained else "gone"
    told = (f"{queue}: {gone[queue]} {what}, but {doubts[queue]}" for queue in queues if gone[queue] and doubts[queue])
    return replace(again, remarks=(*again.remarks, *told))


def _doubt(session: Session, queue: str, looks: int) -> str:
    """Why messages that are not seen on a queue may be there nevertheless, "" where they cannot.

    Parameters: `looks` how often it is asked, until they cannot.
    """
    try:
        for look in range(looks):
            time.sleep(LOOK_AGAIN if look else 0)
            if not has_uncommitted(session, queue):
                return ""
    except MQError as error:
        if error.reason in LOST_CONNECTION:
            raise
        return f"whether units of work of others hide some of them is not known: {error}"
    return "some of them may be hidden by units of work of others: prove again when these have ended"


def _planned(run: RunFolder) -> Iterator[PlannedRow]:
    for batch in read_parquet(run.plan, _ROW_COLUMNS):
        columns = [batch.column(name).to_pylist() for name in _ROW_COLUMNS]
        for row, queue, key, action, line, rule_key in zip(*columns, strict=True):
            yield PlannedRow(row, queue, key, action, line, rule_key or "")


def _empty(order: Order, head: Head, at: str) -> RunSummary:
    return RunSummary(
        run=order.plan.run,
        workflow=str(order.document.get("workflow", "dlq_rules")),
        queue_manager=order.queue_manager,
        queue=",".join(order.queues),
        plan=order.plan.digest,
        remarks=(
            *order.document.get("remarks", ()),
            *unseen_by(order.folder, order.plan.digest),
            *filter(None, [remark(order.folder.lake_folder, run=order.plan.run)]),
        ),
        canaries=fates_of(order.folder, order.plan.digest),
        anatomy=tuple(brief(queue) for queue in anatomy.kept(order.folder)),
        ledger_seq=head.seq,
        ledger_head=head.hash if head.seq else "",
        proved_at=at,
    )


def _names(sums: Account) -> dict[int, str]:
    return {reason: reason_name(reason) for reason in set(sums.failed.values())}
