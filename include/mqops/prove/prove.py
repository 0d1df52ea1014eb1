"""Prove: drain the markers into the ledger, look at the queues, balance (law 5)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from mqops.act.approved_plan import ApprovedPlan, read_approved_plan, refuse_other_queue_manager
from mqops.act.canary import CanaryRecord
from mqops.act.core.scope import SOURCE
from mqops.act.destinations import TRIES_TO_LOOK
from mqops.act.lane_tokens import waiting_lanes
from mqops.act.mover_port import key_of
from mqops.act.progress import command_to_go_on
from mqops.actions import Action, moved_word
from mqops.clock import utc, utc_now
from mqops.counted import counted
from mqops.decide.arrow import read_plan
from mqops.errors import InProgress, LakeError, LedgerBroken, MQError, Unbalanced
from mqops.expiry.core.histogram import Histogram, Lifetimes
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.ledger.core.chain import Head, Proof
from mqops.ledger.core.identity import MessageOnQueue
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.drain import drain
from mqops.ledger.file import LedgerFile
from mqops.ledger.noted import ACTED
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import NAME
from mqops.ledger.set_aside import remark
from mqops.ledger.writer import head_on_disk
from mqops.model import RunSummary
from mqops.mq.browse import browse
from mqops.mq.connection import Reach, connect
from mqops.mq.inquire import depth, has_uncommitted
from mqops.mq.session import Session, has_ended, is_gone
from mqops.observe.anatomy import read_anatomy
from mqops.observe.core.anatomy import brief
from mqops.observe.recorded import OBSERVED
from mqops.prove.authority import without_authority
from mqops.prove.core.balance import Balanced, PlannedRow, balance
from mqops.prove.records import LOAD_RECORD, SUMMARY, UNDO_RECORD, Undoes, missing_records, write_gone, write_left
from mqwire.names import reason_name
from mqwire.structures import MQMD_LAYOUT

LOOKS, LOOK_AGAIN = 5, 0.2
"""How often a queue is asked for uncommitted messages, and the seconds between."""
MOST_SHOWN = 10
"""The most problems that the error of an unbalanced run names."""
_lifetime = MQMD_LAYOUT.reader("expiry", "report", "persistence")


class Opened(NamedTuple):
    """A run that is held: its approved plan, its ledger, and a session with its queue manager."""

    approved_plan: ApprovedPlan
    ledger: OpenLedger
    session: Session


class Reopened(NamedTuple):
    """What `reopened` gives: as `Opened`, and the sums of the run's markers."""

    approved_plan: ApprovedPlan
    ledger: OpenLedger
    session: Session
    sums: Account


def prove(connection: Reach, run: RunFolder, *, file: LedgerFile) -> RunSummary:
    """Prove what became of a run's plan, and write summary.json. It may be repeated at any time.

    `mqops.prove.core.balance` has the rules. A unit of work of another program can hide a message. If messages seem to
    be gone, the queues are browsed again when they have no uncommitted messages. If they still have some after a few
    tries, a remark says so. The proof of an undo leaves out a queue that cannot be browsed, with a remark (rule 11 of
    `mqops.undo`).

    Parameters: `file` the ledger, opened by the step.

    Raises:
        SettingsError: the connection leads to another queue manager.
        Unbalanced: the ledger, the plan and the queue contradict each other; summary.json says how.
        InProgress: a process still acts on the plan, or died with units of work that the queue manager has not backed
            out yet: the queue may still change.
        MqopsError: the queue manager or the lake failed; nothing is lost, call again.
    """
    with _opened(connection, run, file, _says_where_it_stands) as (approved_plan, ledger, session):
        undoes = UNDO_RECORD.find(run)
        empty, left = _empty(approved_plan), dict[str, Histogram]()

        def balanced() -> Balanced:
            sums, there = _at_rest(session, ledger, approved_plan, is_undo=undoes is not None)
            left.clear()
            left.update(there.left)
            head = head_on_disk(ledger.file)
            lacking = without_authority(run, sums)
            aside = filter(None, [remark(run.lake_folder, run=run.run)])
            with_remarks = replace(
                empty,
                remarks=(*empty.remarks, *aside, *there.remarks(), *lacking),
                ledger_seq=head.seq,
                ledger_head=head.hash if head.seq else "",
                proved_at=utc_now(),
            )
            return balance(
                with_remarks,
                lambda: read_plan(run.plan, PlannedRow),
                sums,
                there.on_queue,
                reason_names={reason: reason_name(reason) for reason in set(sums.failed.values())},
                unseen=set(there.unseen),
                put_back=_put_back(run, sums) if undoes else Counter(),
            )

        (summary, gone), settled = balanced(), frozenset[str]()
        if summary.gone or summary.unexplained:
            (summary, gone), settled = _looked_again(session, summary, balanced)
            summary = replace(summary, remarks=(*summary.remarks, *_taken_by(ledger.file, run, undoes, gone)))
        write_gone(run, summary.proved_at, gone, settled)
        write_left(run, summary.proved_at, left)
        ledger.file.note_proof(Proof(run=run.run, head=Head(seq=summary.ledger_seq, hash=summary.ledger_head)))
        SUMMARY.write(run, summary)
    if not summary.balanced:
        raise _unbalanced(approved_plan, summary.problems)
    return summary


