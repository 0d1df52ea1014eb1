"""What binds a message of a plan to others, or to its past: MQ groups, ORDER, MAXREPLAY.

`mqops.spark.bonds` is the same for many messages.

1. MAXREPLAY(n): a message that earlier runs put on a queue n times is left, action REPLAYED. It is known again by its
   MsgId, which survives being consumed and dead-lettered anew; the MQDLH, and with it the digest of the body, is
   another each time. Runs are counted, not puts, so that what shares a MsgId within a run is not taken for a replay;
   what an undo took back counts no more. A MsgId of NULs is nobody's.
2. ORDER(GROUPID | CORRELID | folder.name): the order key is the name and the value. Without a value (an identifier of
   NULs, no such property) there is no order to keep.
3. Messages in a group, and segments (MsgFlags), with the same GroupId on one queue go together: all of them or none.
   They are left, action SPLIT, where the table has not one action and one destination for all, and action INCOMPLETE
   where a limit or a choice of messages leaves some of them out of the plan. What of a group is not on the queue at all
   is no reason: when a queue is full it is the rest of a group that is dead-lettered, and putting that completes it.
4. The rows of a group carry the number of its first one (`together`), which is where they stand in their lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mqops.rules import Rule
from mqwire import constants as c

REPLAYED, SPLIT, INCOMPLETE = "REPLAYED", "SPLIT", "INCOMPLETE"
PUTS = ("RETRY", "FWD")
BOUND = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP | c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT
COLUMNS = ("queue", "group_id", "msg_flags")
"""What is read of a snapshot for rule 3."""
NO_ID = bytes(24)


def left(action: str) -> dict[str, Any]:
    """What changes in the row of a message that is left where it is."""
    return {
        **{"dest_q": "", "dest_q_mgr": "", "header": False, "putaut": "", "alternate_user": ""},
        **{"action": action, "unit_group": action, "order_key": ""},
    }


def order_key(rule: Rule, correl_id: bytes, group_id: bytes, properties: Mapping[str, str]) -> str:
    """Rule 2. Parameters: `properties` `folder.name` → value, needed only where the rule names one."""
    if rule.order in ("CORRELID", "GROUPID"):
        value = correl_id if rule.order == "CORRELID" else group_id
        return "" if value == NO_ID else f"{rule.order}:{value.hex()}"
    found = properties.get(rule.order) if rule.order else None
    return "" if found is None else f"{rule.order}:{found}"


def judged(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rules 3 and 4 for the rows of one group, none of which is left out, in the order of the plan."""
    if len({(row["action"], row["unit_group"]) for row in rows}) > 1:
        return [{**row, **left(SPLIT)} for row in rows]
    return [{**row, "together": rows[0]["row"]} for row in rows]


def remarks(actions: Mapping[str, int]) -> tuple[str, ...]:
    """What an approver is told, a line each. Parameters: `actions` action → messages."""
    texts = {
        REPLAYED: "are left: earlier runs put them as often as MAXREPLAY allows",
        SPLIT: "are left: the table sends messages of their group to different places",
        INCOMPLETE: "are left: others of their group are not in the plan",
    }
    return tuple(f"{actions[action]} messages {text}" for action, text in texts.items() if actions.get(action))
