"""The forecast of a queue manager: the queues worth a look are looked at, of the others the last look counts.

1. Nothing is asked of the queue manager but two inquiries for all queues, and a browse of each candidate.
2. LAKE/<queue manager>/expiry/forecast.prom has the newest figures as OpenMetrics text, for Prometheus' node exporter
   (its textfile collector) or another agent. Each run of the expiry scan and each forecast of all queues writes it.
3. A forecast of all queues has the dead-letter, backout and storage queues, also those whose names begin with SYSTEM.
   or MQOPS.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.clock import utc
from mqops.expiry.core.calendar import Calendar
from mqops.expiry.core.candidates import Known, QueueNow
from mqops.expiry.core.forecast import Outlook, openmetrics, outlook
from mqops.expiry.core.outcome import ExpirySummary, QueueScan
from mqops.expiry.group import known_by_all, members
from mqops.expiry.record import known, seen
from mqops.expiry.scan import Candidates, FirstTell, lake_folder, run_scan
from mqops.lake.files import make_folder, write_bytes
from mqops.mq.connection import MqConnection


class LookAhead(NamedTuple):
    """A forecast: which queues were looked at and why, what these looks found, and what will expire."""

    found: Candidates
    summary: ExpirySummary
    outlook: Outlook


def look_ahead(
    connection: MqConnection,
    lake: Path,
    patterns: Sequence[str],
    *,
    calendar: Calendar,
    recheck: timedelta,
    all_filled: bool = False,
    first_tell: FirstTell | None = None,
) -> LookAhead:
    """What will expire on the queues of these names; without names, on all queues (rule 3). Raises as `run_scan`.

    Parameters: as of `run_scan`.
    """
    found, summary = run_scan(
        connection,
        lake,
        patterns or ("*",),
        recheck=recheck,
        all_filled=all_filled,
        forecast=True,
        waiting=not patterns,
        first_tell=first_tell,
    )
    done = {scan.queue: scan for scan in summary.queues}
    taught = {**found.known, **_own(lake, found.queue_manager, done)}
    made = outlook(
        found.queue_manager, (_now(queue, done) for queue in found.queues), taught, now=utc(), calendar=calendar
    )
    if not patterns:
        keep_metrics(lake, made)
    return LookAhead(found, summary, made)


def after_scan(lake: Path, queue_manager: str, scans: Iterable[QueueScan], calendar: Calendar) -> Outlook:
    """What will expire on the queues that a check has seen (`note_seen`), now that the candidates were scanned.

    Raises:
        LakeError: what the check has seen, or what scans taught, cannot be read.
    """
    folder, done = lake_folder(lake, queue_manager), {scan.queue: scan for scan in scans}
    noted = seen(folder)
    taught = known_by_all(known(folder), members(lake, noted.group) if noted.group else (), noted.queues).known
    queues = (_now(queue, done) for queue in noted.queues)
    made = outlook(queue_manager, queues, {**taught, **_own(lake, queue_manager, done)}, now=utc(), calendar=calendar)
    keep_metrics(lake, made)
    return made


def keep_metrics(lake: Path, made: Outlook) -> None:
    """Write the figures by rule 2. Raises `LakeError`."""
    path = lake_folder(lake, made.queue_manager) / "expiry" / "forecast.prom"
    make_folder(path.parent)
    write_bytes(path, openmetrics(made).encode())


def _now(queue: QueueNow, done: Mapping[str, QueueScan]) -> QueueNow:
    """A queue as its scan has left it."""
    scan = done.get(queue.name)
    return replace(queue, depth=scan.left + scan.in_flight) if scan else queue


def _own(lake: Path, queue_manager: str, done: Container[str]) -> dict[str, Known]:
    """What the scans of now have taught."""
    taught = known(lake_folder(lake, queue_manager))
    return {queue: one for queue, one in taught.items() if queue in done}
