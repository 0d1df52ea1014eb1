"""How often a message has been put back, from the ledger (replay cap). Pure.

A replay is known again by MsgId and body digest: both survive being consumed, backed out and requeued by whatever
consumer, while PutDate and PutTime do only if it passes the context on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from mqops.actions import PUTS, Action, is_gate
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.workflow import Workflow

CAPPED = "replay-cap"
"""The rule key of rows that go to quarantine; they are not replays."""
TO_BACKOUT_QUEUE = "BOQNAME"
"""The rule key of rows that the poison guard moves to a backout queue; they are not replays."""
NO_REPLAYS = (CAPPED, TO_BACKOUT_QUEUE)
_PUTS = (*PUTS, Action.DEADLETTER)
"""What an undo takes back with RETURN."""


def _is_replay(rule_key: str) -> bool:
    return rule_key not in NO_REPLAYS and not is_gate(rule_key)


def replay_key(msg_id: str, body_digest: str) -> str:
    """What a message is counted under. Parameters: MsgId as hex; digest of the body as the ledger has it."""
    return f"{msg_id}{body_digest}".lower()


class PutBefore(NamedTuple):
    """Parameters: `runs` the number of runs that put a message on a queue; `last` when the last of them did, ISO 8601
    UTC; blank in files of earlier versions."""

    runs: int
    last: str


class _Put(NamedTuple):
    """A put that no undo took back so far."""

    run: str
    plan: str
    at: str
    is_replay: bool


def undone_plans(issued: Iterable[Marker]) -> Mapping[PlanIdentity, PlanIdentity]:
    """Plan of an undo → the plan that it undoes. Parameters: the ledger's markers of kind "issued"."""
    return {
        PlanIdentity(run=one.run, digest=one.plan): PlanIdentity(
            run=str(one.about["undoes"]), digest=str(one.about["undoes_plan"])
        )
        for one in issued
        if one.about.get("undoes") and one.about.get("undoes_plan")
    }


def put_in_runs(
    acted: Iterable[Marker], undone: Mapping[PlanIdentity, PlanIdentity] = MappingProxyType({})
) -> Mapping[str, PutBefore]:
    """MsgId (hex) → the runs that put a message with it on a queue, but for what an undo took back from there.

    What is no replay was put, too: an undo may be of that.

    Parameters: the ledger's markers of kind "acted", in its order (MAXREPLAY, see `mqops.decide.core.message_groups`);
    `undone` as of `undone_plans`: several messages may have one MsgId. Another undo takes back the last put.
    """
    puts: dict[str, list[_Put]] = {}
    for marker in acted:
        for row in marker.rows:
            msg_id, action = row.msg_id, row.action
            if action == Action.RETURN:
                _take_back(puts.get(msg_id, []), undone.get(PlanIdentity(run=marker.run, digest=marker.plan)))
            elif action in _PUTS and msg_id.strip("0"):
                puts.setdefault(msg_id, []).append(
                    _Put(marker.run, marker.plan, marker.at, action in PUTS and _is_replay(row.rule_key))
                )
    counted = {msg_id: {put.run: put.at for put in there if put.is_replay} for msg_id, there in puts.items()}
    return {msg_id: PutBefore(len(runs), max(runs.values())) for msg_id, runs in counted.items() if runs}


def _take_back(puts: list[_Put], undone: PlanIdentity | None) -> None:
    """Remove the last put of the plan that was undone; the last one where that is not known."""
    own = [at for at, put in enumerate(puts) if undone in {None, PlanIdentity(run=put.run, digest=put.plan)}]
    if own:
        del puts[own[-1]]


def replays(issued: Iterable[Marker], acted: Iterable[Marker]) -> Mapping[str, int]:
    """Replay key → how often backout reprocessing has put that message somewhere.

    Parameters: the ledger's markers of kind "issued" and "acted".
    """
    plans = {
        PlanIdentity(run=marker.run, digest=marker.plan)
        for marker in issued
        if marker.about.get("workflow") == Workflow.BACKOUT_REPROCESS
    }
    counts: Counter[str] = Counter()
    for marker in acted:
        if PlanIdentity(run=marker.run, digest=marker.plan) not in plans:
            continue
        for row in marker.rows:
            if row.action in PUTS and row.rule_key != CAPPED and not is_gate(row.rule_key):
                counts[replay_key(row.msg_id, row.body)] += 1
    return counts
