"""The arithmetic of a run's proof (DESIGN law 5): planned = moved + discarded + left + gone, per queue and rule.

1. A planned row that a marker lists as acted on is moved (RETRY, FWD) or discarded (DISCARD, EXPIRE).
2. Any other planned row whose message is on the queue is left; one whose message is not there is gone.
3. Messages with the same identity stand for each other: of k such rows not acted on, as many are left as there are
   such messages on the queue, those not counted that were forwarded to the very same queue.
4. A message on the queue that no planned row accounts for has arrived later or, if it was moved, returned.
5. On a queue that nobody can look at, every row not acted on counts as left: nothing proves its message gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mqops.actions import ACTED, DISCARDS
from mqops.ledger.core.account import Account
from mqops.ledger.core.identity import Place
from mqops.model import RuleBalance, RunSummary


class PlannedRow(NamedTuple):
    """What the balance needs of a row of the plan. A tuple, because there can be a million."""

    row: int
    queue: str
    msg_key: str
    action: str
    rule_line: int | None
    rule_key: str


@dataclass(slots=True)
class _Tally:
    planned: int = 0
    moved: int = 0
    discarded: int = 0
    left: int = 0
    gone: int = 0
    failed: int = 0


@dataclass(slots=True)
class _Books:
    """The books of one run while its rows go by."""

    tallies: dict[tuple[str, int | None, str, str], _Tally] = field(default_factory=dict)
    on_queue: Counter[Place] = field(default_factory=Counter)
    unseen: Set[str] = frozenset()
    moved: set[Place] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    unknown: set[int] = field(default_factory=set)
    to_act: int = 0


def balance(
    empty: RunSummary,
    rows: Callable[[], Iterable[PlannedRow]],
    account: Account,
    on_queue: Mapping[Place, int],
    *,
    reason_names: Mapping[int, str],
    unseen: Set[str] = frozenset(),
) -> RunSummary:
    """Balance a run.

    Parameters: `empty` the summary with its names filled in; `rows` gives the plan's rows, twice; `on_queue` says how
    many of which messages are there now; `reason_names` reason code → MQRC name; `unseen` queues that nobody can look
    at.
    """
    books = _Books(on_queue=Counter(on_queue), unseen=unseen, problems=list(account.problems))
    books.unknown = set(account.acted) | set(account.failed) | set(account.left)
    if any(dest_q in empty.queue.split(",") for _key, _action, dest_q in account.acted.values()):
        _leave_out_forwarded_to_itself(books, account, rows())
    for row in rows():
        _enter(books, row, account)
    books.problems += [f"row {row} is in the ledger and not in the plan" for row in sorted(books.unknown)[:10]]
    if account.lengths and sum(account.lengths) != books.to_act:
        books.problems.append(
            f"the plan has {books.to_act} rows to act on, tickets for {sum(account.lengths)} were issued"
        )
    rules = _rules(books)
    returned = sum(count for place, count in books.on_queue.items() if place in books.moved)
    totals = {name: sum(getattr(rule, name) for rule in rules) for name in _Tally.__dataclass_fields__}
    failed = Counter(account.failed.values())
    left = Counter(account.left.values())
    return replace(
        empty,
        **totals,
        rules=rules,
        returned=returned,
        arrived=books.on_queue.total() - returned,
        finished=not account.open_lanes and sum(account.lengths) == books.to_act,
        reasons={reason_names.get(code, str(code)): count for code, count in sorted(failed.items())},
        left_because=dict(sorted(left.items())),
        problems=tuple(books.problems),
        balanced=not books.problems and all(_adds_up(rule) for rule in rules),
    )


def _leave_out_forwarded_to_itself(books: _Books, account: Account, rows: Iterable[PlannedRow]) -> None:
    """Rule 3: what this run put on the queue it took it from is not evidence of anything left."""
    for row in rows:
        key, action, dest_q = account.acted.get(row.row, ("", "", ""))
        if action not in DISCARDS and dest_q == row.queue and books.on_queue[row.queue, key]:
            books.on_queue[row.queue, key] -= 1


def _enter(books: _Books, row: PlannedRow, account: Account) -> None:
    tally = books.tallies.setdefault((row.queue, row.rule_line, row.rule_key, row.action), _Tally())
    tally.planned += 1
    books.to_act += row.action in ACTED
    books.unknown.discard(row.row)
    if row.row in account.failed:
        tally.failed += 1
    acted = account.acted.get(row.row)
    if acted is not None:
        key, action, dest_q = acted
        if (key, action) != (row.msg_key, row.action):
            books.problems.append(f"row {row.row}: the ledger says {action} of another message than the plan")
        if action in DISCARDS:
            tally.discarded += 1
        else:
            tally.moved += 1
            if dest_q != row.queue:
                books.moved.add((row.queue, key))
    elif row.queue in books.unseen:
        tally.left += 1
    elif books.on_queue[row.queue, row.msg_key] > 0:
        books.on_queue[row.queue, row.msg_key] -= 1
        tally.left += 1
    else:
        tally.gone += 1


def _rules(books: _Books) -> tuple[RuleBalance, ...]:
    order = sorted(books.tallies, key=lambda k: (k[0], k[1] is None, k[1] or 0, k[3]))
    return tuple(
        RuleBalance(
            queue=queue,
            rule_line=line,
            rule_key=key,
            action=action,
            **{name: getattr(books.tallies[queue, line, key, action], name) for name in _Tally.__dataclass_fields__},
        )
        for queue, line, key, action in order
    )


def _adds_up(rule: RuleBalance) -> bool:
    return rule.planned == rule.moved + rule.discarded + rule.left + rule.gone
