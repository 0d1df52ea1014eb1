"""Records of a run that were on MQOPS.LEDGER and are neither there nor in the ledger: somebody took them away.

1. RUN/issued.json is written when the marker that says so is committed, and before that marker may be drained. So a
   plan with that note has the marker's line in the ledger, once its markers are drained.
2. RUN/act.json counts what an execution of act committed, each unit of work with its marker. So the ledger has at least
   as many rows.

An execution that ended without act.json is not noticed here if all of its markers are taken away.
"""

from __future__ import annotations

from mqops.counted import counted
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.drain import issued_lanes
from mqops.ledger.queue import NAME


def missing_records(run: RunFolder, plan: PlanIdentity, sums: Account) -> list[str]:
    """What is missing, in words. Parameters: `sums` of the plan's lines in the ledger, its markers being drained.

    Raises `LakeError`.
    """
    gone: list[str] = []
    if not sums.lengths and issued_lanes(run, plan) is not None:
        gone.append(f"the record that the plan was begun is gone from {NAME}: somebody took it away")
    if (acted := _acted(run, plan)) > len(sums.acted):
        gone.append(
            f"act moved and discarded {counted(acted, 'message')}, and the ledger has {len(sums.acted):,}: "
            f"records are gone from {NAME}, somebody took them away"
        )
    return gone


def _acted(run: RunFolder, plan: PlanIdentity) -> int:
    """How many messages the last execution of act moved and discarded, 0 if it wrote no summary."""
    summary = read_json(run.act_json) if run.act_json.exists() else {}
    return int(summary["moved"]) + int(summary["discarded"]) if summary.get("plan") == plan.digest else 0
