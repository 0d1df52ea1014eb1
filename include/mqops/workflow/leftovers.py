"""What killed runs left on the ledger queue: markers, for the ledger, and tickets, which say what is not done.

Retry counts are counted from the ledger, so the markers of all runs are brought there before anything is decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mqops.act.identity import PlanIdentity
from mqops.errors import InProgress
from mqops.mq.ledger_queue import LedgerQueue
from mqops.mq.session import Session
from mqops.store import undo
from mqops.store.ledger import LedgerFile
from mqops.store.run import RunFolder
from mqops.workflow.clock import utc_now
from mqops.workflow.prove import drain


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
