"""What backout reprocessing adds to a decision by a rules table (on Spark: `mqops.decide.spark.backout`).

1. Before the rules: a message without MQDLH gets what the rules look at from elsewhere. DESTQ is its origin (blank
   where that is ambiguous), DESTQM the queue manager, FORMAT the MQMD's, REASON 0. So RETRY puts it back where it came
   from, as it is, and &ORIGQ and &DESTQ are its origin. The same holds for a message that has an MQDLH on another queue
   than the dead-letter queue: its origin is ambiguous.
2. After the rules: what would be put on a blank name is left, action AMBIGUOUS. What has been put back `replay_cap`
   times goes to quarantine instead, as it is.
"""

from __future__ import annotations

from mqops.actions import Action
from mqops.backout.core.origin import By, Setting, origin_of
from mqops.ledger.core.replays import CAPPED
from mqops.observe.core.columns import SnapshotRow
from mqops.plan_row import Disposal, PlanRow, left

NOWHERE = left(Action.AMBIGUOUS)
"""What changes in the plan's row of a message whose origin is ambiguous."""


def to_quarantine(queue: str, rule_key: str = CAPPED) -> Quarantined:
    """What changes in the plan's row of a message that has been put back too often, or that a check of the gate
    (`rule_key`) holds back."""
    return {
        **left(Action.FWD),
        "rule_line": None,
        "rule_key": rule_key,
        "dest_q": queue,
        "header": True,
        "unit_group": f"{queue}@",
    }


class Quarantined(Disposal):
    """The columns that `to_quarantine` changes."""

    rule_line: int | None
    rule_key: str | None


def with_origin(message: SnapshotRow, where: Setting) -> SnapshotRow:
    """Rule 1. Parameters: `message` column of the snapshot → value."""
    origin = origin_of(message, where)
    if origin.by is By.DEAD_LETTER:
        return message
    return {
        **message,
        "dlh_error": None,
        "dlh_reason": 0,
        "dlh_dest_q": origin.queue,
        "dlh_dest_q_mgr": where.queue_manager,
        "dlh_format": message["format"],
    }


def settled(row: PlanRow, where: Setting, replays: int) -> PlanRow:
    """Rule 2. Parameters: `replays` how often its message has been put back."""
    if not row.action.puts:
        return row
    if not row.dest_q:
        return row._replace(**NOWHERE)
    return row._replace(**to_quarantine(where.quarantine)) if replays >= where.replay_cap else row
