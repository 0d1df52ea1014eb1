"""The arithmetic of a run's proof (DESIGN law 5): planned = moved + discarded + left + gone, per queue and rule.

Every planned row is counted from evidence of what became of it. `unexplained` counts the rows without any, and a run
that has one does not balance. The numbers below say in which order the evidence is asked for.

1. A marker lists the row as acted on: it is moved (RETRY, FWD, RESTORE, RETURN) or discarded (DISCARD, EXPIRE).
2. Its message was seen on the queue: it is left. Messages with the same identity stand for each other: of k such rows
   not acted on, as many are left as there are such messages, those not counted that were forwarded to the same queue.
3. Nobody can look at the queue: it is left, because nothing proves that its message is gone.
4. A marker lists the row as absent: it is gone. Its message was not there when its turn came, and the look that proves
   the run did not find it either.
5. The look did not find a message that this run did not touch: it is gone, somebody else took it. That is so of a row
   that a marker lists as failed or left, of one without an action, and of one that no lane has reached yet.
6. Any other row is unexplained: its lane was dealt with, no marker names it, and its message is not on the queue.
   While markers are silent about rows that were dealt with (`Account.silent`), nobody knows which rows a lane has not
   reached: rule 5 then holds for none of these.
7. A message on the queue that no planned row accounts for has arrived later or, if it was moved, returned.
8. Markers and plan must agree besides: each row of the plan once, no other row, the same message and action, tickets
   for as many rows as have an action, no row in two units of work or in one under two headings. What does not agree is
   a problem, and a run with a problem does not balance, whatever its sums are.
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

ABSENT = "not on the queue when its turn came"
NOT_FOUND = "not on the queue when the run was proved"
"""What the evidence is that a message is gone, for `RunSummary.gone_because`."""


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
    unexplained: int = 0
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
    on_the_way: bool = False
    gone: Counter[str] = field(default_factory=Counter)
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
    books.unknown = set(account.acted).union(account.failed, account.left, account.absent)
    books.on_the_way = not account.silent and (not account.lengths or bool(account.open_lanes))
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
    books.problems += [_unexplained(rule) for rule in rules if rule.unexplained]
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
        gone_because=dict(sorted(books.gone.items())),
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
    if row.row in account.failed:
        tally.failed += 1
    acted = account.acted.get(row.row)
    if acted is not None:
        _enter_acted(books, row, tally, acted)
    elif row.queue in books.unseen:
        tally.left += 1
    elif books.on_queue[row.queue, row.msg_key] > 0:
        books.on_queue[row.queue, row.msg_key] -= 1
        tally.left += 1
    elif why := _why_gone(books, row, account):
        tally.gone += 1
        books.gone[why] += 1
    else:
        tally.unexplained += 1
    books.unknown.discard(row.row)


def _enter_acted(books: _Books, row: PlannedRow, tally: _Tally, acted: tuple[str, str, str]) -> None:
    key, action, dest_q = acted
    if row.row not in books.unknown:
        books.problems.append(f"row {row.row} stands twice in the plan")
    if (key, action) != (row.msg_key, row.action):
        books.problems.append(f"row {row.row}: the ledger says {action} of another message than the plan")
    if action in DISCARDS:
        tally.discarded += 1
    else:
        tally.moved += 1
        if dest_q != row.queue:
            books.moved.add((row.queue, key))


def _why_gone(books: _Books, row: PlannedRow, account: Account) -> str:
    """The evidence that somebody else took a message which is not on its queue (rules 4 and 5), "" without any."""
    if row.row in account.absent:
        return ABSENT
    named = row.row in account.failed or row.row in account.left
    return NOT_FOUND if named or row.action not in ACTED or books.on_the_way else ""


def _unexplained(rule: RuleBalance) -> str:
    line = f"rule line {rule.rule_line}" if rule.rule_line else "no rule"
    return (
        f"{rule.queue}, {line}, {rule.action}: {rule.unexplained} of {rule.planned} planned messages are unexplained: "
        "they are not on the queue, and no marker says what became of them"
    )


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
