"""Messages that snapshots of the lake have: when they were last seen, and what became of those that the ledger does not
tell of (rules in `mqops.prove.core.whereabouts`). No queue manager is asked."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.clock import utc
from mqops.decide.backout_setting import BACKOUT
from mqops.decide.recorded import PLAN
from mqops.errors import LakeError
from mqops.lake.files import SETTLED_NS
from mqops.lake.parquet import R, bounds, chunks_with, read_chunks, rows_as
from mqops.lake.run import RunFolder, folder_of, run_folders
from mqops.ledger.file import markers_of
from mqops.model import ObserveSummary
from mqops.observe.recorded import ANATOMY, OBSERVED
from mqops.prove.core.whereabouts import Missed, Sighting, Whereabouts, whereabouts
from mqops.prove.records import LOAD_RECORD, UNDO_RECORD, read_gone
from mqwire.constants import MQ_MSG_ID_LENGTH

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
    """A snapshot. Attributes: `at` its begin and `ended` its end: what it has not went before that; `queues` that it
    has whole, `settled` those without uncommitted messages; `seen` the messages that were asked for."""

    run: str
    at: datetime
    ended: datetime
    queues: frozenset[str]
    settled: frozenset[str]
    seen: Mapping[str, Sighting]


class _Snapshot(NamedTuple):
    """What does not change of a run's snapshot. Parameters: `at` to `settled` as of `_Look`; `kept` whether it
    or its plan is there; `ids` the least and the greatest MsgId, None where no footer says them."""

    at: datetime
    ended: datetime
    queues: frozenset[str]
    settled: frozenset[str]
    kept: bool
    ids: tuple[bytes, bytes] | None


def seen_in_snapshots(
    lake: Path, queue_manager: str, msg_id: str, dealt_with: Collection[tuple[str, str]]
) -> Iterator[Whereabouts]:
    """What is known of messages whose MsgId begins so, but for those that a run dealt with when they were last seen.

    Parameters: `msg_id` hex; `dealt_with` (run, msg_key) of the ledger's lines that say that a message was moved or
    discarded.

    Raises:
        LakeError: a run cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    folder = folder_of(lake, queue_manager)
    looks = sorted(_looks(folder, msg_id), key=lambda look: look.at)
    last: dict[str, int] = {}
    for number, look in enumerate(looks):
        last.update(dict.fromkeys(look.seen, number))
    for key, number in last.items():
        look = looks[number]
        if (look.run, key) in dealt_with:
            continue
        run = RunFolder(folder / "runs" / look.run)
        sighting = look.seen[key]
        planned = _plan_rows(run, sighting)
        if planned:
            sighting = replace(sighting, action=planned[0].action, rule_line=planned[0].rule_line)
        missed = [
            Missed(later.ended, later.run, certain=sighting.queue in later.settled)
            for later in looks[number + 1 :]
            if sighting.queue in later.queues
        ]
        if found := _absent_at(run, [row.row for row in planned]):
            missed.append(Missed(found, look.run, certain=sighting.queue in read_gone(run).settled))
        yield whereabouts(sighting, queue_manager, min(missed, default=None), now=utc())


def _looks(folder: Path, msg_id: str) -> Iterator[_Look]:
    """The snapshots of a queue manager's queues. Those of undos and loads are left out: they are not of a queue."""
    low, high = _id_range(msg_id)
    before, place = time.time_ns() - SETTLED_NS, str(folder)
    for name, changed in sorted(run_folders(folder)):
        of = _snapshot(place, name, changed) if changed < before else _snapshot.__wrapped__(place, name, 0)
        if of is None or not of.kept:
            continue
        queues, seen = of.queues, list[Sighting]()
        if of.ids is None or (of.ids[0] <= high and low <= of.ids[1]):
            run = RunFolder(folder / "runs" / name)
            try:
                seen = [_sighting(run, row.observed_at, row) for row in _rows_with(run.snapshot, _Seen, msg_id)]
            except LakeError:  # its snapshot was removed from the lake (retention); its plan may be there
                queues = frozenset()
                planned = _rows_with(run.plan, _Planned, msg_id) if run.plan.is_dir() else ()
                seen = [_sighting(run, of.at, row) for row in planned]
        yield _Look(name, of.at, of.ended, queues, of.settled, {one.msg_key: one for one in seen})


@lru_cache(maxsize=8192)
def _snapshot(folder: str, name: str, _changed: int) -> _Snapshot | None:
    """A run's snapshot; None for an undo or a load, or without one. It is read again where the run's folder
    changed. Raises `LakeError`."""
    run = RunFolder(Path(folder, "runs", name))
    observed = OBSERVED.find(run)
    if observed is None or UNDO_RECORD.exists(run) or LOAD_RECORD.exists(run):
        return None
    whole = observed.whole
    if whole is None:
        whole = ANATOMY.exists(run) or BACKOUT.exists(run)
    queues = frozenset(one.queue for one in observed.queues) if whole else frozenset[str]()
    at = datetime.fromisoformat(observed.observed_at)
    ids = None
    with suppress(LakeError):  # who reads the messages will find it
        (ids,) = bounds(run.snapshot, "msg_id")
    kept = run.snapshot.is_dir() or run.plan.is_dir()
    settled = frozenset(observed.settled)
    return _Snapshot(at, _ended(run, observed, at), queues, settled, kept, ids)


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
