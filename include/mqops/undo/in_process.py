"""Undo a run (`mqops.undo` has the rules): its plan, acting on it, proving it. In one process, without a JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from mqops.act.approved_plan import ApprovedPlan, plan_rows, read_approved_plan
from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.act.destinations import Destinations, browse_all, key_as_put
from mqops.act.in_process import act
from mqops.act.mover_port import key_of
from mqops.actions import Action
from mqops.clock import utc
from mqops.command import command
from mqops.counted import counted
from mqops.decide import preflight_record as store
from mqops.decide.core import PlanSummary
from mqops.decide.core.decided import DecidedRow
from mqops.decide.core.preflight import worst_first
from mqops.decide.in_process import DecidedBy, write_plan
from mqops.decide.preflight import preflight
from mqops.errors import InProgress, PermanentMQError, PlanChanged, SettingsError
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.ledger.core.identity import MessageOnQueue, PlanIdentity
from mqops.ledger.core.marker import About, Marker
from mqops.ledger.file import LedgerFile
from mqops.model import ActSummary
from mqops.mq.connection import OneSession, Reach, connect, one_session
from mqops.mq.session import SET_CONTEXT_OPTIONS, Session
from mqops.observe import snapshot
from mqops.observe.originals import Original, Originals, Which, copied
from mqops.observe.recorded import OBSERVED
from mqops.observe.sealed import write_snapshot
from mqops.plan_row import PlanRow
from mqops.prove.begun_plans import begun_plans
from mqops.prove.prove import reopened
from mqops.prove.records import LOAD_RECORD, UNDO_RECORD, Undoes
from mqops.undo import UNDOES
from mqops.undo.core.decision import Done, UndoChoice, undo_choices
from mqops.undo.sources import judge_sources
from mqops.undo.undo_port import UndoPort
from mqops.workflow import Workflow
from mqwire.structures import MQMD_LAYOUT

GETS = {Action.RETURN, Action.WITHDRAW}
"""What takes the message from where the run put it."""

_read = MQMD_LAYOUT.reader("expiry", "report", "backout_count")


BeforeLook: TypeAlias = Callable[[Session, Collection[str]], None]
"""Hears the names of the queues that are browsed next, and may refuse that."""


def plan_undo(
    connection: Reach,
    run: RunFolder,
    folder: RunFolder,
    *,
    now: Callable[[], datetime] = utc,
    before_look: BeforeLook | None = None,
) -> PlanSummary:
    """Plan the undo of `run` in `folder`, a new run's: snapshot, plan, plan.json, preflight.json. Nothing is moved.

    Parameters: `before_look` tells of a browse (`mqops.expiry.before_look`) or refuses it (`mqops.expiry.first_tell`):
    the queue manager discards what has expired.

    Raises:
        SettingsError: `run` is an undo itself, or a load.
        InProgress: somebody acts on the run, or an undo of it was begun and not finished, or units of work of others
            hide messages of a queue that something was discarded from.
        Unbalanced: the run's ledger and plan contradict each other.
        MqopsError: its plan or snapshot is not as it was written; the queue manager failed.
    """
    if UNDO_RECORD.find(run) is not None:
        raise SettingsError(
            f"Run {run.run} is an undo. An undo cannot be undone: run the rules on the messages that it put back"
        )
    if LOAD_RECORD.find(run) is not None:
        raise SettingsError(
            f"Run {run.run} is a load of a file: it took nothing from a queue, so there is nothing to put back. "
            "What it put are ordinary messages"
        )
    with one_session(connection) as step:
        return _planned(step, run, folder, now(), before_look)


def _planned(
    step: OneSession, run: RunFolder, folder: RunFolder, now: datetime, before_look: BeforeLook | None
) -> PlanSummary:
    file = LedgerFile(run.lake_folder)
    with reopened(step, run, file) as found:
        approved_plan, session = found.approved_plan, found.session
        earlier = undos_of(session, file, approved_plan.identity)
        _refuse_unfinished(approved_plan.identity, earlier)
        mine, digests = approved_plan.identity, frozenset(one.digest for one in earlier)
        UNDO_RECORD.write(folder.create(), Undoes(run=mine.run, plan=mine.digest, earlier=digests))
        todo = _Todo(approved_plan, found.sums, Destinations(session))
        todo.copy_to(folder, file)
        undone = {row for one in earlier.values() for row in one.acted}
        rows = list(_rows(todo, _choices(session, todo, undone, now, before_look)))
    plan = write_plan(
        folder,
        map(DecidedRow, rows),
        workflow=Workflow.UNDO,
        by=DecidedBy(source=f"{UNDOES}{approved_plan.identity.run}", digest=approved_plan.identity.digest),
        queues=sorted({row.queue for row in rows}),
        remarks=todo.remarks(),
    )
    taken_from = {row.queue for row in rows if row.action in GETS}
    checked = preflight(
        step, folder, taken_from=taken_from, target_options=SET_CONTEXT_OPTIONS, remarks=False, file=file
    )
    with connect(step) as session:
        shut = judge_sources(session, sorted({row.queue for row in rows if row.action.acts}))
        store.PREFLIGHT.write(folder, replace(checked, findings=worst_first((*shut, *checked.findings))))
    return plan


def act_undo(
    connection: Reach,
    folder: RunFolder,
    *,
    file: LedgerFile,
    approved: str = "",
    unit_size: int = DEFAULT_UNIT_SIZE,
    about: About | None = None,
    now: Callable[[], datetime] = utc,
) -> ActSummary:
    """Act on the plan of an undo, or finish what an earlier execution began.

    Raises:
        PlanChanged: the plan is not the approved one, or another undo of the run was begun since it was made.
        InProgress: somebody acts on this undo, on the run, or on another undo of it.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    what = UNDO_RECORD.find(folder)
    if what is None:
        raise SettingsError(f"Run {folder.run} is not an undo")
    approved_plan = read_approved_plan(folder, approved)
    run = RunFolder(folder.path.parent / what.run)
    with run.lock(), Originals(folder.snapshot) as originals, one_session(connection) as step:
        with connect(step) as session:
            own = LedgerFile(run.lake_folder)  # `file` is act's, and unread yet
            others = undos_of(session, own, what.identity)
        if approved_plan.identity not in others and {one.digest for one in others} != what.earlier:
            raise PlanChanged(
                f"Another undo of run {what.run} was begun after this undo was planned. Plan the undo again"
            )
        port = partial(UndoPort, original=originals, now=now)
        about_undo = {**(about or {}), "undoes": what.run, "undoes_plan": what.plan}
        return act(
            step, folder, file=file, unit_size=unit_size, approved=approved, about=about_undo, port=port, needs=()
        )


