"""What binds a message of a plan to others, or to its past: MQ groups, ORDER, MAXREPLAY.

`mqops.decide.spark.message_groups` is the same for many messages.

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
5. A message that an ORDER rule would have put, and that is left, keeps its place in the order: one that is REPLAYED,
   SPLIT or INCOMPLETE, and one that is ignored since that rule's tries are used up. Later messages with the same key
   for the same destination are left too, action BEHIND, and with each of them its group. A rule before that one, or one
   behind it that acts, lets them go on. Of several ORDER rules whose tries are used up the first counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from mqops.actions import TAKES
from mqops.decide.core.protected import PROTECTED
from mqops.rules import Rule, Table

REPLAYED, SPLIT, INCOMPLETE, BEHIND = "REPLAYED", "SPLIT", "INCOMPLETE", "BEHIND"
Place: TypeAlias = tuple[str, str]
"""A destination (`unit_group`) and an order key."""
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


def keepers(table: Table) -> Table:
    """Rule 5: the rules of which the first that matches says what a message waits for, where it is an ORDER rule."""
    return replace(table, rules=tuple(rule for rule in table.rules if rule.order or rule.action == "IGNORE"))


def in_order(rows: Iterable[tuple[dict[str, Any], Place | None]]) -> Iterator[dict[str, Any]]:
    """Rule 5 but for groups. Parameters: `rows` in the order of the plan, each with its place in the order, if any."""
    waiting: set[Place] = set()
    for row, place in rows:
        if place in waiting and row.get("order_key"):
            yield held_back(row)
            continue
        if place is not None and row["action"] not in TAKES:
            waiting.add(place)
        yield row


def held_back(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row that is left for rule 5."""
    return {**row, **left(BEHIND), "together": row["row"]}


def remarks(actions: Mapping[str, int], used_up: Mapping[int, int]) -> tuple[str, ...]:
    """What an approver is told, a line each.

    Parameters: `actions` action → messages; `used_up` line of a rule → messages ignored that it matches first, and that
    have used up its tries.
    """
    texts = {
        PROTECTED: "are left: their destination is a queue SYSTEM.* or MQOPS.*, which no message may choose; "
        "a rule that names the queue itself (FWDQ) puts them there",
        REPLAYED: "are left: earlier runs put them as often as MAXREPLAY allows",
        SPLIT: "are left: the table sends messages of their group to different places",
        INCOMPLETE: "are left: others of their group are not in the plan",
        BEHIND: "are left: a message with their order key is before them, and is left",
    }
    ignored = [
        f"{number} messages are ignored: they have used up the tries of the rule on line {line}"
        for line, number in sorted(used_up.items())
    ]
    return (*(f"{actions[action]} messages {text}" for action, text in texts.items() if actions.get(action)), *ignored)
