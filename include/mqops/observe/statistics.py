"""How many messages were put on queues and got from them over the last day.

1. Only the queues that `reset_statistics` of the estate names are counted, and never without it: the command that
   counts sets the counts to 0 for everybody (`mqops.mq.statistics`).
2. Looks of pages and commands, and the snapshots of runs, leave a sample where the newest is 15 minutes old. A lock
   lets one of them ask, so that each message is counted in one sample, whoever took it. The time is written before:
   where the lake cannot be written to, nothing is reset.
3. Samples of 24 hours are kept, of at most 200 queues, the first by their names: LAKE/<queue manager>/statistics.json
   does not grow, and may be deleted.
4. What the queue manager refuses is told on the page of the queue, and is no error of the look or the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from mqops.clock import utc, utc_text
from mqops.counted import counted
from mqops.errors import InProgress, LakeError, MQError, MqopsError
from mqops.lake.files import make_folder, write_json
from mqops.lake.lock_file import locked
from mqops.lake.run import folder_of
from mqops.lake.run_file import Checked
from mqops.model import Count
from mqops.mq.inquire import queue_names
from mqops.mq.session import Session
from mqops.mq.statistics import Counts, reset_statistics
from mqops.observe.samples import MOST_SAMPLES, is_of_last_day, is_recent
from mqops.queue_names import selected
from mqops.storage import estate_here

FILE, LOCK = "statistics.json", "statistics.lock"
MOST = 200
"""Queues that are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Parameters: `at` when it was taken, ISO 8601 UTC; `of` queue → what went through it since its last reset."""

    at: str
    of: Mapping[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The samples of a queue manager's queues, oldest first.

    Parameters: `asked_at` when the queue manager was asked last, ISO 8601 UTC, blank for never; `named` the queues
    that the estate named then; `refused` queue → why it was not counted then, `failed` why others were not.
    """

    samples: tuple[Sample, ...] = ()
    asked_at: str = ""
    named: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""

    def of(self, queue: str) -> list[tuple[str, Count]]:
        """The samples of a queue: when each was taken, and what it counts."""
        return [(one.at, one.of[queue]) for one in self.samples if queue in one.of]

    def why_not(self, queue: str) -> str:
        """Why a queue was not counted when the queue manager was asked last, "" where it was, or was not to be."""
        if not selected(queue, self.named) or any(one.at >= self.asked_at for one in self.samples if queue in one.of):
            return ""
        return self.refused.get(queue, self.failed)


_STATISTICS = Checked(Statistics)


def statistics(lake_folder: Path, now: datetime) -> Statistics:
    """The statistics of the last day. Parameters: `lake_folder` LAKE/<queue manager>."""
    path = lake_folder / FILE
    with suppress(LakeError):
        found = _STATISTICS.read(path) if path.exists() else Statistics()
        if is_of_last_day(found.asked_at, now):
            return replace(found, samples=tuple(one for one in found.samples if is_of_last_day(one.at, now)))
    return Statistics()


def count_puts_and_gets(session: Session, lake: Path, queue_manager: str) -> None:
    """Leave a sample, where the estate asks for it (rules 1, 2). Raises nothing."""
    with suppress(MqopsError, OSError):
        file = estate_here()
        settings = file.queue_manager(queue_manager) if file else None
        if settings is None or not settings.reset_statistics or not os.access(lake, os.W_OK):
            return
        folder = folder_of(lake, queue_manager)
        make_folder(folder)
        with locked(folder / LOCK, wait=0, refused=InProgress(), place=folder):
            _sample(session, folder, settings.reset_statistics)


def _sample(session: Session, lake_folder: Path, named: tuple[str, ...]) -> None:
    """Raises `LakeError`."""
    now = utc()
    kept = statistics(lake_folder, now)
    if is_recent(kept.asked_at, now):
        return
    path = lake_folder / FILE
    begun = Statistics(samples=kept.samples, asked_at=utc_text(now), named=named)
    write_json(path, asdict(begun))
    counts, left_out = _counted(session, named)
    failed = [str(counts.failed)] if counts.failed else []
    meant = f"reset_statistics means {counted(MOST + left_out, 'queue')}, of which the first {MOST} by name are counted"
    failed += [meant] if left_out else []
    sample = Sample(at=utc_text(utc()), of=counts.of)
    done = replace(
        begun,
        samples=(*kept.samples, sample)[-MOST_SAMPLES:] if counts.of else kept.samples,
        refused={queue: str(error) for queue, error in counts.refused.items()},
        failed=". ".join(failed),
    )
    write_json(path, asdict(done))


def _counted(session: Session, named: tuple[str, ...]) -> tuple[Counts, int]:
    """The counts, and how many queues are too many. A name without `*` is asked for as it is: what it names instead of
    a local queue, the queue manager says."""
    try:
        there = {one for one in queue_names(session) if selected(one, named)}
    except MQError as error:
        return Counts(failed=error), 0
    queues = sorted(there.union(one for one in named if "*" not in one))
    return reset_statistics(session, queues[:MOST]), max(0, len(queues) - MOST)
