"""What killed runs left on the ledger queue: markers, which belong in the ledger, and lane tokens of unfinished lanes.

Failed tries are counted from the ledger. So the markers of the lake's runs are written to it before a plan is made. A
run whose plan is not in this lake may be active with another lake: its markers stay on the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqops.act.progress import command_to_go_on
from mqops.command import command
from mqops.counted import counted
from mqops.errors import InProgress, LakeError, MQError, NewerFormat, SettingsError
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.received import Stranger, StrangerKind, plan_of, receive
from mqops.ledger.drain import drain, is_in_doubt, refuse_unsigned
from mqops.ledger.elsewhere import LOST, Whose, at_work, note_taken_off, refuse_at_work, refuse_without_reason
from mqops.ledger.file import LedgerFile
from mqops.ledger.kept_head import is_head
from mqops.ledger.noted import PLANNED
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import NAME, LedgerQueue, batches
from mqops.ledger.set_aside import SetAside, remark
from mqops.ledger.stop_message import is_copy, is_stop
from mqops.ledger.writer import writer_of
from mqops.mq.session import RawMessage, Session
from mqops.printable import printable
from mqops.prove.records import SUMMARY, UNDO_RECORD
from mqwire.constants import MQRC_GET_INHIBITED, MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_OBJECT_NAME

ALL = "*"
"""For `drain_earlier_runs`: all runs."""
MOST_SHOWN = 10
"""The most runs of other lakes that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """What killed runs left.

    Attributes: `lines` added to the ledger; `unfinished` runs that were begun, are not finished or not proved, and that
    no process acts on; `elsewhere` the keys of the runs whose markers stay on the queue because their plans are not in
    `lake`, and `whose` they are, by these keys; `work` whether somebody is at work with the ledger queue, in words;
    `queue_manager` whose ledger queue it is; `problems` runs that this version does not touch, and why;
    `set_aside` a sentence about the messages that were set aside, now or before, "" if there are none.
    """

    lake: Path
    queue_manager: str
    lines: int = 0
    unfinished: tuple[RunFolder, ...] = ()
    elsewhere: tuple[str, ...] = ()
    whose: Mapping[str, Whose] = field(default_factory=dict)
    work: str = ""
    problems: tuple[str, ...] = ()
    set_aside: str = ""

    def remarks(self) -> Iterator[str]:
        """A line for each run or problem that a person must know of."""
        yield from self.to_finish()
        yield from self.not_touched()

    def not_touched(self) -> Iterator[str]:
        """A line for each run that another lake or version must deal with, and one about what was set aside."""
        yield from self.passed_over()
        yield from self.problems
        if self.set_aside:
            yield self.set_aside

    def to_finish(self) -> Iterator[str]:
        """A line for each unfinished run, with the command that finishes it."""
        for run in self.unfinished:
            undone = UNDO_RECORD.find(run)
            finish = command_to_go_on(run, undone.run if undone else "")
            yield f"run {run.run} was begun and is not finished. To finish it: `{finish}`"

    def passed_over(self) -> Iterator[str]:
        """A line for each of the first runs whose markers stay, whose they are, and the command that records them in
        their own lake; and how many more there are: who may put on the ledger queue can name any number of runs. No
        command is proposed that takes them off (`mqops.ledger.elsewhere`)."""
        for run in self.elsewhere[:MOST_SHOWN]:
            words = ("mqops", "ledger", "drain", "-m", self.queue_manager)
            whose = f" ({self.whose[run]})" if run in self.whose else ""
            yield (
                f"markers of run {run} on {NAME} belong to another lake, {self.lake} does not have its plan{whose}. "
                f"They stay there: `{command(*words)}` records them if --lake names the lake of that run. {LOST}"
            )
        if (more := len(self.elsewhere) - MOST_SHOWN) > 0:
            yield f"and markers of {counted(more, 'more run')} of other lakes on {NAME}"
        if self.elsewhere and self.work:
            yield self.work


