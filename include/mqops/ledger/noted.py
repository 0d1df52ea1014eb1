"""What a run notes beside the ledger: that its lane tokens are issued (RUN/issued.json), what an execution of act did
(RUN/act.json), and the digest of its plan, by which the ledger knows it."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.lake.run_file import RunFile
from mqops.ledger.core.identity import PlanIdentity
from mqops.model import ActSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """Parameters: `plan` digest; `lanes` rows of each; `signed` False where a version without signatures began the run;
    `key` id of the key that signs, "" where an earlier version did not note it."""

    run: str
    plan: str
    lanes: tuple[int, ...]
    signed: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What the ledger needs of RUN/plan.json."""

    digest: str


ISSUED = RunFile("issued.json", Issued)
ACTED = RunFile("act.json", ActSummary)
PLANNED = RunFile("plan.json", Planned)


def moved_by(acted: ActSummary | None, plan: PlanIdentity) -> int:
    """How many messages the last execution of act moved and discarded, 0 if it wrote no summary of this plan."""
    return acted.moved + acted.discarded if acted and acted.plan == plan.digest else 0
