"""Which messages of a snapshot are on their queue no longer, by the proofs of runs. Nothing is browsed.

1. A run has taken what the ledger says that it moved or discarded, and its proof has found what is gone besides.
2. What an undo has put back is on its queue again. What it took from where the run had put it is there no longer.
3. A run says so when it is proved, not before: until then its markers are on the ledger queue.
4. Messages that are equal in everything are one here: if one of them was taken, none is counted. To subtract numbers
   would be wrong: two proofs can find the same message gone, and a run can have moved one before the snapshot was taken
   and be proved after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.actions import Action
from mqops.errors import LakeError
from mqops.kept import bytes_of, kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.marker import MarkerKind, MarkerRow
from mqops.ledger.file import markers_of
from mqops.look.core.run_state import RunLine
from mqops.look.run_story import RunStory
from mqops.look.runs import Runs
from mqops.look.unmoved import UnmovedMessage
from mqops.prove.records import read_gone
from mqops.workflow import Workflow

TAKES = frozenset(
    action.value for action in Action if action.acts and action not in {Action.COPY, Action.LOAD, Action.RESTORE}
)
"""Actions that take the message from the queue that the plan names."""
MOST = 128 * 2**20
"""Bytes of identities that are kept: those of some million messages."""
PUTS_BACK = frozenset(action.value for action in Action if action.puts_back)
MOST_LATER = 16
"""Later runs that are looked at, the newest: each costs a look at its plan and at the ledger."""


class Proved(NamedTuple):
    """A run and its proof, which is the same as long as `proved_at` (ISO 8601 UTC) is the same."""

    run: Path
    proved_at: str


class Taker(NamedTuple):
    """A run that has taken messages, and the undos of it that have put some back."""

    run: Proved
    undos: tuple[Proved, ...]

    @property
    def plan_removed(self) -> bool:
        """Whether a pass of retention has removed the plan: which messages were taken is not known any more."""
        return not RunFolder(self.run.run).plan.is_dir()


def takers(
    known: Runs, queues: Collection[str], *, since: str, fits: Callable[[RunLine], bool] = lambda _line: True
) -> tuple[Taker, ...]:
    """The runs that may have taken messages from these queues since then.

    Parameters: `since` when the snapshot was taken, ISO 8601 UTC; `fits` tells which runs are meant.
    """
    took = [line for line in known.that_took(since) if not set(queues).isdisjoint(line.queue.split(",")) and fits(line)]
    runs, undos = known.folder / "runs", dict[str, list[Proved]]()
    for line, undone in known.undos_of([line.run for line in took]) if took else ():
        if line.moved and line.proved_at:
            undos.setdefault(undone, []).append(Proved(runs / line.run, line.proved_at))
    return tuple(Taker(Proved(runs / line.run, line.proved_at), tuple(undos.get(line.run, ()))) for line in took)


def without(messages: pa.Table, taken_by: Sequence[Taker]) -> pa.Table:
    """The messages that no run has taken.

    Parameters: `messages` with the columns `queue` and `msg_key`.

    Raises:
        LakeError: a file of a run cannot be read, or its plan was removed.
        LedgerBroken: the ledger cannot be read.
    """
    for queue, keys in taken(taken_by).items():
        gone = pc.and_(pc.equal(messages["queue"], queue), pc.is_in(messages["msg_key"], keys))
        messages = messages.filter(pc.invert(gone))
    return messages


def still_there(run: RunFolder, messages: pa.Table) -> int:
    """How many messages of a run's snapshot neither it nor a later run has taken. As `not_taken`."""
    return len(not_taken(run, messages))


def not_taken(run: RunFolder, messages: pa.Table) -> pa.Table:
    """Those messages of a run's snapshot that neither it nor a later run has taken. A run whose plan was removed says
    nothing.

    Parameters: `messages` with the columns `queue` and `msg_key`.

    Raises:
        LakeError: a file of a run cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    known = Runs.in_folder(run.lake_folder).caught_up()
    own = known.one(run.run) if messages else None
    if own is None or not own.at:
        return messages
    later = takers(known, messages["queue"].unique().to_pylist(), since=own.at)
    return without(messages, [one for one in later if not one.plan_removed])


def rows_still_there(run: RunFolder) -> pa.Array | None:
    """For each message of a run's snapshot, in its order, whether neither it nor a later run has taken the message;
    None where no run has taken any. Raises as `not_taken`."""
    known = Runs.in_folder(run.lake_folder).caught_up()
    own = known.one(run.run)
    if own is None or not own.at:
        return None
    later = [one for one in takers(known, own.queue.split(","), since=own.at) if not one.plan_removed]
    gone = taken(later)
    if not gone:
        return None
    there = []
    for batch in read_parquet(run.snapshot, ("queue", "msg_key")):
        stays = pa.array(np.ones(batch.num_rows, bool))
        for queue, keys in gone.items():
            took = pc.and_(pc.equal(batch["queue"], queue), pc.is_in(batch["msg_key"], keys))
            stays = pc.and_(stays, pc.invert(took))
        there.append(stays)
    return pa.chunked_array(there, pa.bool_()).combine_chunks()


class Placed(NamedTuple):
    """A message by its queue and identity."""

    queue: str
    msg_key: str


def placed_since(run: RunFolder, left: Collection[Placed], *, at: str) -> dict[Placed, str]:
    """Messages that a later run has taken from their queue → the run. What an undo has put back since is not among
    them. A run whose plan was removed says nothing.

    Parameters: `run` that has left the messages; `at` when it looked at their queues.

    Raises:
        LakeError: a file of a run cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    if not (left and at):
        return {}
    known = Runs.in_folder(run.lake_folder).caught_up()
    # The rules of dead letters cannot see messages without an MQDLH, and look at no others that a person must place.
    later = takers(
        known,
        {one.queue for one in left},
        since=at,
        fits=lambda one: one.at >= at and one.run != run.run and one.workflow != Workflow.DLQ_RULES,
    )
    found: dict[Placed, str] = {}
    for taker in islice((one for one in later if not one.plan_removed), MOST_LATER):
        for queue, keys in taken([taker]).items():
            here = [one for one in left if one.queue == queue]
            there = pc.is_in(pa.array([one.msg_key for one in here], pa.string()), keys).to_pylist()
            found |= {one: taker.run.run.name for one, is_taken in zip(here, there, strict=True) if is_taken}
    return found


