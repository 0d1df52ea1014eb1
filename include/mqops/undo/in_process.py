"""Undo a run (`mqops.undo` has the rules): its plan, acting on it, proving it. In one process, without a JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.act.destinations import Places, key_as_put, picture
from mqops.act.in_process import act
from mqops.act.mover_port import key_of
from mqops.act.tickets import Order, plan_rows, read_order
from mqops.actions import DISCARDS, RESTORE, RETURN
from mqops.clock import utc, utc_now
from mqops.command import command
from mqops.decide import preflight_record as store
from mqops.decide.core import PlanSummary
from mqops.decide.core.preflight import worst_first
from mqops.decide.in_process import write_plan
from mqops.decide.preflight import preflight
from mqops.errors import InProgress, PermanentMQError, PlanChanged, SettingsError
from mqops.lake.files import make_folder, read_json
from mqops.lake.parquet import write_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import Place, PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import LedgerQueue
from mqops.model import ActSummary, RunSummary
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import Session
from mqops.observe import snapshot
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.originals import Original, Originals, Which, copied
from mqops.prove import undo_record as undo
from mqops.prove.prove import prove, reopened
from mqops.prove.undo_record import Undoes
from mqops.undo import WORKFLOW
from mqops.undo.core.decision import Done, Fate, fates
from mqops.undo.sources import judge_sources
from mqops.undo.undo_port import TARGET_OPTIONS, UndoPort
from mqwire.structures import MQMD_LAYOUT

_read = MQMD_LAYOUT.reader("expiry", "report")


def find_run(lake: Path, queue_manager: str, key: str) -> RunFolder:
    """The folder of the run that is to be undone.

    Raises:
        SettingsError: the lake has no such run with a plan, or it is an undo itself.
    """
    run = RunFolder.planned(lake, queue_manager, key)
    if undo.kept(run) is not None:
        raise SettingsError(f"Run {key} is an undo, which is not undone: run the rules on what it put back")
    return run


def plan_undo(
    connection: MqConnection, run: RunFolder, folder: RunFolder, *, now: Callable[[], datetime] = utc
) -> PlanSummary:
    """Plan the undo of `run` in `folder`, a new run's: snapshot, plan, plan.json, preflight.json. Nothing is moved.

    Raises:
        InProgress: somebody acts on the run, or an undo of it was begun and not finished, or units of work of others
            hide messages of a queue that something was discarded from.
        Unbalanced: the run's ledger and plan contradict each other.
        MqopsError: its plan or snapshot is not as it was written; the queue manager failed.
    """
    with reopened(connection, run) as found:
        order, ledger, session = found.order, found.ledger, found.session
        earlier = undos_of(session, ledger, order.plan)
        _refuse_unfinished(order.plan, earlier)
        undo.keep(folder, Undoes(plan=order.plan, earlier={one.digest for one in earlier}))
        todo = _Todo(run, order, found.sums, Places(session))
        todo.copy_to(folder)
        undone = {row for one in earlier.values() for row in one.acted}
        rows = list(_rows(todo, _fates(session, todo, undone, now())))
    plan = write_plan(
        folder,
        rows,
        workflow=WORKFLOW,
        table=(f"undo of run {order.plan.run}", order.plan.digest, ""),
        queues=sorted({row["queue"] for row in rows}),
        remarks=todo.places.remarks(),
    )
    taken_from = {row["queue"] for row in rows if row["action"] == RETURN}
    checked = preflight(connection, folder, taken_from=taken_from, target_options=TARGET_OPTIONS, remarks=False)
    with connect(connection) as session:
        shut = judge_sources(session, sorted({row["queue"] for row in rows if row["action"] in {RESTORE, RETURN}}))
        store.keep(folder, replace(checked, findings=worst_first((*shut, *checked.findings))))
    return plan


def carry_out(
    connection: MqConnection,
    folder: RunFolder,
    *,
    approved: str = "",
    unit_size: int = DEFAULT_UNIT_SIZE,
    about: Mapping[str, Any] | None = None,
    now: Callable[[], datetime] = utc,
) -> ActSummary:
    """Act on the plan of an undo, or finish what an earlier execution began.

    Raises:
        PlanChanged: the plan is not the approved one, or another undo of the run was begun since it was made.
        InProgress: somebody acts on this undo, on the run, or on another undo of it.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    what = undo.kept(folder)
    if what is None:
        raise SettingsError(f"Run {folder.run} is not an undo")
    order = read_order(folder, approved)
    run = RunFolder(folder.path.parent / what.plan.run)
    with run.lock(), Originals(folder.snapshot) as originals:
        with connect(connection) as session:
            begun = undos_of(session, LedgerFile(run.lake_folder, utc_now), what.plan)
        if order.plan not in begun and {one.digest for one in begun} != what.earlier:
            raise PlanChanged(f"Another undo of run {what.plan.run} was begun since this one was planned; plan it anew")
        port = partial(UndoPort, original=originals, now=now)
        told = {**(about or {}), "undoes": what.plan.run, "undoes_plan": what.plan.digest}
        return act(connection, folder, unit_size=unit_size, approved=approved, about=told, port=port, needs=())


