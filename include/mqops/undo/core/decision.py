"""What can be undone of a run (rules 2 to 7 of `mqops.undo`). Pure: the ledger and the queues come as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from mqops.actions import RESTORE, RETURN
from mqops.expiry.core.lifetime import remaining
from mqops.ledger.core.identity import Place
from mqwire.constants import MQRO_COD

REFUSED = ("CONSUMED", "HIDDEN", "UNPROVABLE", "CONFIRMS", "EXPIRED", "PARTED")
"""Outcomes that leave something not undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A message that the run acted on.

    Parameters: `row` of the run's plan; `queue` and `msg_key` of the original; `discarded` or moved; `there` the local
    queue it went to and `key_there` its identity as it was put there, blank where nobody can look there; `expiry`
    tenths of a second it had at `seen_at`; `report` its MQRO_* options; `together` the row of the first message of its
    MQ group, its own without.
    """

    row: int
    queue: str
    msg_key: str
    discarded: bool
    there: str
    key_there: str
    expiry: int
    seen_at: datetime
    report: int
    together: int


class Fate(NamedTuple):
    """What is to be done about a message: the action of its row in the plan; for RESTORE, how many messages with the
    same identity may be on the queue before it (equal ones of the same run)."""

    action: str
    same: int = 0


def fates(
    done: Sequence[Done],
    *,
    undone: Set[int],
    on_queues: Mapping[Place, int],
    now: datetime,
    hidden: Set[str] = frozenset(),
) -> Iterator[tuple[Done, Fate]]:
    """What is to be done about each message, in the order given.

    Parameters: `undone` rows that an earlier undo put back; `on_queues` how many of which messages are where now;
    `hidden` queues that may have more than is seen: units of work of others hide it, or nobody can look there.
    """
    there = Counter(on_queues)
    actions = ["UNDONE" if one.row in undone else _action(one, there, now, hidden) for one in done]
    parted = {one.together for one, action in zip(done, actions, strict=True) if action in REFUSED}
    expected: Counter[Place] = Counter()
    for one, alone in zip(done, actions, strict=True):
        action = "PARTED" if alone == RETURN and one.together in parted else alone
        home = (one.queue, one.msg_key)
        yield one, Fate(action, expected[home] if action == RESTORE else 0)
        expected[home] += action in {RESTORE, RETURN, "PRESENT"}


def _action(one: Done, there: Counter[Place], now: datetime, hidden: Set[str]) -> str:
    home, away = (one.queue, one.msg_key), (one.there, one.key_there)
    if one.there and away != home and there[away] > 0:
        if one.report & MQRO_COD:
            return "CONFIRMS"
        there[away] -= 1
        return RETURN
    if there[home] > 0:
        there[home] -= 1
        return "PRESENT"
    return _not_seen(one, now, hidden)


def _not_seen(one: Done, now: datetime, hidden: Set[str]) -> str:
    """What is to be done about a message that is seen neither where it went nor on its queue."""
    if one.discarded and remaining(one.expiry, one.seen_at, now) is None:
        return "EXPIRED"
    if hidden & {one.there, one.queue}:
        return "HIDDEN"
    if one.discarded:
        return RESTORE
    return "CONSUMED" if one.there else "UNPROVABLE"
