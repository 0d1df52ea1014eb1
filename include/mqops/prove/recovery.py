"""What killed runs left on the ledger queue: markers, for the ledger, and tickets, which say what is not done.

Retry counts are counted from the ledger, so the markers of the lake's runs are brought there before anything is
decided. A run whose plan is not in this lake may be at work with another lake, which alone can tell: its markers stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from mqops.clock import utc_now
from mqops.errors import InProgress, LakeError, MQError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.drain import drain
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import NAME, LedgerQueue
from mqops.mq.session import Session
from mqops.prove import undo_record as undo
from mqwire.constants import MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_OBJECT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What was there.

    Attributes: `lines` added to the ledger; `unfinished` runs that were begun, are not finished or not proved, and that
    nobody is at work on; `elsewhere` the keys of the runs whose markers stay where they are, their plans not being in
    `lake`; `queue_manager` on whose ledger queue they are.
    """

    lake: Path
    queue_manager: str
    lines: int = 0
    unfinished: tuple[RunFolder, ...] = ()
    elsewhere: tuple[str, ...] = ()

    def told(self) -> Iterator[str]:
        """All that is to be told, a line for each run."""
        yield from self.to_finish()
        yield from self.passed_over()

    def to_finish(self) -> Iterator[str]:
        """A line for each unfinished run, with the command that finishes it."""
        for run in self.unfinished:
            undone = undo.kept(run)
            name = run.lake_folder.name
            command = f"undo {undone.plan.run}" if undone else f"resume {run.run} --finish"
            yield f"run {run.run} was begun and is not finished: `mqops {command} -m {name}` finishes it"

    def passed_over(self) -> Iterator[str]:
        """A line for each run whose markers stay, with the commands that record them."""
        for run in self.elsewhere:
            drain_command = f"mqops ledger drain -m {self.queue_manager}"
            yield (
                f"markers of run {run} on {NAME} belong to another lake, {self.lake} does not have its plan: "
                f"`{drain_command} --lake` of that run records them, `{drain_command} --orphan {run}` where its lake "
                "is gone"
            )


def drain_leftovers(session: Session, lake: Path, queue_manager: str, *, orphans: Collection[str] = ()) -> Leftovers:
    """Bring the markers of the lake's runs from the ledger queue into the ledger. No application's message is touched.

    A run that somebody acts on or proves at the moment is passed over: it drains its own. So is a run whose plan is not
    in this lake: whoever took its markers would take its proof away.

    Parameters: `orphans` keys of runs whose markers are recorded although their plans are not here: their lakes are
    gone, so that nobody can prove them or go on with them.

    Raises:
        MqopsError: call again; nothing is recorded twice.
    """
    queue = LedgerQueue(session)
    begun = {PlanIdentity(run=ticket.run, digest=ticket.plan) for ticket in queue.tickets()}
    marked = dict.fromkeys(queue.plans())
    queue.close()
    lines, unfinished, elsewhere = 0, [], []
    for plan in dict.fromkeys([*marked, *sorted(begun, key=lambda one: one.run)]):
        folder = RunFolder.at(lake, queue_manager, plan.run)
        ledger = LedgerFile(folder.lake_folder, utc_now)
        if not _has_plan(folder, plan):
            if plan.run in orphans:
                lines += drain(session, ledger, None, plan)
            elif plan in marked:
                elsewhere.append(plan.run)
            continue
        try:
            with folder.lock(wait=0):
                lines += drain(session, ledger, folder, plan)
        except InProgress:
            continue
        if plan in begun or not folder.summary_json.exists():
            unfinished.append(folder)
    return Leftovers(
        lake=lake,
        queue_manager=queue_manager,
        lines=lines,
        unfinished=tuple(unfinished),
        elsewhere=tuple(dict.fromkeys(elsewhere)),
    )


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
        tell(line)
