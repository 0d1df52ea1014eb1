"""The arithmetic of a run's proof (law 5): planned = moved + discarded + left + gone, per queue and rule.

Every planned row is counted by the evidence of what became of it. `unexplained` counts the rows without evidence; a run
that has such a row does not balance. The rules are applied in the order of their numbers.

1. A marker lists the row as acted on: it is moved (RETRY, FWD, RESTORE, RETURN, LOAD, COPY) or discarded
   (DISCARD, EXPIRE, WITHDRAW). The original of a COPY is still on its queue, and counts no more.
2. Its message was seen on the queue: it is left. Messages with the same identity cannot be told apart: of k such rows
   that were not acted on, as many are left as such messages are on the queue. Messages that this run forwarded to the
   same queue do not count.
3. The queue cannot be browsed: the message is left, because nothing proves that it is gone. So is a message that a load
   did not put: its file has it. So is a message that an undo did not put back (`STILL_THERE`), where rule 5 would count
   it as gone: the lake has it, or the queue that it went to. What the undo found consumed or expired is gone.
4. A marker lists the row as absent: it is gone. Its message was not on the queue when its turn came, and it was not
   there when the run was proved.
5. The message was not on the queue when the run was proved, and this run did not touch it: it is gone, another program
   took it. The rule holds for a row that a marker lists as failed or left, for a row without an action, and for a row
   that its lane has not reached yet.
6. Any other row is unexplained: its lane has passed it, no marker names it, and its message is not on the queue.
   If markers do not name every row that their lanes have passed (`Account.silent`), it is unknown which rows a lane has
   not reached: then rule 5 holds for none of these.
7. A message on the queue that belongs to no planned row has arrived later. If this run moved it, it has returned. If it
   is an undo that put it there, or the original of a COPY, it is neither.
8. Markers and plan must agree: each row of the plan once, no other row, the same message and action, lane tokens for as
   many rows as have an action, no row in two units of work, no row with two results in one unit of work. Each
   contradiction is a problem, and a run with a problem does not balance, whatever its sums are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from mqops.actions import DISCARDS, Action
from mqops.counted import counted
from mqops.ledger.core.account import Account, Acted
from mqops.ledger.core.identity import MessageOnQueue
from mqops.model import RuleBalance, RunSummary, total_of

ABSENT = "not on the queue when its turn came"
NOT_FOUND = "not on the queue when the run was proved"
"""What the evidence is that a message is gone, for `RunSummary.gone_because`."""
STILL_THERE = frozenset({Action.RESTORE, Action.HIDDEN, Action.UNPROVABLE, Action.CONFIRMS, Action.PARTED})
"""Actions of an undo's plan with which a message that is not on its own queue counts as left (rule 3)."""
NOTHING: Mapping[MessageOnQueue, int] = MappingProxyType({})


