"""What the runs noted, and neither their ledger nor the ledger queue has: the end of the ledger was cut off.

A run notes in RUN/issued.json that its lane tokens are issued, and in RUN/act.json how many messages an execution has
moved or discarded, each when the markers of it are committed. A marker is on the ledger queue until its line is on
disk. So each is in one of the two, whatever process was killed. Proofs say this, too (`mqops.ledger.verified`), but
they can be removed with the lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mqops.counted import counted
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerKind
from mqops.ledger.file import LedgerFile
from mqops.ledger.noted import ACTED, ISSUED, moved_by
from mqops.ledger.queue import NAME, LedgerQueue
from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a run noted of its plan. Parameters: `moved` messages moved or discarded, 0 while no execution has ended."""

    plan: PlanIdentity
    moved: int = 0

    def missing(self, recorded: Mapping[PlanIdentity, int]) -> str:
        """What is not recorded, in words, or nothing. Parameters: `recorded` plan → rows acted on."""
        there = recorded.get(self.plan)
        if there is None:
            return f"run {self.plan.run} was begun (issued.json)"
        if there < self.moved:
            return f"run {self.plan.run} moved {counted(self.moved, 'message')} (act.json), not {there}"
        return ""


def noted_by_runs(file: LedgerFile) -> list[Noted]:
    """What all runs of a queue manager noted. One whose folder is gone says nothing. Raises `LakeError`."""
    runs = sorted(path.parent for path in file.folder.parent.glob(f"runs/*/{ISSUED.name}"))
    return [_noted(RunFolder(path)) for path in runs]


def _noted(run: RunFolder) -> Noted:
    issued = ISSUED.read(run)
    plan = PlanIdentity(run=issued.run, digest=issued.plan)
    return Noted(plan=plan, moved=moved_by(ACTED.find(run), plan))


def not_recorded(noted: Iterable[Noted], recorded: Mapping[PlanIdentity, int]) -> list[str]:
    """What is not recorded, in words."""
    return [words for one in noted if (words := one.missing(recorded))]


def on_queue(session: Session, file: LedgerFile) -> Counter[PlanIdentity]:
    """Plan → rows acted on, by the markers on the ledger queue. Raises `MQError`."""
    queue = LedgerQueue(session, file.keys)
    try:
        found: Counter[PlanIdentity] = Counter()
        for marker in queue.markers():
            found[PlanIdentity(run=marker.run, digest=marker.plan)] += _acted(marker)
        return found
    finally:
        queue.close()


def _acted(marker: Marker) -> int:
    return len(marker.rows) if marker.kind == MarkerKind.ACTED else 0


def cut_off(missing: list[str]) -> str:
    """That the ledger lacks it."""
    more = f"; {len(missing) - 1:,} more" if len(missing) > 1 else ""
    return (
        f"Neither the ledger nor {NAME} has what the runs noted: {missing[0]}{more}. Lines were cut off the ledger, or "
        "markers removed from the queue; restore the ledger from a copy, and keep this one for the inquiry"
    )