def drain_earlier_runs(
    session: Session,
    lake: Path,
    queue_manager: str,
    *,
    orphans: Collection[str] = (),
    foreign: Collection[str] = (),
    why: str = "",
    who: str = "",
) -> EarlierRuns:
    """Bring the markers of the lake's runs from the ledger queue into the ledger. No application's message is touched.

    A run that a process acts on or proves at the moment is left out: that process drains its markers. A run whose plan
    is not in this lake is left out, too: it could not be proved without its markers.

    A message is set aside if it is neither a marker nor a lane token, or if it names a run of this lake and is not
    signed by this lake.

    Parameters: `orphans` keys of runs whose markers are recorded although their plans are not here: their lakes
    do not exist any more, so these runs cannot be proved or resumed. Markers that this lake's keys did not sign are
    set aside; `foreign` keys of runs: messages of these runs that an unknown key signed are set aside; `ALL` for all
    runs, and for heads of ledgers; `why` and `who` asks for that: it is noted (`mqops.ledger.elsewhere`).

    Raises:
        SettingsError: nobody said why markers of another lake are to be taken off.
        InProgress: somebody is at work with the ledger queue, so that their run may be alive.
        MqopsError: call again; nothing is recorded twice.
    """
    file = LedgerFile(RunFolder.at(lake, queue_manager, "any").lake_folder)
    refuse_without_reason((*orphans, *foreign), why)
    if orphans or foreign:
        refuse_at_work(session)
        note_taken_off(file.folder.parent, {*orphans, *foreign}, by=who, why=why)
    sweep = _Sweep(session, file, lake, queue_manager, foreign)
    sweep.run()
    lines, unfinished, elsewhere, problems = 0, [], [], []
    for plan in dict.fromkeys([*sweep.marked, *sorted(sweep.begun, key=lambda one: one.run)]):
        folder = RunFolder.at(lake, queue_manager, plan.run)
        if not sweep.is_here(plan):
            if plan.run in orphans:
                lines += drain(session, OpenLedger(file, plan, None))
            elif plan in sweep.marked:
                elsewhere.append(plan.run)
            continue
        try:
            with folder.lock(wait=0):
                ledger = OpenLedger(file, plan, folder)
                lines += drain(session, ledger)
                is_open = plan in sweep.begun and _has_open_lanes(session, ledger)
        except InProgress:
            continue
        except SettingsError as error:
            problems.append(str(error))
            continue
        if is_open or not SUMMARY.exists(folder):
            unfinished.append(folder)
    return EarlierRuns(
        lake=lake,
        queue_manager=queue_manager,
        lines=lines,
        unfinished=tuple(unfinished),
        elsewhere=tuple(dict.fromkeys(elsewhere)),
        whose={plan.run: whose for plan, whose in sweep.marked.items()},
        work=at_work(session) if elsewhere else "",
        problems=tuple(problems),
        set_aside=remark(file.folder.parent),
    )


