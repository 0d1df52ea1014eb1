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
   where messages that are to be put are not known to be the whole group: by MsgSeqNumber from 1 to the one with
   MQMF_LAST_MSG_IN_GROUP, each message by Offset from 0 to the one with MQMF_LAST_SEGMENT, without gap, overlap or
   duplicate. A segment's length is that of its data, the MQDLH apart. What is missing may have been delivered; a
   person must see to that.
4. The rows of a group carry the number of its first one (`together`), which is where they stand in their lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from mqops.rules import Rule
from mqwire import constants as c
from mqwire.structures import MQDLH_LAYOUT

REPLAYED, SPLIT, INCOMPLETE = "REPLAYED", "SPLIT", "INCOMPLETE"
PUTS = ("RETRY", "FWD")
BOUND = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP | c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT
IN_GROUP = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP
COLUMNS = ("queue", "group_id", "msg_seq_number", "msg_offset", "msg_flags", "body_length", "dlh_encoding")
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


class Member(NamedTuple):
    """A message of an MQ group, in the order of the plan's proof: `length` of its data, `row` of the plan."""

    seq: int
    offset: int
    row: int
    flags: int
    length: int

    @classmethod
    def of(cls, row: int, message: Mapping[str, Any]) -> Member:
        """From the columns of a snapshot."""
        header = MQDLH_LAYOUT.size if message["dlh_encoding"] is not None else 0
        seq, offset, flags = (message[name] for name in ("msg_seq_number", "msg_offset", "msg_flags"))
        return cls(seq, offset, row, flags, message["body_length"] - header)

    @property
    def ends_message(self) -> bool:
        """Whether no segment of the same message follows."""
        return bool(self.flags & c.MQMF_LAST_SEGMENT) or not self.flags & c.MQMF_SEGMENT

    @property
    def ends_group(self) -> bool:
        """Whether nothing of the group follows."""
        return self.ends_message and (not self.flags & IN_GROUP or bool(self.flags & c.MQMF_LAST_MSG_IN_GROUP))


def is_whole(members: Sequence[Member]) -> bool:
    """Rule 3: whether these are known to be a whole group."""
    ordered = sorted(members)
    if (ordered[0].seq, ordered[0].offset) != (1, 0) or not ordered[-1].ends_group:
        return False
    return all(_follows(one, other) for one, other in pairwise(ordered))


def _follows(one: Member, other: Member) -> bool:
    if one.ends_group:
        return False
    if one.ends_message:
        return (other.seq, other.offset) == (one.seq + 1, 0)
    return (other.seq, other.offset) == (one.seq, one.offset + one.length)


def judged(rows: Sequence[Mapping[str, Any]], members: Sequence[Member]) -> list[dict[str, Any]]:
    """Rules 3 and 4 for the rows of one group, in the order of the plan."""
    fates = {(row["action"], row["unit_group"]) for row in rows}
    together = rows[0]["row"]
    if len(fates) > 1:
        return [{**row, **left(SPLIT)} for row in rows]
    if rows[0]["action"] in PUTS and not is_whole(members):
        return [{**row, **left(INCOMPLETE)} for row in rows]
    return [{**row, "together": together} for row in rows]


def remarks(actions: Mapping[str, int]) -> tuple[str, ...]:
    """What an approver is told, a line each. Parameters: `actions` action → messages."""
    texts = {
        REPLAYED: "are left: earlier runs put them as often as MAXREPLAY allows",
        SPLIT: "are left: the table sends messages of their group to different places",
        INCOMPLETE: "are left: their group is not known to be whole here",
    }
    return tuple(f"{actions[action]} messages {text}" for action, text in texts.items() if actions.get(action))
