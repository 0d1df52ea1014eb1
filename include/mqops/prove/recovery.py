"""What killed runs left on the ledger queue: markers, for the ledger, and tickets, which say what is not done.

Retry counts are counted from the ledger, so the markers of the lake's runs are brought there before anything is
decided. A run whose plan is not in this lake may be at work with another lake, which alone can tell: its markers stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mqops.clock import utc_now
from mqops.command import command
from mqops.errors import InProgress, LakeError, MQError, SettingsError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.received import Kind, Stranger, plan_of, receive
from mqops.ledger.drain import drain, is_in_doubt, refuse_unsigned
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import BATCH, NAME, LedgerQueue
from mqops.ledger.set_aside import SetAside, remark
from mqops.mq.session import Got, Session
from mqops.printable import printable
from mqops.prove import undo_record as undo
from mqwire.constants import MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_OBJECT_NAME

ALL = "*"
"""For `drain_leftovers`: all runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What was there.

    Attributes: `lines` added to the ledger; `unfinished` runs that were begun, are not finished or not proved, and that
    nobody is at work on; `elsewhere` the keys of the runs whose markers stay where they are, their plans not being in
    `lake`; `queue_manager` on whose ledger queue they are; `problems` runs that this version does not touch, and why;
    `set_aside` a sentence about the messages that were set aside, now or before, "" where there are none.
    """

    lake: Path
    queue_manager: str
    lines: int = 0
    unfinished: tuple[RunFolder, ...] = ()
    elsewhere: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    set_aside: str = ""

    def told(self) -> Iterator[str]:
        """All that is to be told, a line for each run."""
        yield from self.to_finish()
        yield from self.passed_over()
        yield from self.problems
        if self.set_aside:
            yield self.set_aside

    def to_finish(self) -> Iterator[str]:
        """A line for each unfinished run, with the command that finishes it."""
        for run in self.unfinished:
            undone = undo.kept(run)
            words = ("undo", undone.plan.run) if undone else ("resume", run.run, "--finish")
            finish = command("mqops", *words, "-m", run.queue_manager)
            yield f"run {run.run} was begun and is not finished: `{finish}` finishes it"

    def passed_over(self) -> Iterator[str]:
        """A line for each run whose markers stay, with the commands that record them."""
        for run in self.elsewhere:
            words = ("mqops", "ledger", "drain", "-m", self.queue_manager)
            yield (
                f"markers of run {run} on {NAME} belong to another lake, {self.lake} does not have its plan: "
                f"`{command(*words, '--lake')}` of that run records them, `{command(*words, '--orphan', run)}` where "
                "its lake is gone"
            )


def drain_leftovers(
    session: Session,
    lake: Path,
    queue_manager: str,
    *,
    orphans: Collection[str] = (),
    foreign: Collection[str] = (),
) -> Leftovers:
    """Bring the markers of the lake's runs from the ledger queue into the ledger. No application's message is touched.

    A run that somebody acts on or proves at the moment is passed over: it drains its own. So is a run whose plan is not
    in this lake: whoever took its markers would take its proof away.

    What is not a marker or a ticket, or is one of a run of this lake and not signed by this lake, is set aside.

    Parameters: `orphans` keys of runs whose markers are recorded although their plans are not here: their lakes are
    gone, so that nobody can prove them or go on with them. Markers that this lake's keys did not sign are set aside;
    `foreign` keys of runs of which what an unknown key signed is set aside, `ALL` for all runs.

    Raises:
        MqopsError: call again; nothing is recorded twice.
    """
    file = LedgerFile(RunFolder.at(lake, queue_manager, "any").lake_folder, utc_now)
    sweep = _Sweep(session, file, lake, queue_manager, foreign)
    sweep.run()
    lines, unfinished, elsewhere, problems = 0, [], [], []
    for plan in dict.fromkeys([*sweep.marked, *sorted(sweep.begun, key=lambda one: one.run)]):
        folder = RunFolder.at(lake, queue_manager, plan.run)
        if not sweep.is_here(plan):
            if plan.run in orphans:
                lines += drain(session, file, None, plan)
            elif plan in sweep.marked:
                elsewhere.append(plan.run)
            continue
        try:
            with folder.lock(wait=0):
                lines += drain(session, file, folder, plan)
                is_open = plan in sweep.begun and _has_open_lanes(session, file, plan)
        except InProgress:
            continue
        except SettingsError as error:
            problems.append(str(error))
            continue
        if is_open or not folder.summary_json.exists():
            unfinished.append(folder)
    return Leftovers(
        lake=lake,
        queue_manager=queue_manager,
        lines=lines,
        unfinished=tuple(unfinished),
        elsewhere=tuple(dict.fromkeys(elsewhere)),
        problems=tuple(problems),
        set_aside=remark(file.folder.parent),
    )


class _Sweep:
    """One look at every message on the ledger queue: sets strangers aside, and notes the plans of the others.

    Attributes: `marked` plans that have markers there; `begun` plans that have tickets there.
    """

    def __init__(
        self, session: Session, file: LedgerFile, lake: Path, queue_manager: str, foreign: Collection[str]
    ) -> None:
        self.marked: dict[PlanIdentity, None] = {}
        self.begun: set[PlanIdentity] = set()
        self._session = session
        self._file = file
        self._lake = lake
        self._queue_manager = queue_manager
        self._foreign = foreign
        self._here: dict[PlanIdentity, bool] = {}
        self._in_doubt: dict[PlanIdentity, bool] = {}

    def run(self) -> None:
        """Look. Raises `MqopsError`."""
        queue = LedgerQueue(self._session, self._file.keys)
        try:
            taken: list[SetAside] = []
            for got in queue.browse():
                stranger = self._stranger(got)
                if stranger is not None and (mine := queue.take_browsed()) is not None:
                    taken.append(SetAside(md=mine.md, body=mine.body, stranger=stranger))
                if len(taken) == BATCH:
                    self._keep(taken)
            self._keep(taken)
        finally:
            queue.close()

    def _stranger(self, got: Got) -> Stranger | None:
        """Why a message is to be set aside; None where it stays, and is noted."""
        try:
            found = receive(got.md, got.body, self._file.keys)
        except Stranger as stranger:
            plan = stranger.claims
            if plan is None or stranger.kind is not Kind.FORGED:
                return stranger
            if self._stays(stranger, plan):
                if stranger.is_marker:
                    self.marked[plan] = None
                return None
            return stranger
        if isinstance(found, Marker):
            self.marked[plan_of(found)] = None
        else:
            self.begun.add(plan_of(found))
        return None

    def _stays(self, stranger: Stranger, plan: PlanIdentity) -> bool:
        """Whether a message that no key of this lake signed is left where it is: it may be true nevertheless."""
        if not stranger.foreign:
            return self.is_here(plan) and self._is_unsigned(plan)
        if plan.run in self._foreign or ALL in self._foreign:
            return False
        if plan not in self._in_doubt:
            run = RunFolder.at(self._lake, self._queue_manager, plan.run)
            self._in_doubt[plan] = not self.is_here(plan) or is_in_doubt(run, plan, self._file)
        return self._in_doubt[plan]

    def _is_unsigned(self, plan: PlanIdentity) -> bool:
        """Whether a plan was begun by a version that did not sign; then it is noted, to be told."""
        try:
            refuse_unsigned(RunFolder.at(self._lake, self._queue_manager, plan.run), plan, self._file)
        except SettingsError:
            self.marked[plan] = None
            return True
        return False

    def is_here(self, plan: PlanIdentity) -> bool:
        """Whether the lake has this plan."""
        if plan not in self._here:
            self._here[plan] = _has_plan(RunFolder.at(self._lake, self._queue_manager, plan.run), plan)
        return self._here[plan]

    def _keep(self, taken: list[SetAside]) -> None:
        if taken:
            with self._file.writer() as writer:
                writer.set_aside(taken)
            self._session.commit()
            taken.clear()


def _has_open_lanes(session: Session, file: LedgerFile, plan: PlanIdentity) -> bool:
    """Whether lanes of a plan are not finished; sets aside tickets that were used and put again.

    The run's lock is held and its markers are drained. A ticket before the lane's position was used: positions only go
    up. Raises `MqopsError`.
    """
    sums = account(file.markers(plan=plan))
    if not sums.lengths:
        return True
    queue = LedgerQueue(session, file.keys)
    try:
        for lane, length in enumerate(sums.lengths):
            position = sums.done.get(lane, 0)
            if strangers := queue.take_used_tickets(plan, lane, length if position >= length else position):
                with file.writer() as writer:
                    writer.set_aside(strangers_of(strangers, plan))
                session.commit()
    finally:
        queue.close()
    return bool(sums.open_lanes)


def strangers_of(copies: Iterable[Got], plan: PlanIdentity) -> list[SetAside]:
    """Tickets that were used and put again, to be set aside."""
    why = Stranger(Kind.COPIED, "a ticket that was used before", plan)
    return [SetAside(md=got.md, body=got.body, stranger=why) for got in copies]


def _has_plan(run: RunFolder, plan: PlanIdentity) -> bool:
    """Whether the run is the one that the markers are of: another lake may have one of the same key."""
    try:
        return run.plan_json.exists() and bool(read_json(run.plan_json)["digest"] == plan.digest)
    except (LakeError, KeyError):
        return False


def settle_leftovers(session: Session, lake: Path, queue_manager: str, tell: Callable[[str], None]) -> None:
    """Drain what was left before a plan is made; `tell` gets a line for each run that is not finished.

    Nothing is done where there is no ledger queue for this user, so that a plan can be looked at: acting on it says so.

    Raises:
        MqopsError: as `drain_leftovers`.
    """
    try:
        found = drain_leftovers(session, lake, queue_manager)
    except MQError as error:
        if error.reason not in {MQRC_UNKNOWN_OBJECT_NAME, MQRC_NOT_AUTHORIZED}:
            raise
        return
    for line in found.told():
        tell(printable(line))
