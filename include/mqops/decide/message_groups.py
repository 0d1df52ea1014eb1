"""MQ groups, ORDER, MAXREPLAY and BACKOFF (`mqops.decide.core.message_groups`, `mqops.decide.core.backoff`) while a
plan is made in one process."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from mqops.actions import Action
from mqops.decide.core.backoff import due_at
from mqops.decide.core.decided import DecidedRow
from mqops.decide.core.gate import gated
from mqops.decide.core.message_groups import (
    COLUMNS,
    OrderPosition,
    held_back,
    in_order,
    judged,
    order_key,
)
from mqops.decide.core.protected import is_protected, rules_that_ask_messages
from mqops.decide.gate import verdicts_of
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import BOUND, SnapshotRow
from mqops.observe.replays import puts_before
from mqops.plan_row import PlanRow, left
from mqops.rules import Rule, Table

_Group: TypeAlias = tuple[str, bytes]


def bound(
    run: RunFolder,
    table: Table,
    rows: Iterable[DecidedRow],
    *,
    backoff: Sequence[int] = (),
    split_groups: bool = False,
) -> Iterator[DecidedRow]:
    """The rows of a plan. Rows that must be left because of other messages or of earlier runs are changed.

    Parameters: `rows` one for each message of the run's snapshot, in its order. Rows are kept in memory only if there
    are messages in groups. `backoff` seconds, for rules without BACKOFF; `split_groups` whether each message of an MQ
    group goes by itself, as with runmqdlq, which knows no groups: then rules 3 and 4 do not hold. Raises `LakeError`.
    """
    groups: dict[_Group, list[int]] = {}
    for number, message in () if split_groups else enumerate(_messages(run, COLUMNS)):
        if message["msg_flags"] & BOUND:
            groups.setdefault((message["queue"], message["group_id"]), []).append(number)
    settled = _settled(run, table, rows, backoff)
    if not groups:
        yield from in_order(settled)
        return
    pairs = list(settled)
    settled_rows, positions = [row for row, _position in pairs], [position for _row, position in pairs]
    for numbers in groups.values():
        for number, row in zip(numbers, judged([settled_rows[number].row for number in numbers]), strict=True):
            settled_rows[number] = settled_rows[number].changed_to(row)
    yield from _whole_groups_in_order(settled_rows, positions, groups.values())


def _whole_groups_in_order(
    settled_rows: list[DecidedRow], positions: Sequence[OrderPosition | None], groups: Collection[Sequence[int]]
) -> list[DecidedRow]:
    """Rule 5: if a message is left, its group is left; then messages behind the others of the group are left, too."""
    behind = -1
    while (found := sum(decided.row.action is Action.BEHIND for decided in settled_rows)) > behind:
        behind = found
        settled_rows = list(in_order(zip(settled_rows, positions, strict=True)))
        for numbers in groups:
            if any(settled_rows[number].row.action is Action.BEHIND for number in numbers):
                for number in numbers:
                    settled_rows[number] = settled_rows[number].changed_to(held_back(settled_rows[number].row))
    return settled_rows


def _settled(
    run: RunFolder, table: Table, rows: Iterable[DecidedRow], backoff: Sequence[int]
) -> Iterator[tuple[DecidedRow, OrderPosition | None]]:
    """Rules 1 and 2, `mqops.decide.core.backoff`, `.protected` and `.gate`, and the place of each row in the order."""
    verdicts = verdicts_of(run)
    asking = rules_that_ask_messages(table)
    rules = {rule.key: rule for rule in table.rules if rule.max_replay or rule.order or rule.backoff or backoff}
    waiting = bool(backoff) or any(rule.backoff for rule in rules.values())
    before = puts_before(run) if waiting or any(rule.max_replay for rule in rules.values()) else {}
    named = any(rule.order not in ("", "CORRELID", "GROUPID") for rule in rules.values())
    columns = ("group_id", *(("properties",) if named else ()), *(("observed_at",) if waiting else ()))
    messages = _messages(run, columns) if rules else None
    for decided in rows:
        row = decided.row
        message = next(messages) if messages else {}
        rule = rules.get(row.rule_key or "") if row.action.puts else None
        key = _key(row, rule, message) if rule is not None else ""
        position = (row.unit_group, key) if key else _before(decided, message)
        puts = before.get(row.msg_key)
        due = due_at(rule.backoff or backoff, puts) if rule is not None else None
        if rule is not None and rule.max_replay and puts is not None and puts.runs >= rule.max_replay:
            row = row._replace(**left(Action.REPLAYED))
        elif due is not None and due > message["observed_at"]:
            row = row._replace(**left(Action.LATER))
        elif row.action.puts and row.rule_key in asking and is_protected(row.dest_q):
            row = row._replace(**left(Action.PROTECTED))
        elif key:
            row = row._replace(order_key=key)
        row = gated(row, verdicts.get((row.queue, row.msg_key))) if verdicts else row
        yield (decided if row is decided.row else decided._replace(row=row, due=due)), position


def waiting_until(run: RunFolder, table: Table, backoff: Sequence[int]) -> Iterator[datetime]:
    """When each message that a written plan leaves for `backoff` or BACKOFF may be put again. Raises `LakeError`."""
    rules = {rule.key: rule.backoff or backoff for rule in table.rules}
    before = puts_before(run) if any(rules.values()) else {}
    for batch in read_parquet(run.plan, ["msg_key", "action", "rule_key"]) if before else ():
        for key, action, rule in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if action == Action.LATER and (due := due_at(rules.get(rule, ()), before.get(key))):
                yield due


def _before(decided: DecidedRow, message: SnapshotRow) -> OrderPosition | None:
    """The place in the order that a row has by an earlier rule whose tries are used up."""
    row, waits = decided.row, decided.waits
    if waits is None or (row.rule_line is not None and waits.rule.line >= row.rule_line):
        return None
    key = _key(row, waits.rule, message)
    return (waits.unit_group, key) if key else None


def _key(row: PlanRow, rule: Rule, message: SnapshotRow) -> str:
    properties = json.loads(message.get("properties") or "{}")
    return order_key(rule, row.correl_id, message["group_id"], properties)


def _messages(run: RunFolder, columns: Iterable[str]) -> Iterator[SnapshotRow]:
    for batch in read_parquet(run.snapshot, list(columns)):
        yield from batch.to_pylist()
