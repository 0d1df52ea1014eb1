"""What backout reprocessing adds to a decision by a rules table (on Spark: `mqops.decide.spark.backout`).

1. Before the rules: a message without MQDLH gets what the rules look at from elsewhere. DESTQ is its origin (blank
   where that is ambiguous), DESTQM the queue manager, FORMAT the MQMD's, REASON 0. So RETRY puts it back where it came
   from, as it is, and &ORIGQ and &DESTQ are its origin. The same holds for a message that has an MQDLH on another queue
   than the dead-letter queue: its origin is ambiguous.
2. After the rules: what would be put on a blank name is left, action AMBIGUOUS. What has been put back `replay_cap`
   times goes to quarantine instead, as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqops.actions import PUTS
from mqops.backout.core.origin import Setting, origin_of
from mqops.ledger.core.replays import CAPPED

AMBIGUOUS = "AMBIGUOUS"
NOWHERE: Mapping[str, Any] = {
    "dest_q": "",
    "dest_q_mgr": "",
    "header": False,
    "putaut": "",
    "alternate_user": "",
    "action": AMBIGUOUS,
    "unit_group": AMBIGUOUS,
}
"""What changes in the plan's row of a message whose origin is ambiguous."""


def to_quarantine(queue: str) -> dict[str, Any]:
    """What changes in the plan's row of a message that has been put back too often."""
    return {
        "rule_line": None,
        "rule_key": CAPPED,
        "action": "FWD",
        "dest_q": queue,
        "dest_q_mgr": "",
        "header": True,
        "putaut": "",
        "alternate_user": "",
        "unit_group": f"{queue}@",
    }


def with_origin(message: Mapping[str, Any], where: Setting) -> Mapping[str, Any]:
    """Rule 1. Parameters: `message` column of the snapshot → value."""
    has_dlh = message["dlh_error"] is None
    if has_dlh and message["queue"] == where.dead_letter_queue:
        return message
    origin = "" if has_dlh else origin_of(message["queue"], message["jms_destination"], where)
    return {
        **message,
        "dlh_error": None,
        "dlh_reason": 0,
        "dlh_dest_q": origin,
        "dlh_dest_q_mgr": where.queue_manager,
        "dlh_format": message["format"],
    }


def settled(row: Mapping[str, Any], where: Setting, replays: int) -> dict[str, Any]:
    """Rule 2. Parameters: `row` of the plan; `replays` how often its message has been put back."""
    if row["action"] not in PUTS:
        return dict(row)
    if not row["dest_q"]:
        return {**row, **NOWHERE}
    return {**row, **to_quarantine(where.quarantine)} if replays >= where.replay_cap else dict(row)