class PlannedRow(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that the balance reads. A tuple, because there can be a million."""

    row: int
    queue: str
    msg_key: str
    action: Action
    rule_line: int | None
    rule_key: str | None


class _Rule(NamedTuple):
    """What the rows of one `RuleBalance` have in common: its fields."""

    queue: str
    rule_line: int | None
    rule_key: str
    action: Action


@dataclass(slots=True)
class _Totals:
    """What has been counted while the rows of one run go by.

    Attributes: `rules` rule → name of a field of `Counts` → messages; `on_queue` messages that were seen and that no
    row has accounted for yet; `unseen` queues that could not be browsed; `moved` and `copied` what was so, by queue and
    identity;
    `unknown` rows that markers name and that the plan has not named yet; `unreached` whether a lane may not have
    reached all of its rows yet (rule 5); `gone` evidence → rows; `to_act` rows with an action.
    """

    on_queue: Counter[MessageOnQueue]
    unseen: Set[str]
    problems: list[str]
    unknown: set[int]
    unreached: bool
    rules: dict[_Rule, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    moved: set[MessageOnQueue] = field(default_factory=set)
    copied: Counter[MessageOnQueue] = field(default_factory=Counter)
    gone: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    to_act: int = 0


class Balanced(NamedTuple):
    """The outcome of a run, and which rows of the plan are gone: evidence → their numbers."""

    summary: RunSummary
    gone: Mapping[str, Sequence[int]]


def balance(
    empty: RunSummary,
    rows: Callable[[], Iterable[PlannedRow]],
    account: Account,
    on_queue: Mapping[MessageOnQueue, int],
    *,
    reason_names: Mapping[int, str],
    unseen: Set[str] = frozenset(),
    put_back: Mapping[MessageOnQueue, int] = NOTHING,
) -> Balanced:
    """Balance a run.

    Parameters: `empty` the summary with its names filled in; `rows` gives the plan's rows, twice; `on_queue` says how
    many of which messages are there now; `reason_names` reason code → MQRC name; `unseen` queues that could not be
    browsed; `put_back` how many of which messages an undo has put where.
    """
    totals = _Totals(
        on_queue=Counter(on_queue),
        unseen=unseen,
        problems=list(account.problems),
        unknown=set(account.acted).union(account.failed, account.left, account.absent),
        unreached=not account.silent and (not account.lengths or bool(account.open_lanes)),
    )
    if not {acted.dest_q for acted in account.acted.values()}.isdisjoint(empty.queue.split(",")):
        _leave_out_forwarded_to_itself(totals, account, rows())
    for row in rows():
        _count(totals, row, account)
    totals.problems += [f"row {row} is in the ledger and not in the plan" for row in sorted(totals.unknown)[:10]]
    if account.lengths and sum(account.lengths) != totals.to_act:
        totals.problems.append(
            f"the plan has {counted(totals.to_act, 'row')} to act on, and lane tokens for {sum(account.lengths):,} "
            "were issued"
        )
    rules = _rules(totals)
    totals.problems += [_unexplained(rule) for rule in rules if rule.unexplained]
    returned = sum(count for place, count in totals.on_queue.items() if place in totals.moved)
    known = totals.copied + Counter(put_back)
    not_new = sum(min(count, totals.on_queue[place]) for place, count in known.items())
    failed = Counter(account.failed.values())
    left = Counter(account.left.values())
    summary = replace(
        empty,
        **asdict(total_of(rules)),
        rules=rules,
        returned=returned,
        arrived=totals.on_queue.total() - returned - not_new,
        finished=not account.open_lanes and sum(account.lengths) == totals.to_act,
        reasons={reason_names.get(code, str(code)): count for code, count in sorted(failed.items())},
        left_because=dict(sorted(left.items())),
        gone_because={why: len(gone) for why, gone in sorted(totals.gone.items())},
        problems=tuple(totals.problems),
        balanced=not totals.problems and all(rule.adds_up for rule in rules),
    )
    return Balanced(summary, totals.gone)


def _leave_out_forwarded_to_itself(totals: _Totals, account: Account, rows: Iterable[PlannedRow]) -> None:
    """Rule 2: a message that this run put back on its own queue does not count as left there."""
    for row in rows:
        acted = account.acted.get(row.row)
        if acted is None or acted.action in DISCARDS or acted.dest_q != row.queue or acted.action == Action.COPY:
            continue
        if totals.on_queue[row.queue, acted.msg_key]:
            totals.on_queue[row.queue, acted.msg_key] -= 1


def _count(totals: _Totals, row: PlannedRow, account: Account) -> None:
    counts = totals.rules[_Rule(row.queue, row.rule_line, row.rule_key or "", row.action)]
    counts["planned"] += 1
    if row.row in account.failed:
        counts["failed"] += 1
    totals.to_act += row.action.acts
    acted = account.acted.get(row.row)
    counts[_not_acted_on(totals, row, account) if acted is None else _acted_on(totals, row, acted)] += 1
    totals.unknown.discard(row.row)


def _acted_on(totals: _Totals, row: PlannedRow, acted: Acted) -> Literal["moved", "discarded"]:
    """What a row counts as by rule 1; what does not agree with the plan is noted (rule 8)."""
    if row.row not in totals.unknown:
        totals.problems.append(f"row {row.row} stands twice in the plan")
    if (acted.msg_key, acted.action) != (row.msg_key, row.action):
        totals.problems.append(f"row {row.row}: the ledger says {acted.action} of another message than the plan")
    if acted.action in DISCARDS:
        return "discarded"
    if acted.action == Action.COPY:
        totals.copied[row.queue, acted.msg_key] += 1
    elif acted.dest_q != row.queue:
        totals.moved.add((row.queue, acted.msg_key))
    return "moved"


def _not_acted_on(totals: _Totals, row: PlannedRow, account: Account) -> Literal["left", "gone", "unexplained"]:
    """What a row counts as by rules 2 to 6."""
    if row.queue in totals.unseen:
        return "left"
    if totals.on_queue[row.queue, row.msg_key] > 0:
        totals.on_queue[row.queue, row.msg_key] -= 1
        return "left"
    why = _why_gone(totals, row, account)
    if why == NOT_FOUND and row.action in STILL_THERE:
        return "left"
    if why:
        totals.gone[why].append(row.row)
        return "gone"
    return "unexplained"


def _why_gone(totals: _Totals, row: PlannedRow, account: Account) -> str:
    """The evidence that another program took the message from its queue (rules 4 and 5), "" without evidence."""
    if row.row in account.absent:
        return ABSENT
    named = row.row in account.failed or row.row in account.left
    return NOT_FOUND if named or not row.action.acts or totals.unreached else ""


def _unexplained(rule: RuleBalance) -> str:
    line = f"rule line {rule.rule_line}" if rule.rule_line else "no rule"
    return (
        f"{rule.queue}, {line}, {rule.action}: {rule.unexplained:,} of "
        + counted(rule.planned, "planned message is unexplained: it is", "planned messages are unexplained: they are")
        + f" not on the queue, and no marker says what became of {'it' if rule.planned == 1 else 'them'}"
    )


def _rules(totals: _Totals) -> tuple[RuleBalance, ...]:
    order = sorted(
        totals.rules, key=lambda rule: (rule.queue, rule.rule_line is None, rule.rule_line or 0, rule.action)
    )
    return tuple(
        RuleBalance(
            queue=rule.queue,
            rule_line=rule.rule_line,
            rule_key=rule.rule_key,
            action=rule.action,
            **totals.rules[rule],
        )
        for rule in order
    )
