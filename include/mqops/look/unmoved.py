"""The messages of a run's plan that were not moved or discarded; of a plan that nobody carries out, those that would
stay, because their destinations did not take them at the look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from operator import attrgetter
from typing import NamedTuple

from mqops.actions import Action
from mqops.decide.arrow import read_plan
from mqops.decide.core.staying import Name, staying
from mqops.decide.preflight_record import PREFLIGHT
from mqops.errors import LakeError
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account
from mqops.look.core.run_state import RunLine
from mqops.look.words.fates import BACK, NOT_REACHED, NOT_REACHED_ELSEWHERE, WHY_LEFT, Became, check_in_words
from mqops.look.words.state import RunState
from mqops.model import Destination
from mqops.prove.core.balance import ABSENT
from mqops.prove.records import Gone, read_gone
from mqwire.names import reason_name

BY_HAND = (Action.AMBIGUOUS, Action.ERROR)
"""Actions that leave a message until a person names the queue that it belongs on."""
MOST_BY_HAND = 200
"""Messages of these that a story has."""


class _Planned(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that are shown of a message."""

    row: int
    queue: str
    msg_id: bytes
    msg_key: str
    rule_line: int | None
    rule_key: str | None
    action: Action
    dest_q: str
    dest_q_mgr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmovedMessage:
    """A message of the plan that was not moved or discarded. Of a plan that nobody carries out, one that it would
    leave, that its destination would not take, or that is gone.

    Parameters: `msg_id` hex; `action` that was planned; `why` in words, for a failed try
    the name of the reason code; `found_at` when it was found to be gone, ISO 8601 UTC.
    """

    row: int
    queue: str
    msg_id: str
    msg_key: str
    rule_line: int | None
    rule_key: str | None
    action: str
    dest_q: str
    dest_q_mgr: str
    became: Became
    why: str
    found_at: str = ""


class Unmoved(NamedTuple):
    """Messages of a plan that were not moved or discarded, of which the same became for the same reason."""

    became: Became
    why: str
    messages: int


class Stays(NamedTuple):
    """Messages of a rule that would stay, though the plan moves them. Parameters: `rule_key` "" for none."""

    queue: str
    rule_line: int | None
    action: str
    messages: int
    rule_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StayingRows:
    """Parameters: `at` when the destinations were looked at, ISO 8601 UTC; `refused` destination that takes none → why;
    `short` destination without room for all → the first row that gets none, and why; `by_rule` only rules of which
    messages stay."""

    at: str = ""
    refused: Mapping[Name, str] = field(default_factory=dict)
    short: Mapping[Name, tuple[int, str]] = field(default_factory=dict)
    by_rule: tuple[Stays, ...] = ()

    def why(self, row: int, dest_q: str, dest_q_mgr: str) -> str:
        """Why the message of a row would stay, "" where it would not."""
        name = Destination(dest_q, dest_q_mgr)
        if name in self.refused:
            return self.refused[name]
        first, why = self.short.get(name, (0, ""))
        return why if row >= first else ""


