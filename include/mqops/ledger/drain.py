"""Markers move from the ledger queue to the ledger file. RUN/issued.json notes that a plan's tickets were issued."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mqops.errors import SettingsError
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.received import Kind, Stranger, plan_of, put_by, receive
from mqops.ledger.core.seal import Seal
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import NAME, LedgerQueue
from mqops.ledger.set_aside import SetAside
from mqops.mq.session import Got, Session


def drain(session: Session, ledger: LedgerFile, run: RunFolder | None, plan: PlanIdentity) -> int:
    """Move a plan's markers from the ledger queue to the ledger; returns the number of lines added.

    A marker is committed off the queue when its line is on disk; a message that is not a marker of this lake, when it
    is set aside (`mqops.ledger.set_aside`). That tickets were issued is noted in the run's folder before the marker
    that says so can go (`run` None: the run's lake is gone, so that it can not be resumed anyway).

    Raises:
        MqopsError: call again; nothing is recorded twice.
    """
    added = 0
    if run is not None:
        refuse_unsigned(run, plan, ledger)
    queue = LedgerQueue(session, ledger.keys)
    try:
        if run is not None:
            _note_issue(queue, run, plan)
        with ledger.writer() as writer:
            while batch := queue.take_batch(plan.markers()):
                markers, strangers = sorted_out(batch, ledger.keys)
                added += writer.add(markers)
                writer.set_aside(strangers)
                session.commit()
    finally:
        queue.close()
    return added


def _note_issue(queue: LedgerQueue, run: RunFolder, plan: PlanIdentity) -> None:
    if issued_lanes(run, plan) is not None:
        return
    marker = queue.marker(plan.issued_id())
    if marker is not None:
        note_issued(run, plan, marker.lanes)


def sorted_out(batch: Iterable[Got], seal: Seal) -> tuple[list[Marker], list[SetAside]]:
    """The markers among messages of the ledger queue, each with who put it, and the others."""
    markers: list[Marker] = []
    strangers: list[SetAside] = []
    for got in batch:
        try:
            found = receive(got.md, got.body, seal)
            if not isinstance(found, Marker):
                raise Stranger(Kind.COPIED, "a ticket with the CorrelId of markers", plan_of(found))
            markers.append(replace(found, put=put_by(got.md)))
        except Stranger as stranger:
            strangers.append(SetAside(md=got.md, body=got.body, stranger=stranger))
    return markers, strangers


def issued_lanes(run: RunFolder, plan: PlanIdentity) -> list[int] | None:
    """Rows of each lane if it is noted that the plan's tickets were issued, else None."""
    if not run.issued_json.exists():
        return None
    noted = read_json(run.issued_json)
    return [int(rows) for rows in noted["lanes"]] if noted["plan"] == plan.digest else None


def note_issued(run: RunFolder, plan: PlanIdentity, lanes: Sequence[int]) -> None:
    """Note it. From then on the marker that says so may be drained. Raises `LakeError`."""
    write_json(run.issued_json, {"run": plan.run, "plan": plan.digest, "lanes": list(lanes), "signed": True})


def refuse_unsigned(run: RunFolder, plan: PlanIdentity, ledger: LedgerFile) -> None:
    """Refuse a plan that an earlier version began and did not finish: its messages on the ledger queue are not signed.

    Raises `SettingsError`.
    """
    if not run.issued_json.exists() or read_json(run.issued_json).get("signed"):
        return
    sums = account(ledger.markers(plan=plan))
    if not sums.lengths or sums.open_lanes:
        raise SettingsError(
            f"Run {plan.run} was begun by a version of mqops that did not sign its messages on {NAME}. Finish it with "
            "that version; nothing of it was touched"
        )
