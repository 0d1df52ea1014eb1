"""MQ groups, ORDER and MAXREPLAY (`mqops.decide.core.message_groups`) while a plan is made in one process."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mqops.actions import PUTS
from mqops.decide.core.message_groups import (
    BEHIND,
    COLUMNS,
    REPLAYED,
    Place,
    held_back,
    in_order,
    judged,
    left,
    order_key,
)
from mqops.decide.core.protected import PROTECTED, is_protected, rules_that_ask_messages
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import BOUND
from mqops.observe.replays import puts_before
from mqops.rules import Rule, Table

_Group: TypeAlias = tuple[str, bytes]


def bound(run: RunFolder, table: Table, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a plan, those that must be left for the sake of others or of their past changed.

    Parameters: `rows` one a message of the run's snapshot, in its order, with `waits` where an ORDER rule may have used
    up its tries: that rule, and the `unit_group` it puts to. Rows are kept in memory only where there are messages in
    groups. Raises `LakeError`.
    """
    groups: dict[_Group, list[int]] = {}
    for number, message in enumerate(_messages(run, COLUMNS)):
        if message["msg_flags"] & BOUND:
            groups.setdefault((message["queue"], message["group_id"]), []).append(number)
    settled = _settled(run, table, rows)
    if not groups:
        yield from in_order(settled)
        return
    pairs = list(settled)
    kept, places = [row for row, _place in pairs], [place for _row, place in pairs]
    for numbers in groups.values():
        for number, row in zip(numbers, judged([kept[number] for number in numbers]), strict=True):
            kept[number] = row
    yield from _whole_groups_in_order(kept, places, groups.values())


def _whole_groups_in_order(
    kept: list[dict[str, Any]], places: Sequence[Place | None], groups: Collection[Sequence[int]]
) -> list[dict[str, Any]]:
    """Rule 5: what is left for it leaves its group, and that again what is behind the others of the group."""
    behind = -1
    while (found := sum(row["action"] == BEHIND for row in kept)) > behind:
        behind = found
        kept = list(in_order(zip(kept, places, strict=True)))
        for numbers in groups:
            if any(kept[number]["action"] == BEHIND for number in numbers):
                for number in numbers:
                    kept[number] = held_back(kept[number])
    return kept


def _settled(
    run: RunFolder, table: Table, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[dict[str, Any], Place | None]]:
    """Rules 1 and 2 and `mqops.decide.core.protected`, and the place of each row in the order."""
    asking = rules_that_ask_messages(table)
    rules = {rule.key: rule for rule in table.rules if rule.max_replay or rule.order}
    before = puts_before(run) if any(rule.max_replay for rule in rules.values()) else {}
    named = any(rule.order not in ("", "CORRELID", "GROUPID") for rule in rules.values())
    messages = _messages(run, ("group_id", *(("properties",) if named else ()))) if rules else None
    for row in rows:
        message = next(messages) if messages else {}
        rule = rules.get(row["rule_key"] or "") if row["action"] in PUTS else None
        key = _key(row, rule, message) if rule is not None else ""
        settled = {**row, "order_key": key}
        waits = settled.pop("waits", None)
        place = (row["unit_group"], key) if key else _before(row, waits, message)
        if rule is not None and rule.max_replay and before.get(row["msg_key"], 0) >= rule.max_replay:
            settled |= left(REPLAYED)
        elif row["action"] in PUTS and row["rule_key"] in asking and is_protected(row["dest_q"]):
            settled |= left(PROTECTED)
        yield settled, place


def _before(row: Mapping[str, Any], waits: tuple[Rule, str] | None, message: Mapping[str, Any]) -> Place | None:
    """Where a row stands in the order by a rule before its own, one whose tries are used up."""
    if waits is None or (row["rule_line"] is not None and waits[0].line >= row["rule_line"]):
        return None
    key = _key(row, waits[0], message)
    return (waits[1], key) if key else None


def _key(row: Mapping[str, Any], rule: Rule, message: Mapping[str, Any]) -> str:
    properties = json.loads(message.get("properties") or "{}")
    return order_key(rule, row["correl_id"], message["group_id"], properties)


def _messages(run: RunFolder, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
    for batch in read_parquet(run.snapshot, list(columns)):
        yield from batch.to_pylist()
