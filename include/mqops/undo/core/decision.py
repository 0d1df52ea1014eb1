"""What can be undone of a run (rules 2 to 7 of `mqops.undo`). Pure: the ledger and the queues come as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from mqops.actions import Action
from mqops.expiry.core.lifetime import remaining
from mqops.ledger.core.identity import MessageOnQueue
from mqwire.constants import MQRO_COD


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A message that the run acted on.

    Parameters: `row` of the run's plan; `queue` and `msg_key` of the original; `discarded`, `copied` or moved;
    `there` the local queue it went to and `key_there` its identity as it was put there, blank if that queue cannot be
    browsed; `expiry` tenths of a second it had at `seen_at`; `report` its MQRO_* options; `together` the row of the
    first message of its MQ group, its own without.
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
    copied: bool = False


class UndoChoice(NamedTuple):
    """The action of a message in the plan of an undo; for RESTORE, how many messages with the same identity may be on
    the queue before it (equal ones of the same run); for WITHDRAW, how many equal copies are taken before it."""

    action: Action
    same: int = 0


def undo_choices(
    done: Sequence[Done],
    *,
    undone: Set[int],
    on_queues: Mapping[MessageOnQueue, int],
    now: datetime,
    hidden: Set[str] = frozenset(),
) -> Iterator[tuple[Done, UndoChoice]]:
    """The action for each message, in the order given.

    Parameters: `undone` rows that an earlier undo put back; `on_queues` how many of which messages are where now;
    `hidden` queues that may have more than is seen: units of work of others hide it, or the queue cannot be browsed.
    """
    there = Counter(on_queues)
    decided = [(one, Action.UNDONE if one.row in undone else _action(one, there, now, hidden)) for one in done]
    parted = {one.together for one, action in decided if action.refused}
    expected: Counter[MessageOnQueue] = Counter()
    for one, alone in decided:
        action = Action.PARTED if alone in {Action.RETURN, Action.WITHDRAW} and one.together in parted else alone
        home = (one.queue, one.msg_key)
        yield one, UndoChoice(action, expected[home] if action in {Action.RESTORE, Action.WITHDRAW} else 0)
        expected[home] += action.puts_back or action in {Action.PRESENT, Action.WITHDRAW}


def _action(one: Done, there: Counter[MessageOnQueue], now: datetime, hidden: Set[str]) -> Action:
    if one.copied:
        return _of_copy(one, there, hidden)
    home, away = (one.queue, one.msg_key), (one.there, one.key_there)
    if one.there and away != home and there[away] > 0:
        if one.report & MQRO_COD:
            return Action.CONFIRMS
        there[away] -= 1
        return Action.RETURN
    if there[home] > 0:
        there[home] -= 1
        return Action.PRESENT
    return _not_seen(one, now, hidden)


def _of_copy(one: Done, there: Counter[MessageOnQueue], hidden: Set[str]) -> Action:
    """Rule 12."""
    home, away = (one.queue, one.msg_key), (one.there, one.key_there)
    if not one.there:
        return Action.UNPROVABLE
    if not there[away]:
        return Action.HIDDEN if one.there in hidden else Action.CONSUMED
    if not there[home]:
        return Action.HIDDEN if one.queue in hidden else Action.LAST
    if one.report & MQRO_COD:
        return Action.CONFIRMS
    there[away] -= 1
    there[home] -= 1
    return Action.WITHDRAW


def _not_seen(one: Done, now: datetime, hidden: Set[str]) -> Action:
    """What is to be done about a message that is seen neither where it went nor on its queue."""
    if one.discarded and remaining(one.expiry, one.seen_at, now) is None:
        return Action.EXPIRED
    if hidden & {one.there, one.queue}:
        return Action.HIDDEN
    if one.discarded:
        return Action.RESTORE
    return Action.CONSUMED if one.there else Action.UNPROVABLE