def begun_undos(connection: Reach, run: RunFolder) -> list[tuple[RunFolder, str, bool]]:
    """The undos of a run that were ever begun: folder, digest of the plan, and whether some of it is still to be done.

    Raises `MQError`, `LakeError`, `LedgerBroken`.
    """
    with connect(connection) as session:
        found = undos_of(session, LedgerFile(run.lake_folder), read_approved_plan(run).identity)
    return [(RunFolder(run.path.parent / plan.run), plan.digest, bool(sums.open_lanes)) for plan, sums in found.items()]


def undos_of(session: Session, ledger: LedgerFile, plan: PlanIdentity) -> dict[PlanIdentity, Account]:
    """The undos of a plan that were ever begun, with what their markers say, on the ledger queue and in the ledger.

    Raises `MQError`, `LedgerBroken`.
    """
    return begun_plans(session, ledger, "undoes_plan", plan.digest, lambda marker: _undoes(marker, plan))


def _undoes(marker: Marker, plan: PlanIdentity) -> bool:
    return (marker.about.get("undoes"), marker.about.get("undoes_plan")) == (plan.run, plan.digest)


def _refuse_unfinished(plan: PlanIdentity, earlier: Mapping[PlanIdentity, Account]) -> None:
    for one, sums in earlier.items():
        if sums.open_lanes:
            raise InProgress(
                f"Undo {one.run} of run {plan.run} was begun and is not finished: let it end, clear its task act, or "
                f"finish it with `{command('mqops', 'undo', plan.run)}`"
            )


