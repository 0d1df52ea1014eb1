"""Messages that snapshots of the lake have: when they were last seen, and what became of those that the ledger does not
tell of (rules in `mqops.prove.core.whereabouts`). No queue manager is asked.

Which snapshots may have a MsgId is asked of the index of the runs. The newest of these are read (`MOST`): so a look
costs the same however many runs there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.clock import utc
from mqops.decide.backout_setting import BACKOUT
from mqops.decide.recorded import PLAN
from mqops.errors import LakeError
from mqops.lake.parquet import R, rows_as
from mqops.lake.row_groups import chunks_with, read_chunks
from mqops.lake.run import RunFolder
from mqops.ledger.file import markers_of
from mqops.look.core.run_state import RunLine
from mqops.look.runs import Runs
from mqops.model import ObserveSummary
from mqops.observe.recorded import ANATOMY, OBSERVED
from mqops.prove.core.whereabouts import Missed, Sighting, Whereabouts, whereabouts
from mqops.prove.records import read_gone
from mqwire.constants import MQ_MSG_ID_LENGTH

MOST = 200
"""Snapshots that are read for a message, the newest of those that may have it."""
_ROWS = 65_536


class _Seen(NamedTuple):
    """A message of a snapshot."""

    queue: str
    msg_id: bytes
    msg_key: str
    observed_at: datetime
    expiry: int
    persistence: int


class _Planned(NamedTuple):
    """A message of a plan."""

    row: int
    queue: str
    msg_id: bytes
    msg_key: str
    action: str
    rule_line: int | None


@dataclass(frozen=True, slots=True)
class _Look:
    """A snapshot of a run. Attributes: `at` its begin and `ended` its end: what it has not went before that; `queues`
    that it has whole, `settled` those without uncommitted messages."""

    run: RunFolder
    at: datetime
    ended: datetime
    queues: frozenset[str]
    settled: frozenset[str]


def seen_in_snapshots(runs: Runs, msg_id: str, dealt_with: Collection[tuple[str, str]]) -> Iterator[Whereabouts]:
    """What is known of messages whose MsgId begins so, but for those that a run dealt with when they were last seen.

    Parameters: `runs` of the queue manager; `msg_id` hex; `dealt_with` (run, msg_key) of the ledger's lines that say
    that a message was moved or discarded.

    Raises:
        LakeError: a run cannot be read, or none of the newest snapshots that may have such a message has one.
        LedgerBroken: the ledger cannot be read.
    """
    lines = runs.that_may_have(*_id_range(msg_id), limit=MOST + 1)
    last: dict[str, tuple[RunLine, _Look, Sighting]] = {}
    for line in lines[:MOST]:
        if look := _look(runs, line.run):
            for sighting in _seen(look, msg_id):
                last.setdefault(sighting.msg_key, (line, look, sighting))
    if len(lines) > MOST and not last:
        raise LakeError(
            f"More than {MOST:,} snapshots may have such a message. None of the newest {MOST:,} has it, and the others "
            "were not read: look in one of them (`mqops message find --snapshot RUN`)"
        )
    for line, look, seen in sorted(last.values(), key=lambda one: (one[1].at, one[0].run)):
        if (line.run, seen.msg_key) in dealt_with:
            continue
        planned = _plan_rows(look.run, seen)
        sighting = replace(seen, action=planned[0].action, rule_line=planned[0].rule_line) if planned else seen
        missed = list(_missed(runs, line, sighting.queue))
        if found := _absent_at(look.run, [row.row for row in planned]):
            missed.append(Missed(found, line.run, certain=sighting.queue in read_gone(look.run).settled))
        yield whereabouts(sighting, runs.queue_manager, min(missed, default=None), now=utc())


def _missed(runs: Runs, line: RunLine, queue: str) -> Iterator[Missed]:
    """The snapshots behind that of a run that have a queue whole: the first that ended is among them."""
    ended: datetime | None = None
    for name in islice(runs.behind(line, queue), MOST):
        later = _look(runs, name)
        if later is None:
            continue
        if ended and later.at >= ended:
            return
        if queue in later.queues:
            ended = min(ended or later.ended, later.ended)
            yield Missed(later.ended, name, certain=queue in later.settled)


def _look(runs: Runs, name: str) -> _Look | None:
    """A run's snapshot; None where nothing says what it saw. Raises `LakeError`."""
    run = RunFolder.at(runs.lake, runs.queue_manager, name)
    observed = OBSERVED.find(run)
    if observed is None:
        return None
    whole = observed.whole
    if whole is None:
        whole = ANATOMY.exists(run) or BACKOUT.exists(run)
    queues = frozenset(one.queue for one in observed.queues) if whole else frozenset[str]()
    at = datetime.fromisoformat(observed.observed_at)
    return _Look(run, at, _ended(run, observed, at), queues, frozenset(observed.settled))