class _Sweep:
    """One look at every message on the ledger queue: sets strangers aside, and notes the plans of the others.

    Attributes: `marked` plans that have markers there, and whose they are; `begun` plans that have lane tokens there.
    """

    def __init__(
        self, session: Session, file: LedgerFile, lake: Path, queue_manager: str, foreign: Collection[str]
    ) -> None:
        self.marked: dict[PlanIdentity, Whose] = {}
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
            for batch in batches(self._taken(queue)):
                with writer_of(self._file) as writer:
                    writer.set_aside(batch)
                self._session.commit()
        finally:
            queue.close()

    def _taken(self, queue: LedgerQueue) -> Iterator[SetAside]:
        for got in queue.browse():
            stranger = self._stranger(got)
            if stranger is not None and (mine := queue.take_browsed()) is not None:
                yield SetAside(md=mine.md, body=mine.body, stranger=stranger)

    def _stranger(self, got: RawMessage) -> Stranger | None:
        """Why a message is to be set aside; None where it stays, and is noted."""
        if is_stop(got.md):  # it holds until a person takes it off
            return (
                Stranger(StrangerKind.COPIED, "a stop that was taken back") if is_copy(got, self._file.keys) else None
            )
        if is_head(got, self._file.keys, foreign=ALL not in self._foreign):
            return None  # of this lake or of another one
        try:
            found = receive(got.md, got.body, self._file.keys)
        except Stranger as stranger:
            plan = stranger.claims
            if plan is None or stranger.kind is not StrangerKind.FORGED:
                return stranger
            if self._stays(stranger, plan):
                if stranger.is_marker:
                    self._note(plan, got, verified=False)
                return None
            return stranger
        if isinstance(found, Marker):
            self._note(plan_of(found), got, verified=True)
        else:
            self.begun.add(plan_of(found))
        return None

    def _note(self, plan: PlanIdentity, got: RawMessage, *, verified: bool) -> None:
        self.marked.setdefault(plan, Whose()).add(got.md, verified=verified)

    def _stays(self, stranger: Stranger, plan: PlanIdentity) -> bool:
        """Whether a message that no key of this lake signed is left where it is: it may be true nevertheless."""
        if not stranger.foreign:
            return self.is_here(plan) and self._is_unsigned(plan)
        if plan.run in self._foreign or ALL in self._foreign:
            return False
        if plan not in self._in_doubt:
            self._in_doubt[plan] = not self.is_here(plan) or is_in_doubt(self._opened(plan))
        return self._in_doubt[plan]

    def _is_unsigned(self, plan: PlanIdentity) -> bool:
        """Whether a plan was begun by a version that did not sign; then it is noted, to be reported."""
        try:
            refuse_unsigned(self._opened(plan))
        except SettingsError:
            self.marked.setdefault(plan, Whose())
            return True
        return False

    def _opened(self, plan: PlanIdentity) -> OpenLedger:
        return OpenLedger(self._file, plan, RunFolder.at(self._lake, self._queue_manager, plan.run))

    def is_here(self, plan: PlanIdentity) -> bool:
        """Whether the lake has this plan."""
        if plan not in self._here:
            self._here[plan] = _has_plan(RunFolder.at(self._lake, self._queue_manager, plan.run), plan)
        return self._here[plan]


def _has_open_lanes(session: Session, ledger: OpenLedger) -> bool:
    """Whether lanes of a plan are not finished; sets aside lane tokens that were used and put again.

    The run's lock is held and its markers are drained. A lane token before the lane's position was used: positions
    only go up. Raises `MqopsError`.
    """
    sums, plan = ledger.sums(), ledger.plan
    if not sums.lengths:
        return True
    queue = LedgerQueue(session, ledger.keys)
    try:
        for lane, length in enumerate(sums.lengths):
            position = sums.done.get(lane, 0)
            if strangers := queue.take_used_lane_tokens(plan, lane, length if position >= length else position):
                with writer_of(ledger.file) as writer:
                    writer.set_aside(strangers_of(strangers, plan))
                session.commit()
    finally:
        queue.close()
    return bool(sums.open_lanes)


def strangers_of(copies: Iterable[RawMessage], plan: PlanIdentity) -> list[SetAside]:
    """Lane tokens that were used and put again, to be set aside."""
    why = Stranger(StrangerKind.COPIED, "a lane token that was used before", plan)
    return [SetAside(md=got.md, body=got.body, stranger=why) for got in copies]


def _has_plan(run: RunFolder, plan: PlanIdentity) -> bool:
    """Whether the run is the one that the markers are of: another lake may have one of the same key. Raises
    `NewerFormat`."""
    try:
        planned = PLANNED.find(run)
        return planned is not None and planned.digest == plan.digest
    except NewerFormat:
        raise
    except LakeError:
        return False


def record_earlier_runs(session: Session, lake: Path, queue_manager: str, warn: Callable[[str], None]) -> None:
    """Record the markers of earlier runs in the ledger before a plan is made.

    If this user has no ledger queue, or nothing can be got from it (GET(DISABLED)), nothing is recorded, so that a plan
    can be made and read. The pre-flight of the plan reports the problem, and `act` refuses to begin.

    Parameters: `warn` gets a line for each unfinished run.

    Raises:
        MqopsError: as `drain_earlier_runs`.
    """
    try:
        found = drain_earlier_runs(session, lake, queue_manager)
    except MQError as error:
        if error.reason not in {MQRC_UNKNOWN_OBJECT_NAME, MQRC_NOT_AUTHORIZED, MQRC_GET_INHIBITED}:
            raise
        if error.reason == MQRC_GET_INHIBITED:
            warn(f"{NAME} has GET(DISABLED): the plan does not count tries of runs that ended before they were proved")
        return
    for line in found.remarks():
        warn(printable(line))
