"""Backout queues: the messages on them, those whose origin is ambiguous, and how their queues name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.act.sources import PROTECTION_ERRORS
from mqops.actions import Action
from mqops.counted import counted
from mqops.finding import sentence
from mqops.kept import bytes_of, kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, tried
from mqops.look.estate.since import to_know, with_since
from mqops.look.figures import QueueFigures
from mqops.look.runs import MOST_LOOKED_AT
from mqops.look.taken_since import still_there
from mqops.look.words.state import RunState
from mqops.workflow import Workflow


def backout_queues(known: Known) -> Iterator[Problem]:
    """The backout queues that have messages, besides the dead-letter queue."""
    apart = {known.figures.dead_letter_queue, PROTECTION_ERRORS}
    queues = [one for one in known.figures.queues if one.depth and one.is_backout and one.name not in apart]
    ambiguous, failed = tried(
        "The plan of the last run for backout queues cannot be read",
        lambda: _ambiguous(known, [one.name for one in queues]),
        dict[str, _Ambiguous](),
    )
    yield from failed
    for one in queues:
        left = ambiguous.get(one.name)
        yield _on_backout_queue(known, one, left if left and left.messages <= one.depth else None)


def misconfigured(known: Known) -> Iterator[Problem]:
    """Queues with BOTHRESH whose messages BOQNAME cannot take (P11)."""
    found = known.figures.misconfigured
    for one in found[:MOST_SHOWN]:
        yield Problem(what=one.what, remedy=one.remedy)
    if (more := len(found) - MOST_SHOWN) > 0:
        yield Problem(what=f"{counted(more, 'more queue')} with BOTHRESH and no usable BOQNAME", remedy=ALL)


ALL = "`mqops backout audit` tells all"
MOST_SHOWN = 20
"""Misconfigured queues that are told one by one."""
_FORM = "The page of that run has the form of mq_recover, which moves them where you say"


class _Ambiguous(NamedTuple):
    """The messages of a backout queue whose origin is ambiguous by a run's plan. Parameters: `messages` that no later
    run has taken, `taken` those that one has; `go_back` other messages that the plan puts back."""

    run: RunLine
    messages: int
    taken: int
    go_back: int

    def __str__(self) -> str:
        all_of_them = self.messages + self.taken
        since = f", and later runs have taken {self.taken:,} of them" if self.taken else ""
        if self.run.begun:
            return f"the last run for it left {all_of_them:,} (AMBIGUOUS){since}"
        which = "which was rejected" if self.run.state is RunState.REJECTED else "which moved nothing"
        found = f"{self.go_back:,} that can go back and {all_of_them:,} of ambiguous origin (AMBIGUOUS)"
        return f"the run of {self.run.at}, {which}, found {found}{since}"


def _on_backout_queue(known: Known, queue: QueueFigures, left: _Ambiguous | None) -> Problem:
    what = f"{queue.name}, a backout queue, has {with_since(known, queue)}"
    if left is None:
        return Problem(what=what, remedy=to_know(known, queue), backout_queue=queue.name)
    return Problem(
        what=f"{what}; {left}: where they came from is not known",
        remedy=sentence(_FORM, to_know(known, queue)),
        place=Place.RUN,
        about=left.run.run,
        backout_queue=queue.name if queue.depth > left.messages else "",
    )


def _ambiguous(known: Known, queues: Iterable[str]) -> dict[str, _Ambiguous]:
    """Backout queue → what the newest proved run that looked at it found or left as ambiguous, where it did."""
    found: dict[str, _Ambiguous] = {}
    for queue in queues:
        looked = (
            known.runs.newest(MOST_LOOKED_AT, queue=queue, workflow=Workflow.BACKOUT_REPROCESS) if known.runs else ()
        )
        run = next((one for one in looked if one.proved_at and not one.partial), None)
        if run is None:
            continue
        path = known.path(run)
        planned = _actions_of_queues(path).get(queue, {}) if run.left else {}
        if number := planned.get(Action.AMBIGUOUS, 0):
            there = still_there(RunFolder(path), _ambiguous_of(path, queue))
            acts = sum(messages for action, messages in planned.items() if action.acts)
            found[queue] = _Ambiguous(run, there, number - there, acts)
    return {queue: one for queue, one in found.items() if one.messages}


@kept(most=32 * 2**20, size=bytes_of)
def _ambiguous_of(run: Path, queue: str) -> pa.Table:
    """Queue and identity of the messages of a queue whose origin is ambiguous by a plan. A plan never changes."""
    plan = pa.Table.from_batches(read_parquet(RunFolder(run).plan, ["queue", "msg_key", "action"]))
    chosen = pc.and_(pc.equal(plan["queue"], queue), pc.equal(plan["action"], Action.AMBIGUOUS.value))
    return plan.filter(chosen).drop_columns("action")


@kept(most=256)
def _actions_of_queues(run: Path) -> Mapping[str, Mapping[Action, int]]:
    """Queue → action → messages of a plan. A plan never changes; one that was removed has none."""
    found: dict[str, Counter[Action]] = {}
    if RunFolder(run).plan.is_dir():
        for batch in read_parquet(RunFolder(run).plan, ["queue", "action"]):
            counts = pa.Table.from_batches([batch]).group_by(["queue", "action"]).aggregate([([], "count_all")])
            for row in counts.to_pylist():
                found.setdefault(row["queue"], Counter())[Action(row["action"])] += row["count_all"]
    return found