@dataclass(slots=True)
class _Todo:
    """The rows that a run acted on, with their originals' copies made in the undo's own snapshot (rule 1)."""

    approved_plan: ApprovedPlan
    sums: Account
    destinations: Destinations
    rows: dict[int, PlanRow] = field(default_factory=dict)
    done: dict[int, Done] = field(default_factory=dict)
    backed_out: int = 0

    def remarks(self) -> tuple[str, ...]:
        """What an approver may not expect."""
        begins = counted(self.backed_out, "message was", "messages were")
        anew = (f"{begins} backed out before: BackoutCount begins at 0",) if self.backed_out else ()
        return (*self.destinations.remarks(), *anew)

    def copy_to(self, folder: RunFolder, ledger: LedgerFile) -> None:
        """Read the plan, copy the originals, note what became of each."""
        wanted, of = self._wanted(), self.approved_plan
        snapshot.begin(folder)
        write_snapshot(folder, copied(of.folder.snapshot, wanted, self._note))
        observed_at = OBSERVED.read(of.folder).observed_at
        snapshot.finish(folder, of.queue_manager, of.queues, observed_at, whole=False, ledger=ledger)

    def _wanted(self) -> dict[Which, int]:
        seen: Counter[MessageOnQueue] = Counter()
        wanted: dict[Which, int] = {}
        for row in plan_rows(self.approved_plan):
            place = (row.queue, row.msg_key)
            if row.row in self.sums.acted:
                wanted[*place, seen[place]] = row.row
                self.rows[row.row] = row
            seen[place] += 1
        return wanted

    def _note(self, number: int, original: Original) -> None:
        row = self.rows[number]
        there = "" if row.action.discards else self.destinations.of(row.dest_q, row.dest_q_mgr).queue
        expiry, report, backed_out = _read(original.md)
        self.backed_out += backed_out > 0
        self.done[number] = Done(
            row=number,
            queue=row.queue,
            msg_key=row.msg_key,
            discarded=row.action.discards,
            copied=row.action is Action.COPY,
            there=there,
            key_there=key_as_put(row, original, self.approved_plan.queue_manager) if there else "",
            expiry=expiry,
            seen_at=original.observed_at,
            report=report,
            together=row.together,
        )


def _choices(
    session: Session, todo: _Todo, undone: set[int], now: datetime, before_look: BeforeLook | None
) -> Iterator[tuple[Done, UndoChoice]]:
    """What is to be done about each message. What seems consumed is looked for once more, while nothing is hidden."""
    done = [todo.done[number] for number in sorted(todo.done)]
    wanted = {place for one in done for place in ((one.queue, one.msg_key), (one.there, one.key_there)) if place[0]}
    proof = {one.queue for one in done if one.discarded}
    queues = sorted({name for name, _ in wanted})
    if before_look:
        before_look(session, queues)
    looks = _Looks(session, wanted, todo.destinations)
    for queue in queues:
        looks.at(queue, whole=queue in proof)
    decided = partial(undo_choices, done, undone=undone, now=now)
    first = decided(on_queues=looks.all(), hidden=looks.hidden)
    consumed = [one for one, choice in first if choice.action in {Action.CONSUMED, Action.LAST}]
    for queue in sorted({name for one in consumed for name in (one.there, one.queue)} - proof):
        try:
            looks.at(queue, whole=True)
        except InProgress:
            looks.hidden.add(queue)
    return decided(on_queues=looks.all(), hidden=looks.hidden)


@dataclass(slots=True)
class _Looks:
    """How many of the messages that matter are on which queue, and the queues that may have more than is seen."""

    session: Session
    wanted: Set[MessageOnQueue]
    destinations: Destinations
    found: dict[str, Counter[MessageOnQueue]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    def at(self, queue: str, *, whole: bool) -> None:
        """Look at a queue (`whole` as in `browse_all`). One that cannot be read hides what is on it, and no other's.

        Raises:
            InProgress: units of work of others hide messages.
            MQError: the connection is to blame, or what passes by itself; look again.
        """
        try:
            keys = browse_all(self.session, queue, lambda got: key_of(got.md, got.body), whole=whole)
        except PermanentMQError as error:
            self.hidden.add(queue)
            self.destinations.note(queue, str(error))
        else:
            self.found[queue] = Counter(place for key in keys if (place := (queue, key)) in self.wanted)

    def all(self) -> Counter[MessageOnQueue]:
        """What is on all of them."""
        return sum(self.found.values(), Counter())


def _rows(todo: _Todo, found: Iterable[tuple[Done, UndoChoice]]) -> Iterator[PlanRow]:
    """The rows of the undo's plan, in the order of the run's."""
    for one, choice in found:
        acts, gets = choice.action.acts, choice.action in GETS
        queue, key = (one.there, one.key_there) if gets else (one.queue, one.msg_key)
        yield todo.rows[one.row]._replace(
            queue=queue,
            msg_key=key,
            rule_line=None,
            rule_key=None,
            action=choice.action,
            dest_q=one.queue if acts else "",
            dest_q_mgr="",
            header=True,
            putaut="",
            alternate_user="",
            tries=choice.same,
            unit_group=f"{one.queue}@" if acts else choice.action.value,
        )
