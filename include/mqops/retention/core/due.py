"""Which files of which runs are due to be removed. Pure.

1. The ledger stays. So do the small files of a run that moved or discarded messages: what was planned, approved, done
   and proved, with all counts. Its messages go first (the snapshot, with their bodies), then its plan. A run that moved
   nothing can go whole.
2. Only a run that is over loses anything (`OVER`). What is unfinished, waits for an answer, was stopped, or does not
   balance keeps all of its files, however old it is.
3. A run that moved or discarded messages keeps all of its files while it can be undone (`undo`), and while an undo of
   it is not over. The newest runs of each workflow and queue keep theirs (`newest`), and so does the newest run with
   all messages of a queue: pages show it, and the next run is compared with it.
4. A file is due by the age of its run (from its proof, else its snapshot), by number (`most_runs` of each workflow and
   queue keep their messages), or by size: while snapshots and plans have more than `most_bytes`, the oldest go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from mqops.counted import counted, length_of_time
from mqops.look.words.state import RunState

OVER = frozenset(
    {RunState.DONE, RunState.REJECTED, RunState.REFUSED, RunState.UNANSWERED, RunState.PLANNED}
    | {RunState.OBSERVED, RunState.CHECKED, RunState.FAILED, RunState.SCANNED, RunState.INCOMPLETE}
)
"""States of a run that does nothing more by itself. INCOMPLETE: its observe ended long ago without a snapshot."""
UNDO = timedelta(days=7)
"""How long a run can be undone, unless the policy says otherwise."""


class Part(StrEnum):
    """What is removed of a run."""

    SNAPSHOT = "snapshot"
    PLAN = "plan"
    RUN = "run"
    """The whole folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """How old a run is whose parts are due; None for never."""

    snapshots: timedelta | None = None
    plans: timedelta | None = None
    runs: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Parameters: `ages` of all workflows, and `workflows` of single ones instead; `undo`, `newest`, `most_runs` and
    `most_bytes` as in the rules, 0 for no such bound."""

    ages: Ages = field(default_factory=Ages)
    workflows: Mapping[str, Ages] = field(default_factory=dict)
    undo: timedelta = UNDO
    newest: int = 1
    most_runs: int = 0
    most_bytes: int = 0

    def of(self, workflow: str) -> Ages:
        """The ages of a workflow's runs."""
        return self.workflows.get(workflow, self.ages)


class Candidate(NamedTuple):
    """A run. Parameters: `at` when it was proved, else observed, None where neither is known; `whole` whether its
    snapshot has all messages of its queues; `snapshot` and `plan` bytes of these parts, 0 where they are not there."""

    run: str
    workflow: str
    queues: tuple[str, ...]
    state: RunState
    at: datetime | None
    begun: bool
    whole: bool
    snapshot: int
    plan: int


class Due(NamedTuple):
    """Parameters: `begun` whether the run has begun to act; `parts` of it that are due; `bytes` in them, as far as they
    are counted; `why` in words."""

    run: str
    begun: bool
    parts: tuple[Part, ...]
    bytes: int
    why: str


class Decided(NamedTuple):
    """Parameters: `kept` why runs keep what would be due otherwise → how many."""

    due: tuple[Due, ...]
    kept: Mapping[str, int]


def decided(runs: Iterable[Candidate], policy: Policy, *, needed: Mapping[str, str], now: datetime) -> Decided:
    """What is due. Parameters: `runs` newest first; `needed` runs that keep all, each with its reason."""
    due: list[Due] = []
    kept: Counter[str] = Counter()
    left: list[tuple[Candidate, bool]] = []
    rank: Counter[tuple[str, str]] = Counter()
    shown: set[str] = set()
    for one in runs:
        keys = [(one.workflow, queue) for queue in one.queues or ("",)]
        rank.update(keys)
        place = min(rank[key] for key in keys)
        is_shown = one.whole and one.snapshot > 0 and not shown.issuperset(one.queues)
        if is_shown:
            shown.update(one.queues)
        parts, why = _by_age_or_number(one, policy, place=place, now=now)
        stays = _stays(one, policy, needed, place=place, is_shown=is_shown, now=now)
        if parts and not stays:
            due.append(Due(one.run, one.begun, parts, _bytes(one, parts), why))
        elif parts:
            kept[stays] += 1
        if not parts or stays:
            left.append((one, bool(stays)))
    due += _by_size(left, policy, kept)
    return Decided(tuple(due), kept)


def _by_age_or_number(one: Candidate, policy: Policy, *, place: int, now: datetime) -> tuple[tuple[Part, ...], str]:
    ages = policy.of(one.workflow)
    age = now - one.at if one.at else None
    older = [limit for limit in (ages.runs, ages.plans, ages.snapshots) if limit and age is not None and age >= limit]
    why = f"older than {length_of_time(min(older).total_seconds())}" if older else ""
    if ages.runs in older and not one.begun:
        return (Part.RUN,), f"moved nothing, {why}"
    too_many = bool(policy.most_runs) and place > policy.most_runs
    there = [(Part.SNAPSHOT, one.snapshot, ages.snapshots), (Part.PLAN, one.plan, ages.plans)]
    of_plan = ages.plans in older and ages.plans is not None
    parts = tuple(part for part, size, limit in there if size and (limit in older or too_many or of_plan))
    if parts and not older:
        why = f"behind the newest {counted(policy.most_runs, 'run')} of its workflow and queue"
    return parts, why


def _stays(
    one: Candidate, policy: Policy, needed: Mapping[str, str], *, place: int, is_shown: bool, now: datetime
) -> str:
    """Why a run keeps all of its files (rules 2 and 3); "" where it does not."""
    if one.state not in OVER:
        return f"the run is {one.state}"
    if one.at is None:
        return "its age is not known"
    if one.run in needed:
        return needed[one.run]
    if one.begun and now - one.at < policy.undo:
        return "the run can be undone"
    if place <= policy.newest:
        return "one of the newest of its workflow and queue"
    return "the newest snapshot of a queue" if is_shown else ""


def _by_size(left: Sequence[tuple[Candidate, bool]], policy: Policy, kept: Counter[str]) -> Iterator[Due]:
    """Rule 4. Parameters: `left` runs of which nothing is due yet, and whether they must keep all."""
    total = sum(one.snapshot + one.plan for one, _stays in left)
    if not policy.most_bytes:
        return
    for one, stays in reversed(left):
        if total <= policy.most_bytes:
            return
        parts = tuple(part for part in (Part.SNAPSHOT, Part.PLAN) if _bytes(one, (part,)))
        if stays and parts:
            kept["must keep its files, although the lake is too large"] += 1
        elif parts:
            total -= (freed := _bytes(one, parts))
            yield Due(one.run, one.begun, parts, freed, "the oldest, while the lake is too large")


def _bytes(one: Candidate, parts: Iterable[Part]) -> int:
    sizes = {Part.SNAPSHOT: one.snapshot, Part.PLAN: one.plan, Part.RUN: one.snapshot + one.plan}
    return sum(sizes[part] for part in parts)