@contextmanager
def _opened(
    connection: Reach,
    run: RunFolder,
    file: LedgerFile,
    during: Callable[[ApprovedPlan], AbstractContextManager[object]] = nullcontext,
) -> Iterator[Opened]:
    """Read a run's approved plan, hold the run's lock, and connect to its queue manager.

    Parameters: `file` the ledger, opened by the step; `during` a context in which the run is held.

    Raises:
        SettingsError: the connection leads to another queue manager.
        InProgress: another process acts on the run.
        MqopsError: the queue manager or the lake failed.
    """
    approved_plan = read_approved_plan(run)
    ledger = OpenLedger(file, approved_plan.identity, run)
    with during(approved_plan), run.lock(), connect(connection) as session:
        refuse_other_queue_manager(session, approved_plan)
        yield Opened(approved_plan, ledger, session)


@contextmanager
def _says_where_it_stands(approved_plan: ApprovedPlan) -> Iterator[None]:
    """An error of the lake says at its end which run it was, what had moved, and the command that goes on."""
    try:
        yield
    except LakeError as error:
        run, put = approved_plan.folder, moved_word(approved_plan.summary.actions)
        acted = ACTED.find(run)
        numbers = f"{acted.moved if acted else 0:,} {put}, {acted.discarded if acted else 0:,} discarded"
        undone = UNDO_RECORD.find(run)
        go_on = command_to_go_on(run, undone.run if undone else "")
        error.args = (
            f"{str(error).rstrip('.')}. Run {run.run}: the last execution of act had {numbers}; what the ledger does "
            f"not have of it is on {NAME}. To go on: `{go_on}`",
        )
        raise


def _unbalanced(approved_plan: ApprovedPlan, problems: Sequence[str]) -> Unbalanced:
    """The error with the first problems: a ledger that is wrong can have one for each row."""
    more = f"; and {len(problems) - MOST_SHOWN:,} more" if len(problems) > MOST_SHOWN else ""
    return Unbalanced(f"Run {approved_plan.identity.run} does not balance: {'; '.join(problems[:MOST_SHOWN])}{more}")


def _at_rest(
    session: Session, ledger: OpenLedger, approved_plan: ApprovedPlan, *, is_undo: bool
) -> tuple[Account, OnQueues]:
    """The sums of the ledger and what `_on_queues` sees, both of a time when no process acted on the plan."""
    drain(session, ledger)
    for _ in range(TRIES_TO_LOOK):
        sums, gone = _accounted(session, ledger)
        if not gone:
            _refuse_if_at_work(session, ledger, sums)
        there = _on_queues(session, approved_plan, is_undo=is_undo)
        if not drain(session, ledger):
            if not gone:
                _refuse_if_at_work(session, ledger, sums)
            return sums, there
    raise InProgress(
        f"Run {approved_plan.identity.run} is being acted on by another process; wait for it to end and prove again"
    )


def settled(session: Session, ledger: OpenLedger) -> Account:
    """The sums of a plan's markers, all of them drained, at a time when no process acts on it. The caller holds the
    run's lock.

    Raises:
        InProgress: a process acts on it, or died with a unit of work that the queue manager has not backed out yet.
        MqopsError: as `drain`.
    """
    drain(session, ledger)
    sums, gone = _accounted(session, ledger)
    if not gone:
        _refuse_if_at_work(session, ledger, sums)
    return sums