class _Row(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that are needed here."""

    row: int
    queue: str
    rule_line: int | None
    rule_key: str | None
    action: Action
    dest_q: str
    dest_q_mgr: str


def staying_rows(run: RunFolder, digest: str) -> StayingRows:
    """The rows of a run's plan that would stay. Parameters: `digest` of its plan. Raises `LakeError`, `PlanChanged`."""
    found = PREFLIGHT.find(run)
    stay = staying(found, digest)
    if found is None or not stay.messages:
        return StayingRows()
    short = dict[Name, tuple[int, str]]()
    for one in stay.short:
        rows = sorted(row.row for row in _put(run) if (row.dest_q, row.dest_q_mgr) in one.names)
        short.update(dict.fromkeys(one.names, (rows[one.room], one.why)))
    without_rules = StayingRows(at=found.checked_at, refused=stay.refused, short=short)
    by_rule = Counter(
        (row.queue, row.rule_line, row.action.value, row.rule_key or "")
        for row in _put(run)
        if without_rules.why(row.row, row.dest_q, row.dest_q_mgr)
    )
    stays = (Stays(queue, line, word, number, key) for (queue, line, word, key), number in by_rule.items())
    return replace(without_rules, by_rule=tuple(stays))


def _put(run: RunFolder) -> Iterator[_Row]:
    """The rows that put a message."""
    return (row for row in read_plan(run.plan, _Row) if row.action.acts and not row.action.discards)


def in_pages(
    messages: Iterable[UnmovedMessage], limit: int, after: int
) -> tuple[tuple[Unmoved, ...], tuple[UnmovedMessage, ...], int, tuple[UnmovedMessage, ...]]:
    """All messages by reason; those behind row `after`, by row; how many more there are; and the first that a person
    must place, by row. Spark writes plans in another order."""
    behind, reasons, by_hand = 0, Counter[tuple[Became, str]](), list[UnmovedMessage]()

    def counting() -> Iterator[UnmovedMessage]:
        nonlocal behind
        for message in messages:
            reasons[message.became, message.why] += 1
            if message.action in BY_HAND and message.became == Became.LEFT and len(by_hand) < MOST_BY_HAND:
                by_hand.append(message)
            if message.row > after:
                behind += 1
                yield message

    by_row = attrgetter("row")
    shown = nsmallest(limit, counting(), key=by_row) if limit else sorted(counting(), key=by_row)
    unmoved = tuple(Unmoved(*why, number) for why, number in reasons.most_common())
    return unmoved, tuple(shown), behind - len(shown), tuple(sorted(by_hand, key=by_row))


def unmoved(run: RunFolder, line: RunLine, sums: Account, stay: StayingRows) -> Iterator[UnmovedMessage]:
    """The messages of the plan that were not moved or discarded. Raises `LakeError`, `PlanChanged`."""
    gone, absent_at = read_gone(run), line.proved_at
    if not run.plan.is_dir():
        raise LakeError(f"The plan of run {run.run} is not in {run.plan}: it was removed")
    for row in read_plan(run.plan, _Planned):
        if row.row in sums.acted:
            continue
        became, why = _became(row, line, sums, gone)
        if line.state is RunState.PLANNED and row.action.acts and became == Became.LEFT:
            why = stay.why(row.row, row.dest_q, row.dest_q_mgr)
            if not why:
                continue  # nobody has left it: the plan would move or discard it
        yield UnmovedMessage(
            **{**row._asdict(), "msg_id": row.msg_id.hex(), "action": row.action.value},
            became=became,
            why=why,
            found_at=(gone.at or absent_at) if became == Became.GONE else "",
        )


def _became(row: _Planned, line: RunLine, sums: Account, gone: Gone) -> tuple[Became, str]:
    """What became of a message that was not acted on, and why: by the proof, the markers, the plan, the run's state."""
    number = row.row
    if line.state is RunState.PLANNED and line.is_undo and not row.action.acts:
        return Became.LEFT, _why_left(row, line.state)  # it was not on its queue when the undo was planned
    if number in gone.because:
        return Became.GONE, gone.because[number]
    if number in sums.failed:
        return Became.FAILED, reason_name(sums.failed[number])
    if number in sums.absent:
        return (Became.LEFT, BACK) if line.proved_at and not line.gone else (Became.GONE, ABSENT)
    if line.state is RunState.UNBALANCED and row.action.acts and number not in sums.left:
        return Became.UNKNOWN, "the run does not balance: see its problems"
    return Became.LEFT, sums.left.get(number) or _why_left(row, line.state)


def _why_left(row: _Planned, state: RunState) -> str:
    """Why a message is left that no marker names."""
    action = row.action
    if action is Action.GATED:
        return f"{check_in_words(row.rule_key)} fails"
    if not action.acts:
        return WHY_LEFT.get(action, action.effect.value)
    under_way = state in {RunState.BEGUN, RunState.STOPPED, RunState.UNFINISHED}
    return NOT_REACHED_ELSEWHERE.get(action, NOT_REACHED) if under_way else state.meaning