def _seen(look: _Look, msg_id: str) -> Iterator[Sighting]:
    """The messages of a snapshot whose MsgId begins so; where a retention has removed it, those of the plan."""
    run = look.run
    try:
        yield from [_sighting(run, row.observed_at, row) for row in _rows_with(run.snapshot, _Seen, msg_id)]
    except LakeError:
        planned = _rows_with(run.plan, _Planned, msg_id) if run.plan.is_dir() else ()
        yield from (_sighting(run, look.at, row) for row in planned)


def _ended(run: RunFolder, observed: ObserveSummary, at: datetime) -> datetime:
    """When a snapshot ended: observe.json says it; of an earlier version, it was written then."""
    if observed.ended_at:
        return datetime.fromisoformat(observed.ended_at)
    return max(at, datetime.fromtimestamp(OBSERVED.path(run).stat().st_mtime, UTC))


def _sighting(run: RunFolder, at: datetime, row: _Seen | _Planned) -> Sighting:
    """Parameters: `row` of the snapshot, or of the plan, which has no lifetime."""
    return Sighting(
        run=run.run,
        at=at,
        queue=row.queue,
        msg_id=row.msg_id.hex(),
        msg_key=row.msg_key,
        expiry=row.expiry if isinstance(row, _Seen) else None,
        persistence=row.persistence if isinstance(row, _Seen) else None,
    )


def _rows_with(folder: Path, kind: type[R], msg_id: str) -> Iterator[R]:
    """The rows of Parquet files whose MsgId begins so. Raises `LakeError`."""
    low, high = _id_range(msg_id)
    for batch, others in read_chunks(folder, ["msg_id"], rows=_ROWS, chosen=chunks_with(folder, "msg_id", low, high)):
        ids = batch.column("msg_id")
        chosen = pc.and_(pc.greater_equal(ids, pa.scalar(low, ids.type)), pc.less_equal(ids, pa.scalar(high, ids.type)))
        if pc.any(chosen).as_py():
            yield from rows_as(others(kind._fields).filter(chosen), kind)


def _id_range(msg_id: str) -> tuple[bytes, bytes]:
    """The least and the greatest MsgId that begins so."""
    digits = 2 * MQ_MSG_ID_LENGTH
    low, high = (bytes.fromhex(msg_id[:digits].ljust(digits, end)) for end in "0f")
    return low, high


def _plan_rows(run: RunFolder, sighting: Sighting) -> list[_Planned]:
    """The rows of a message in the run's plan, none without a plan."""
    if not PLAN.exists(run) or not run.plan.is_dir():
        return []
    return [row for row in _rows_with(run.plan, _Planned, sighting.msg_id) if row.msg_key == sighting.msg_key]


def _absent_at(run: RunFolder, planned: Collection[int]) -> datetime | None:
    """When a run first found that a message was gone: when its turn came, or at the proof. None if it did not.

    Parameters: `planned` the numbers of its rows in the plan.
    """
    if not planned:
        return None
    for marker in markers_of(run):
        if not set(marker.absent).isdisjoint(planned):
            return datetime.fromisoformat(marker.at)
    gone = read_gone(run)
    return datetime.fromisoformat(gone.at) if gone.because.keys() & set(planned) else None
