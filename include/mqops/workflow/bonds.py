"""The bonds of a plan's messages (`mqops.plan.bonds`) while it is decided in one process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from mqops.plan.bonds import BOUND, COLUMNS, PUTS, REPLAYED, judged, left, order_key
from mqops.rules import Rule, Table
from mqops.store.arrow import read_parquet
from mqops.store.replays import puts_before
from mqops.store.run import RunFolder

_Group: TypeAlias = tuple[str, bytes]


def bound(run: RunFolder, table: Table, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a plan, those that must be left for the sake of others or of their past changed.

    Parameters: `rows` one a message of the run's snapshot, in its order. Rows are kept in memory only where there are
    messages in groups. Raises `LakeError`.
    """
    groups: dict[_Group, list[int]] = {}
    for number, message in enumerate(_messages(run, COLUMNS)):
        if message["msg_flags"] & BOUND:
            groups.setdefault((message["queue"], message["group_id"]), []).append(number)
    settled = _settled(run, table, rows)
    if not groups:
        yield from settled
        return
    kept = list(settled)
    for numbers in groups.values():
        for number, row in zip(numbers, judged([kept[number] for number in numbers]), strict=True):
            kept[number] = row
    yield from kept


def _settled(run: RunFolder, table: Table, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rules 1 and 2."""
    rules = {rule.key: rule for rule in table.rules if rule.max_replay or rule.order}
    before = puts_before(run) if any(rule.max_replay for rule in rules.values()) else {}
    named = any(rule.order not in ("", "CORRELID", "GROUPID") for rule in rules.values())
    messages = _messages(run, ("group_id", *(("properties",) if named else ()))) if rules else None
    for row in rows:
        message = next(messages) if messages else {}
        rule = rules.get(row["rule_key"] or "")
        yield dict(row) if rule is None or row["action"] not in PUTS else _one(row, rule, message, before)


def _one(row: Mapping[str, Any], rule: Rule, message: Mapping[str, Any], before: Mapping[str, int]) -> dict[str, Any]:
    if rule.max_replay and before.get(row["msg_key"], 0) >= rule.max_replay:
        return {**row, **left(REPLAYED)}
    properties = json.loads(message.get("properties") or "{}")
    return {**row, "order_key": order_key(rule, row["correl_id"], message["group_id"], properties)}


def _messages(run: RunFolder, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
    for batch in read_parquet(run.snapshot, list(columns)):
        yield from batch.to_pylist()
