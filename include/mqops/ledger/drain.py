"""Markers move from the ledger queue to the ledger file. RUN/issued.json notes that a plan's tickets were issued."""

from __future__ import annotations

from collections.abc import Sequence

from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import LedgerQueue
from mqops.mq.session import Session


def drain(session: Session, ledger: LedgerFile, run: RunFolder | None, plan: PlanIdentity) -> int:
    """Move a plan's markers from the ledger queue to the ledger; returns the number of lines added.

    A marker is committed off the queue when its line is on disk. That tickets were issued is noted in the run's folder
    before the marker that says so can go (`run` None: the run's lake is gone, so that it can not be resumed anyway).

    Raises:
        MqopsError: call again; nothing is recorded twice.
    """
    added = 0
    queue = LedgerQueue(session)
    try:
        if run is not None:
            _note_issue(queue, run, plan)
        with ledger.writer() as writer:
            while markers := queue.take_markers(plan):
                added += writer.add(markers)
                session.commit()
    finally:
        queue.close()
    return added


def _note_issue(queue: LedgerQueue, run: RunFolder, plan: PlanIdentity) -> None:
    if issued_lanes(run, plan) is not None:
        return
    body = queue.look(msg_id=plan.issued_id())
    if body is not None:
        note_issued(run, plan, Marker.unpack(body).lanes)


def issued_lanes(run: RunFolder, plan: PlanIdentity) -> list[int] | None:
    """Rows of each lane if it is noted that the plan's tickets were issued, else None."""
    if not run.issued_json.exists():
        return None
    noted = read_json(run.issued_json)
    return [int(rows) for rows in noted["lanes"]] if noted["plan"] == plan.digest else None


def note_issued(run: RunFolder, plan: PlanIdentity, lanes: Sequence[int]) -> None:
    """Note it. From then on the marker that says so may be drained. Raises `LakeError`."""
    write_json(run.issued_json, {"run": plan.run, "plan": plan.digest, "lanes": list(lanes)})
