"""When the recorded messages of a queue manager expire, by the hour: from the newest whole snapshot of each queue,
without what runs have moved or discarded since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.kept import kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.core.expires import QueueForecast
from mqops.look.core.run_state import RunLine
from mqops.look.runs import MOST_LOOKED_AT, Runs
from mqops.look.taken_since import Taker, takers, without
from mqops.observe.recorded import OBSERVED
from mqops.workflow import COPIES
from mqwire.constants import MQEI_UNLIMITED

MORNING = time(8)
"""The time of day, UTC, that the pages look forward to."""
SLOT = 900
"""Seconds of a slot: every zone of the world is that apart from UTC, or a multiple of it."""


class Slots(NamedTuple):
    """A queue of a snapshot. Parameters: `by_slot` seconds since 1970 where a slot begins → messages that expire in it;
    `never` messages without expiry."""

    by_slot: Mapping[int, int]
    never: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Parameters: `limit` such as the next 08:00; `hours` beginning of an hour → messages of all queues; `beyond`
    messages that expire behind these hours, and when the first of them does, None if none does; `removed` queue → the
    run that has taken messages from it since its snapshot, and whose plan was removed: the queue is not counted."""

    limit: datetime
    queues: tuple[QueueForecast, ...]
    hours: Mapping[datetime, int]
    beyond: int = 0
    next_beyond: datetime | None = None
    removed: Mapping[str, str] = field(default_factory=dict)


def next_time(now: datetime, at: time) -> datetime:
    """The next moment with this time of day, in the zone of `now`."""
    found = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return found if found > now else found + timedelta(days=1)


def forecast(lake: Path, queue_manager: str, *, now: datetime, limit: datetime, hours: int = 24) -> Forecast:
    """What expires, by what the lake has. Nothing is browsed: what runs have taken since does not count
    (`mqops.look.taken_since`), what applications have read since still counts.

    The newest snapshot of a queue is the newest that has all of its messages: one with a limit says nothing.

    Parameters: `limit` to the quarter of an hour; `hours` that are listed one by one.

    Raises:
        LakeError: a snapshot, or a file of a run that was proved since, cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    begin, end = int(now.timestamp()), int(limit.timestamp())
    first = now.replace(minute=0, second=0, microsecond=0)
    by_hour = dict.fromkeys((first + timedelta(hours=one) for one in range(hours)), 0)
    found, known = [], Runs(lake, queue_manager).caught_up()
    runs = known.folder / "runs"
    beyond: Counter[datetime] = Counter()
    removed: dict[str, str] = {}
    for line, queues in _newest(known):
        taken_by = takers(known, queues, since=line.at)
        if any(one.plan_removed for one in taken_by):
            removed |= {queue: run for queue in queues if (run := _unknown(known, queue, since=line.at))}
        slots = _slots(RunFolder(runs / line.run).snapshot, tuple(one for one in taken_by if not one.plan_removed))
        for queue in queues:
            if queue in removed:
                continue
            one = slots.get(queue, Slots({}, 0))
            found.append(_queue(queue, line.run, line.at, one, begin=begin, end=end))
            for slot, number in one.by_slot.items():
                at = datetime.fromtimestamp(slot, UTC)
                if at >= first + timedelta(hours=hours):
                    beyond[at] += number
                elif slot + SLOT > begin:
                    by_hour[at.replace(minute=0)] += number
    return Forecast(
        limit=limit,
        queues=tuple(sorted(found, key=lambda one: (-one.before, one.queue))),
        hours=by_hour,
        beyond=beyond.total(),
        next_beyond=min(beyond, default=None),
        removed=removed,
    )


def _unknown(known: Runs, queue: str, *, since: str) -> str:
    """A run that has taken messages from a queue since then, and whose plan was removed; "" where there is none."""
    return next((one.run.run.name for one in takers(known, [queue], since=since) if one.plan_removed), "")


def _newest(known: Runs) -> list[tuple[RunLine, list[str]]]:
    """The newest run that has a snapshot of all of a queue's messages, for each queue; each run once, newest first."""
    queues: dict[RunLine, list[str]] = {}
    for queue in known.queues():
        for line in known.newest(MOST_LOOKED_AT, queue=queue):
            folder = RunFolder(known.folder / "runs" / line.run)
            whole = line.workflow not in COPIES and not line.partial
            if whole and OBSERVED.exists(folder) and folder.snapshot.is_dir():
                queues.setdefault(line, []).append(queue)
                break
    return sorted(queues.items(), key=lambda one: (one[0].at, one[0].run), reverse=True)


def _queue(queue: str, run: str, at: str, slots: Slots, *, begin: int, end: int) -> QueueForecast:
    past = sum(number for slot, number in slots.by_slot.items() if slot + SLOT <= begin)
    later = sum(number for slot, number in slots.by_slot.items() if slot >= end)
    before = sum(slots.by_slot.values()) - past - later
    return QueueForecast(queue=queue, run=run, at=at, past=past, before=before, later=later, never=slots.never)


@kept(most=256)
def _slots(snapshot: Path, taken_by: tuple[Taker, ...]) -> dict[str, Slots]:
    """Queue → when its messages expire. Neither a snapshot nor what a proof says changes. Raises as `forecast`."""
    counts: dict[str, Counter[int]] = {}
    never: Counter[str] = Counter()
    for messages in _messages(snapshot, taken_by):
        observed = pc.cast(pc.cast(messages["observed_at"], pa.timestamp("s", "UTC"), safe=False), pa.int64())
        at = pc.add(observed, pc.cast(pc.divide(messages["expiry"], 10), pa.int64()))
        slot = pc.multiply(pc.divide(at, SLOT), SLOT)
        unlimited = pc.equal(messages["expiry"], MQEI_UNLIMITED)
        table = pa.table({"queue": messages["queue"], "slot": pc.if_else(unlimited, None, slot)})
        for row in table.group_by(["queue", "slot"]).aggregate([([], "count_all")]).to_pylist():
            if row["slot"] is None:
                never[row["queue"]] += row["count_all"]
            else:
                counts.setdefault(row["queue"], Counter())[row["slot"]] += row["count_all"]
    return {queue: Slots(counts.get(queue, {}), never[queue]) for queue in {*counts, *never}}


def _messages(snapshot: Path, taken_by: tuple[Taker, ...]) -> Iterator[pa.Table | pa.RecordBatch]:
    """The messages of a snapshot, all together where some were taken: to look for a million takes long each time."""
    columns = ("queue", "expiry", "observed_at")
    if not taken_by:
        yield from read_parquet(snapshot, columns)
    elif batches := list(read_parquet(snapshot, (*columns, "msg_key"))):
        yield without(pa.Table.from_batches(batches), taken_by)
