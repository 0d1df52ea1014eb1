"""Why a message of a plan depends on other messages or on earlier runs: MQ groups, ORDER, MAXREPLAY.

`mqops.decide.spark.message_groups` is the same for many messages.

1. MAXREPLAY(n): a message that earlier runs put on a queue n times is left, action REPLAYED. It is identified by its
   MsgId, which stays the same when an application gets the message and it becomes a dead letter again. The MQDLH, and
   so the digest of the body, changes each time. Runs are counted, not puts: several messages of a run with one MsgId
   are no replay. Puts that an undo took back do not count. An all-zero MsgId identifies nothing.
2. ORDER(GROUPID | CORRELID | folder.name): the order key is the name and the value. A message without a value (an
   all-zero identifier, no such property) has no order to keep.
3. Messages in a group, and segments (MsgFlags), with the same GroupId on one queue go together: all of them or none.
   They are left with action SPLIT if the table does not give all of them the same action and destination. They are left
   with action INCOMPLETE if a limit or a choice of messages excludes some of them from the plan. Messages of the group
   that are not on the queue do not matter: when a queue is full, the rest of a group is dead-lettered, and putting it
   completes the group.
4. All rows of a group carry the row number of its first row (`together`), and stand at that place in the lane.
5. A message that an ORDER rule would have put, and that is left, keeps its place in the order. That is a message with
   action REPLAYED, SPLIT, INCOMPLETE, or LATER for BACKOFF, or one that is ignored because the tries of that rule are
   used up. Later messages with the same key and the same destination are left, too (action BEHIND). If one of them is
   in an MQ group, all messages of that group are left. Exception: they are not left if a rule before the ORDER rule,
   or a rule behind it that acts, is chosen for the first message. If the tries of several ORDER rules are used up, the
   first one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from mqops.actions import Action
from mqops.counted import counted
from mqops.decide.core.decided import DecidedRow
from mqops.plan_row import PlanRow, left
from mqops.rules import Rule, Table

OrderPosition: TypeAlias = tuple[str, str]
"""A destination (`unit_group`) and an order key."""
COLUMNS = ("queue", "group_id", "msg_flags")
"""What is read of a snapshot for rule 3."""
NO_ID = bytes(24)


def order_key(rule: Rule, correl_id: bytes, group_id: bytes, properties: Mapping[str, str]) -> str:
    """Rule 2. Parameters: `properties` `folder.name` → value, needed only where the rule names one."""
    if rule.order in ("CORRELID", "GROUPID"):
        value = correl_id if rule.order == "CORRELID" else group_id
        return "" if value == NO_ID else f"{rule.order}:{value.hex()}"
    found = properties.get(rule.order)
    return "" if found is None else f"{rule.order}:{found}"


def judged(rows: Sequence[PlanRow]) -> list[PlanRow]:
    """Rules 3 and 4 for the rows of one group, none of which is left out, in the order of the plan."""
    if len({(row.action, row.unit_group) for row in rows}) > 1:
        return [row._replace(**left(Action.SPLIT)) for row in rows]
    return [row._replace(together=rows[0].row) for row in rows]


def keepers(table: Table) -> Table:
    """Rule 5: the rules with ORDER or IGNORE. If the first match has ORDER, the message keeps its place in it."""
    return replace(table, rules=tuple(rule for rule in table.rules if rule.order or rule.action is Action.IGNORE))


def in_order(rows: Iterable[tuple[DecidedRow, OrderPosition | None]]) -> Iterator[DecidedRow]:
    """Rule 5 but for groups. Parameters: `rows` in the order of the plan, each with its place in the order, if any."""
    waiting: set[OrderPosition] = set()
    for decided, position in rows:
        if position in waiting and decided.row.order_key:
            yield decided.changed_to(held_back(decided.row))
            continue
        if position is not None and not decided.row.action.acts:
            waiting.add(position)
        yield decided


WAY_OUT = (
    "When the destination is in order: raise RETRY of the rule whose tries are used up, or move the messages with "
    "`mqops message move` or `mqops message replay`"
)
"""What to do about messages that have used up the tries of a rule."""


def held_back(row: PlanRow) -> PlanRow:
    """The same row with action BEHIND (rule 5 of this module): the message is left."""
    return row._replace(**left(Action.BEHIND), together=row.row)


def remarks(actions: Mapping[Action, int], used_up: Mapping[int, int]) -> tuple[str, ...]:
    """The lines that an approver reads.

    Parameters: `actions` action → messages; `used_up` line of a rule → messages ignored that it matches first, and that
    have used up its tries.
    """
    texts = {
        Action.PROTECTED: "the destination is a queue SYSTEM.* or MQOPS.*, which no message may choose; "
        "a rule that names the queue itself (FWDQ) puts messages there",
        Action.REPLAYED: "earlier runs have put each as often as MAXREPLAY allows",
        Action.SPLIT: "messages of one group would not all go the same way",
        Action.INCOMPLETE: "other messages of the group are not in the plan",
        Action.BEHIND: "an earlier message with the same order key is left",
    }
    ignored = [
        f"{counted(number, 'message is', 'messages are')} ignored: no try of the rule on line {line} is left"
        for line, number in sorted(used_up.items())
    ]
    left = [
        f"{counted(actions[action], 'message is', 'messages are')} left: {text}"
        for action, text in texts.items()
        if actions.get(action)
    ]
    return (*left, *ignored)
