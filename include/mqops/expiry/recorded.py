"""The forecast of a queue manager by what the lake has: what the last check saw of all queues, and what looks taught.

Nothing is asked of the queue manager.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from mqops.expiry.core.calendar import Calendar
from mqops.expiry.core.candidates import Known, QueueNow
from mqops.expiry.core.forecast import Outlook, outlook
from mqops.expiry.core.outcome import QueueScan
from mqops.expiry.group import known_by_all, members
from mqops.expiry.record import known, seen
from mqops.lake.run import folder_of


def recorded_outlook(
    lake: Path, queue_manager: str, *, calendar: Calendar, now: datetime, scans: Iterable[QueueScan] = ()
) -> Outlook:
    """What will expire on the queues that the last check has seen (`mqops.expiry.record.note_seen`).

    Parameters: `scans` that were made since.

    Raises:
        LakeError: what the check has seen, or what scans taught, cannot be read.
    """
    folder, done = folder_of(lake, queue_manager), {scan.queue: scan for scan in scans}
    noted, own = seen(folder), known(folder)
    taught = known_by_all(own, members(lake, noted.group) if noted.group else (), noted.queues).known
    queues = (as_scanned(queue, done) for queue in noted.queues)
    return outlook(queue_manager, queues, {**taught, **of_scans(own, done)}, now=now, calendar=calendar)


def as_scanned(queue: QueueNow, done: Mapping[str, QueueScan]) -> QueueNow:
    """A queue as its scan has left it."""
    scan = done.get(queue.name)
    return replace(queue, depth=scan.left + scan.in_flight) if scan else queue


def of_scans(own: Mapping[str, Known], done: Container[str]) -> dict[str, Known]:
    """What these scans have taught, whoever scans a shared queue as a rule."""
    return {queue: one for queue, one in own.items() if queue in done}
