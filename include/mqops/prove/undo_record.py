"""What an undo is about: RUN/undo.json."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity

WORKFLOW = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoes:
    """The plan that is undone, and the digests of the undos of it that had been begun when this one was planned."""

    plan: PlanIdentity
    earlier: Set[str]


def write_undo_record(run: RunFolder, undoes: Undoes) -> None:
    """Write the record into the run's folder, which is made if it is missing. Raises `LakeError`."""
    run.create()
    about = {"run": undoes.plan.run, "plan": undoes.plan.digest, "earlier": sorted(undoes.earlier)}
    write_json(run.undo_json, about)


def read_undo_record(run: RunFolder) -> Undoes | None:
    """What a run undoes; None if the run is not an undo. Raises `LakeError`."""
    if not run.undo_json.exists():
        return None
    about = read_json(run.undo_json)
    plan = PlanIdentity(run=about["run"], digest=about["plan"])
    return Undoes(plan=plan, earlier=frozenset(about["earlier"]))