def finish(
    connection: MqConnection, run: RunFolder, *, unit_size: int = DEFAULT_UNIT_SIZE, who: str = ""
) -> list[RunSummary]:
    """Finish the undos of a run that were begun and not ended or not proved, as after a crash.

    They were approved when they began.

    Parameters: `who` finishes them, for the ledger.

    Raises as `carry_out` and `prove`.
    """
    with connect(connection) as session:
        begun = undos_of(session, LedgerFile(run.lake_folder, utc_now), read_order(run).plan)
    summaries = []
    for plan, sums in begun.items():
        folder = RunFolder(run.path.parent / plan.run)
        if sums.open_lanes:
            carry_out(connection, folder, approved=plan.digest, unit_size=unit_size, about={"finished_by": who})
        if sums.open_lanes or not folder.summary_json.exists():
            summaries.append(prove(connection, folder))
    return summaries


def undos_of(session: Session, ledger: LedgerFile, plan: PlanIdentity) -> dict[PlanIdentity, Account]:
    """The undos of a plan that were ever begun, with what their markers say, on the ledger queue and in the ledger.

    Raises `MQError`, `LedgerBroken`.
    """
    queue = LedgerQueue(session, ledger.keys)
    try:  # before the ledger: a marker that is drained meanwhile is seen twice, not missed
        waiting = list(queue.markers())
    finally:
        queue.close()
    found: dict[PlanIdentity, Account] = {}
    for marker in chain([one for one in waiting if one.kind == "issued"], ledger.markers(kind="issued")):
        mine = PlanIdentity(run=marker.run, digest=marker.plan)
        if mine not in found and _undoes(marker, plan):
            here = [one for one in waiting if (one.run, one.plan) == (mine.run, mine.digest)]
            found[mine] = account({one.unit: one for one in chain(here, ledger.markers(plan=mine))}.values())
    return found


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

    run: RunFolder
    order: Order
    sums: Account
    places: Places
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    done: dict[int, Done] = field(default_factory=dict)

    def copy_to(self, folder: RunFolder) -> None:
        """Read the plan, copy the originals, note what became of each."""
        wanted = self._wanted()
        snapshot.begin(folder)
        make_folder(folder.snapshot)
        write_parquet(folder.snapshot, SNAPSHOT, copied(self.run.snapshot, wanted, self._note))
        observed_at = str(read_json(self.run.observe_json)["observed_at"])
        snapshot.finish(folder, self.order.queue_manager, self.order.queues, observed_at, whole=False)

    def _wanted(self) -> dict[Which, int]:
        seen: Counter[Place] = Counter()
        wanted: dict[Which, int] = {}
        for row in plan_rows(self.run, self.order):
            place = (row["queue"], row["msg_key"])
            if row["row"] in self.sums.acted:
                wanted[*place, seen[place]] = row["row"]
                self.rows[row["row"]] = row
            seen[place] += 1
        return wanted

    def _note(self, number: int, original: Original) -> None:
        row = self.rows[number]
        there = "" if row["action"] in DISCARDS else self.places.of(row["dest_q"], row["dest_q_mgr"]).queue
        expiry, report = _read(original.md)
        self.done[number] = Done(
            row=number,
            queue=row["queue"],
            msg_key=row["msg_key"],
            discarded=row["action"] in DISCARDS,
            there=there,
            key_there=key_as_put(row, original) if there else "",
            expiry=expiry,
            seen_at=original.seen_at,
            report=report,
            together=row["together"],
        )


def _fates(session: Session, todo: _Todo, undone: set[int], now: datetime) -> Iterator[tuple[Done, Fate]]:
    """What is to be done about each message. What seems consumed is looked for once more, while nothing is hidden."""
    done = [todo.done[number] for number in sorted(todo.done)]
    wanted = {place for one in done for place in ((one.queue, one.msg_key), (one.there, one.key_there)) if place[0]}
    proof = {one.queue for one in done if one.discarded}
    looks = _Looks(session, wanted, todo.places)
    for queue in sorted({name for name, _ in wanted}):
        looks.at(queue, whole=queue in proof)
    decided = partial(fates, done, undone=undone, now=now)
    first = decided(on_queues=looks.all(), hidden=looks.hidden)
    consumed = [one for one, fate in first if fate.action == "CONSUMED"]
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
    wanted: Set[Place]
    places: Places
    found: dict[str, Counter[Place]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    def at(self, queue: str, *, whole: bool) -> None:
        """Look at a queue (`whole` as in `picture`). One that cannot be read hides what is on it, and no other's.

        Raises:
            InProgress: units of work of others hide messages.
            MQError: the connection is to blame, or what passes by itself; look again.
        """
        try:
            keys = picture(self.session, queue, lambda got: key_of(got.md, got.body), whole=whole)
        except PermanentMQError as error:
            self.hidden.add(queue)
            self.places.note(queue, str(error))
        else:
            self.found[queue] = Counter(place for key in keys if (place := (queue, key)) in self.wanted)

    def all(self) -> Counter[Place]:
        """What is on all of them."""
        return sum(self.found.values(), Counter())


def _rows(todo: _Todo, found: Iterable[tuple[Done, Fate]]) -> Iterator[dict[str, Any]]:
    """The rows of the undo's plan, in the order of the run's."""
    for one, fate in found:
        acts = fate.action in {RESTORE, RETURN}
        taken = (one.there, one.key_there) if fate.action == RETURN else (one.queue, one.msg_key)
        yield todo.rows[one.row] | {
            **dict(zip(("queue", "msg_key"), taken, strict=True)),
            **{"rule_line": None, "rule_key": None, "action": fate.action, "tries": fate.same},
            **{"dest_q": one.queue if acts else "", "dest_q_mgr": ""},
            **{"header": True, "putaut": "", "alternate_user": ""},
            "unit_group": f"{one.queue}@" if acts else fate.action,
        }
