"""What killed runs left on the ledger queue: markers, for the ledger, and tickets, which say what is not done.

Retry counts are counted from the ledger, so the markers of all runs are brought there before anything is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mqops.act.identity import PlanIdentity
from mqops.errors import InProgress, MQError
from mqops.mq.ledger_queue import LedgerQueue
from mqops.mq.session import Session
from mqops.store import undo
from mqops.store.ledger import LedgerFile
from mqops.store.run import RunFolder
from mqops.workflow.clock import utc_now
from mqops.workflow.prove import drain
from mqwire.constants import MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_OBJECT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What was there.

    Attributes: `lines` added to the ledger; `unfinished` runs that were begun, are not finished or not proved, and that
    nobody is at work on.
    """

    lines: int = 0
    unfinished: tuple[RunFolder, ...] = ()

    def told(self) -> Iterator[str]:
        """A line for each unfinished run, with the command that finishes it."""
        for run in self.unfinished:
            undone = undo.kept(run)
            name = run.lake_folder.name
            command = f"undo {undone.plan.run}" if undone else f"resume {run.run} --finish"
            yield f"run {run.run} was begun and is not finished: `mqops {command} -m {name}` finishes it"


def drain_leftovers(session: Session, lake: Path, queue_manager: str) -> Leftovers:
    """Bring all markers on the ledger queue into the ledger. No message of an application is touched.

    A run that somebody acts on or proves at the moment is passed over: it drains its own.

    Raises:
        MqopsError: call again; nothing is recorded twice.
    """
    queue = LedgerQueue(session)
    begun = {PlanIdentity(run=ticket.run, digest=ticket.plan) for ticket in queue.tickets()}
    plans = [*queue.plans()]
    queue.close()
    lines, unfinished = 0, []
    for plan in dict.fromkeys([*plans, *sorted(begun, key=lambda one: one.run)]):
        folder = RunFolder.at(lake, queue_manager, plan.run)
        ledger = LedgerFile(folder.lake_folder, utc_now)
        if not folder.path.is_dir():
            lines += drain(session, ledger, None, plan)
            continue
        try:
            with folder.lock(wait=0):
                lines += drain(session, ledger, folder, plan)
        except InProgress:
            continue
        if plan in begun or not folder.summary_json.exists():
            unfinished.append(folder)
    return Leftovers(lines=lines, unfinished=tuple(unfinished))


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