def _accounted(session: Session, ledger: OpenLedger) -> tuple[Account, bool]:
    """The sums of a plan's markers, and whether records were taken away; if so, its problems say it.

    Raises `InProgress` if a unit of work of another process may hide them, for example of a drain that was killed.
    """
    sums = ledger.sums()
    if not missing_records(ledger, sums):
        return sums, False
    if doubt := _doubt(session, NAME, LOOKS):
        lacking = f"some of its markers are neither in the ledger nor seen on {NAME}"
        raise InProgress(f"Run {ledger.plan.run}: {lacking}; {doubt}")
    drain(session, ledger)
    sums = ledger.sums()
    gone = missing_records(ledger, sums)
    sums.problems += gone
    return sums, bool(gone)


@contextmanager
def reopened(connection: Reach, run: RunFolder, file: LedgerFile) -> Iterator[Reopened]:
    """Connect to the queue manager of a run, hold the run's lock, and record its markers in the ledger first.

    Parameters: `file` the ledger, opened by the step.

    Raises:
        SettingsError: the connection leads to another queue manager.
        Unbalanced: its markers contradict each other.
        InProgress, MqopsError: as `settled`.
    """
    with _opened(connection, run, file) as opened:
        sums = settled(opened.session, opened.ledger)
        if sums.problems:
            raise _unbalanced(opened.approved_plan, sums.problems)
        yield Reopened(*opened, sums)


def _refuse_if_at_work(session: Session, ledger: OpenLedger, sums: Account) -> None:
    """Raise `InProgress` if a lane is neither finished nor has its lane token on the queue: a process has it."""
    waiting = set(waiting_lanes(session, ledger, sums))
    taken = [lane for lane in sums.open_lanes if lane not in waiting]
    if taken:
        raise InProgress(
            f"Run {ledger.plan.run}: another process is at work on {len(taken):,} of "
            f"{counted(len(sums.lengths), 'lane')}; "
            "wait for it to end, or for the queue manager to back out what it left, and prove again"
        )


class OnQueues(NamedTuple):
    """Parameters: `on_queue` (queue, msg_key) → number of messages; `unseen` queue → the remark that the proof of an
    undo left it out; `ended` those of several queues that are not there any more; `left` queue → its messages by the
    time when they expire."""

    on_queue: Counter[MessageOnQueue]
    unseen: dict[str, str]
    ended: tuple[str, ...] = ()
    left: Mapping[str, Histogram] = MappingProxyType({})

    def remarks(self) -> Iterator[str]:
        """What a person should know of it."""
        yield from filter(None, self.unseen.values())
        for queue in self.ended:
            yield f"{queue} ended while the run was at work: what the run did not take is gone"


def _on_queues(session: Session, approved_plan: ApprovedPlan, *, is_undo: bool) -> OnQueues:
    """What is on the queues of the plan.

    An empty queue is not browsed. That of a load is not looked at: what a load did not put is left in its file.
    """
    if LOAD_RECORD.exists(approved_plan.folder):
        return OnQueues(Counter(), dict.fromkeys(approved_plan.queues, ""))
    passes = SOURCE if is_undo else frozenset()
    found: Counter[MessageOnQueue] = Counter()
    unseen: dict[str, str] = {}
    ended: list[str] = []
    left: dict[str, Histogram] = {}
    for queue in approved_plan.queues:
        lifetimes = Lifetimes()
        try:
            if depth(session, queue):
                for got in browse(session, queue):
                    found[queue, key_of(got.md, got.body)] += 1
                    lifetimes.add(*_lifetime(got.md))
                left[queue] = lifetimes.histogram(utc())
        except MQError as error:
            if error.reason not in passes:
                if not has_ended(error, approved_plan.queues):
                    raise
                ended.append(queue)
                continue
            why = f"{error.verb}: {error.symbol}"
            unseen[queue] = f"{queue} was not looked at ({why}): what was not put back counts as left"
    return OnQueues(found, unseen, tuple(ended), left)