def still_by_hand(run: RunFolder, story: RunStory) -> tuple[Mapping[str, int], list[UnmovedMessage]]:
    """Later runs → how many of the messages of a run that a person must place each has taken; and those that no run
    has. Raises as `placed_since`."""
    left = [Placed(one.queue, one.msg_key) for one in story.by_hand]
    taken_by = placed_since(run, set(left), at=story.line.at)
    waiting = [one for where, one in zip(left, story.by_hand, strict=True) if where not in taken_by]
    return Counter(taken_by[one] for one in left if one in taken_by), waiting


def equal_to_taken(run: RunFolder, there: pa.Array | None, queues: Collection[str] = ()) -> int:
    """How many messages of a run's snapshot may be on their queue though they are left out: they are equal in
    everything to one that a run has taken (rule 4).

    Parameters: `there` as of `rows_still_there`; `queues` that are meant, none for all. Raises `LakeError`.
    """
    if not there:
        return 0
    gone, row = [], 0
    for batch in read_parquet(run.snapshot, ("queue", "msg_key")):
        out = pc.invert(there.slice(row, batch.num_rows))
        meant = pc.is_in(batch["queue"], pa.array(queues, pa.string())) if queues else True
        gone.append(batch.filter(pc.and_(out, meant)))
        row += batch.num_rows
    found = pa.Table.from_batches(gone)
    return len(found) - len(found.group_by(["queue", "msg_key"]).aggregate([]))


def taken_by_later(run: RunFolder) -> list[RunLine]:
    """The runs that began after a run and have taken messages from its queues, the newest first. Undos are not among
    them. Raises `LakeError`."""
    known = Runs.in_folder(run.lake_folder).caught_up()
    own = known.one(run.run)
    if own is None or not own.at:
        return []
    began = own.at
    found = takers(known, own.queue.split(","), since=began, fits=lambda one: one.at > began and not one.is_undo)
    took = {one.run.run.name for one in found}
    return [one for one in known.that_took(began) if one.run in took]


def taken(taken_by: Sequence[Taker]) -> Mapping[str, pa.Array]:
    """Queue → identities of the messages that were taken from it. Raises as `without`."""
    found: dict[str, list[pa.Array]] = {}
    for one in taken_by:
        for queue, keys in _taken(one).items():
            found.setdefault(queue, []).extend(keys.chunks)
    return {queue: pa.chunked_array(keys, pa.string()).combine_chunks() for queue, keys in found.items()}


def _bytes(found: Mapping[str, pa.ChunkedArray]) -> int:
    return bytes_of(*found.values())


@kept(most=MOST, size=_bytes)
def _taken(one: Taker) -> Mapping[str, pa.ChunkedArray]:
    """Queue → identities of the messages that a run has taken from it. A proof never changes. Raises as `without`."""
    run = RunFolder(one.run.run)
    if one.plan_removed:
        raise LakeError(f"The plan of run {run.run} was removed: which messages it has taken is not known any more")
    plan = pa.Table.from_batches(list(read_parquet(run.plan, ("row", "queue", "msg_key"))))
    rows = np.fromiter(chain(_numbers(run, TAKES), read_gone(run).because), np.int64)
    for undo in one.undos:
        rows = np.setdiff1d(rows, np.fromiter(_numbers(RunFolder(undo.run), PUTS_BACK), np.int64))
    plan = plan.filter(pa.array(np.isin(plan["row"].to_numpy(), rows)))
    queues = plan["queue"].unique().to_pylist()
    return {queue: plan.filter(pc.equal(plan["queue"], queue))["msg_key"] for queue in queues}


def acted(run: RunFolder, actions: Collection[str]) -> Iterator[MarkerRow]:
    """The messages on which a run carried out one of the actions, by the ledger. Raises `LakeError`, `LedgerBroken`."""
    for marker in markers_of(run, kind=MarkerKind.ACTED):
        yield from (row for row in marker.rows if row.action in actions)


def _numbers(run: RunFolder, actions: Collection[str]) -> Iterator[int]:
    return (one.row for one in acted(run, actions))
