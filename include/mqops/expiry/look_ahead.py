"""The forecast of a queue manager: the queues worth a look are looked at, of the others the last look counts.

1. Nothing is asked of the queue manager but two inquiries for all queues, and a browse of each candidate.
2. LAKE/<queue manager>/expiry/forecast.prom has the newest figures as OpenMetrics text, for Prometheus' node exporter
   (its textfile collector) or another agent. Each run of the expiry scan and each forecast of all queues writes it.
3. A forecast of all queues has the dead-letter, backout and storage queues, also those whose names begin with SYSTEM.
   or MQOPS.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.clock import utc
from mqops.expiry.core.calendar import Calendar
from mqops.expiry.core.first_tell import FirstTell
from mqops.expiry.core.forecast import Outlook, openmetrics, outlook
from mqops.expiry.core.outcome import ExpirySummary, QueueScan
from mqops.expiry.record import known, note_seen
from mqops.expiry.recorded import as_scanned, of_scans, recorded_outlook
from mqops.expiry.scan import Candidates, run_scan
from mqops.lake.files import make_folder, write_bytes
from mqops.lake.run import folder_of
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
    folder = folder_of(lake, found.queue_manager)
    taught = {**found.known, **of_scans(known(folder), done)}
    queues = tuple(as_scanned(queue, done) for queue in found.queues)
    made = outlook(found.queue_manager, queues, taught, now=utc(), calendar=calendar)
    if not patterns:
        note_seen(folder, queues, found.group)
        keep_metrics(lake, made)
    return LookAhead(found, summary, made)


def after_scan(lake: Path, queue_manager: str, scans: Iterable[QueueScan], calendar: Calendar) -> Outlook:
    """What will expire on the queues that a check has seen, now that the candidates were scanned; kept by rule 2.

    Raises:
        LakeError: what the check has seen, or what scans taught, cannot be read.
    """
    made = recorded_outlook(lake, queue_manager, calendar=calendar, now=utc(), scans=scans)
    keep_metrics(lake, made)
    return made


def keep_metrics(lake: Path, made: Outlook) -> None:
    """Write the figures by rule 2. Raises `LakeError`."""
    path = folder_of(lake, made.queue_manager) / "expiry" / "forecast.prom"
    make_folder(path.parent)
    write_bytes(path, openmetrics(made).encode())