def _put_back(run: RunFolder, sums: Account) -> Counter[MessageOnQueue]:
    """What an undo took from where it had gone and put back: its snapshot has the messages as they were."""
    returned = {row for row, acted in sums.acted.items() if acted.action == Action.RETURN}
    if not returned:
        return Counter()
    columns = ["position", "queue", "msg_key"]
    rows = (row for batch in read_parquet(run.snapshot, columns) for row in batch.to_pylist())
    return Counter((row["queue"], row["msg_key"]) for row in rows if row["position"] in returned)


class _TakenRow(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` by which the ledger is asked who took a row's message."""

    row: int
    action: Action
    msg_key: str
    msg_id: bytes


def _taken_by(
    ledger: LedgerFile, run: RunFolder, undone: Undoes | None, gone: Mapping[str, Sequence[int]]
) -> Iterator[str]:
    """A remark for each other run that took messages which are gone, since this run's snapshot. The snapshot of an undo
    is that of the run which it undoes: what this run took is no news.
    """
    numbers = {row for rows in gone.values() for row in rows}
    if not numbers or (observed := OBSERVED.find(run)) is None:
        return
    since = datetime.fromisoformat(observed.observed_at)
    taken = [row for row in read_plan(run.plan, _TakenRow) if row.row in numbers]
    keys, ids = {row.msg_key for row in taken}, {row.msg_id.hex() for row in taken}
    own = {run.run, undone.run} if undone else {run.run}
    found: Counter[str] = Counter()
    with suppress(LedgerBroken):  # the proof does not need it
        for one in ledger.of_messages(ids, MarkerKind.ACTED):
            if one.run not in own and datetime.fromisoformat(one.at) >= since:
                found[one.run] += sum(row.action != Action.COPY and row.msg_key in keys for row in one.rows)
    for other, number in (+found).items():
        yield f"{counted(number, 'message')} that {'is' if number == 1 else 'are'} gone: run {other} took them"


def _looked_again(
    session: Session, summary: RunSummary, balanced: Callable[[], Balanced]
) -> tuple[Balanced, frozenset[str]]:
    """The outcome of a second look at the queues, and the queues on which no unit of work can have hidden messages. A
    remark names each of the others.
    """
    queues = sorted({rule.queue for rule in summary.rules if rule.gone or rule.unexplained})
    before = {queue: _doubt(session, queue, LOOKS) for queue in queues}
    again, rows = balanced()
    doubts = {queue: before[queue] or _doubt(session, queue, 1) for queue in queues}
    gone = {queue: sum(rule.gone + rule.unexplained for rule in again.rules if rule.queue == queue) for queue in queues}
    what = "gone or unexplained" if again.unexplained else "gone"
    remarks = (
        f"{queue}: {gone[queue]} {what}, but {doubts[queue]}" for queue in queues if gone[queue] and doubts[queue]
    )
    settled = frozenset(queue for queue in queues if not doubts[queue])
    return Balanced(replace(again, remarks=(*again.remarks, *remarks)), rows), settled


def _doubt(session: Session, queue: str, looks: int) -> str:
    """Why messages that were not seen may be on the queue nevertheless, "" if it has no uncommitted messages.

    Parameters: `looks` how often the queue is asked at most.
    """
    try:
        for look in range(looks):
            time.sleep(LOOK_AGAIN if look else 0)
            if not has_uncommitted(session, queue):
                return ""
    except MQError as error:
        error.raise_if_lost()
        if is_gone(error):
            return ""  # what was on it went with it
        return f"it is not known whether units of work of others hide some of them ({error}): prove again"
    return "some of them may be hidden by units of work of others: prove again when these have ended"


def _empty(approved_plan: ApprovedPlan) -> RunSummary:
    """The summary without what is counted."""
    plan = approved_plan.summary
    canaries = CanaryRecord.read(approved_plan.folder, approved_plan.identity.digest)
    return RunSummary(
        run=approved_plan.identity.run,
        workflow=plan.workflow,
        queue_manager=approved_plan.queue_manager,
        queue=",".join(approved_plan.queues),
        unseen=plan.unseen,
        plan=approved_plan.identity.digest,
        remarks=(
            *plan.remarks,
            *(one for one in approved_plan.pacing.remarks() if one not in plan.remarks),
            *(canaries.unseen if canaries else ()),
        ),
        canaries=(canaries.decision or ()) if canaries else (),
        anatomy=tuple(brief(queue) for queue in read_anatomy(approved_plan.folder)),
    )
