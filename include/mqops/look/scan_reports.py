"""Why reports of expiry are on the dead-letter queue after a scan: by the first snapshot of that queue that was taken
later. Nothing is browsed.

A report is meant if it was put there since the scan began, by the MQDLH that the queue manager wrote. Where the clocks
of the queue manager and of mqops differ, so does this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc

from mqops.expiry.core.outcome import ExpirySummary
from mqops.kept import kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.runs import list_runs
from mqops.observe.core.reasons import reason_symbol
from mqops.observe.recorded import OBSERVED
from mqops.workflow import COPIES
from mqwire import constants as c

COLUMNS = ("queue", "msg_type", "feedback", "dlh_reason", "dlh_put_date", "dlh_put_time")
WORDS: Mapping[int, str] = {
    c.MQRC_UNKNOWN_OBJECT_NAME: "the reply-to queue is not defined",
    c.MQRC_Q_FULL: "the reply-to queue was full",
    c.MQRC_PUT_INHIBITED: "the reply-to queue has PUT(DISABLED)",
    c.MQRC_NOT_AUTHORIZED: "the user of the report may not put on the reply-to queue",
    c.MQRC_MSG_TOO_BIG_FOR_Q: "the report is longer than MAXMSGL of the reply-to queue",
    c.MQRC_UNKNOWN_REMOTE_Q_MGR: "there is no way to the reply-to queue manager",
    c.MQRC_UNKNOWN_XMIT_Q: "the transmission queue to the reply-to queue manager is not defined",
    c.MQRC_UNKNOWN_ALIAS_BASE_Q: "the reply-to queue is an alias of a queue that is not defined",
}
"""Reason of a report's MQDLH → why it could not be put."""


class DeadReports(NamedTuple):
    """Reports that met the same reason. Parameters: `words` why they could not be put, "" where only the name says."""

    symbol: str
    words: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReports:
    """Reports of expiry on the dead-letter queue. Parameters: `run` whose snapshot has them, `at` when it was taken,
    ISO 8601 UTC; `reasons` most reports first."""

    run: str
    at: str
    reasons: tuple[DeadReports, ...]

    @property
    def messages(self) -> int:
        """The number of these reports."""
        return sum(one.messages for one in self.reasons)


def scan_reports(lake: Path, scan: ExpirySummary) -> ScanReports | None:
    """What is known of the reports that are on the dead-letter queue since a scan; None where no whole snapshot of it
    was taken since. Raises `LakeError`."""
    dead = scan.dead_letters
    if dead is None or not dead.since:
        return None
    ended = max(datetime.fromisoformat(one.scanned_at) for one in scan.queues)
    lines = list_runs(lake, queue_manager=scan.queue_manager, queue=dead.name, since=ended)
    for line in reversed(lines):
        run = RunFolder.at(lake, scan.queue_manager, line.run)
        if line.workflow not in COPIES and not line.partial and OBSERVED.exists(run) and run.snapshot.is_dir():
            return ScanReports(run=line.run, at=line.at, reasons=_reasons(run.snapshot, dead.name, dead.since))
    return None


@kept(most=256)
def _reasons(snapshot: Path, queue: str, since: str) -> tuple[DeadReports, ...]:
    """Parameters: `since` ISO 8601 UTC. A snapshot never changes. Raises `LakeError`."""
    found: Counter[int] = Counter()
    for batch in read_parquet(snapshot, COLUMNS):
        put_at = pc.binary_join_element_wise(batch["dlh_put_date"], batch["dlh_put_time"], "")
        is_report = pc.and_(pc.equal(batch["msg_type"], c.MQMT_REPORT), pc.equal(batch["feedback"], c.MQFB_EXPIRATION))
        here = pc.and_(pc.equal(batch["queue"], queue), pc.greater_equal(put_at, _as_put(since)))
        for row in pc.value_counts(batch["dlh_reason"].filter(pc.and_(is_report, here))).to_pylist():
            found[row["values"]] += row["counts"]
    return tuple(
        DeadReports(reason_symbol(reason), WORDS.get(reason, ""), number)
        for reason, number in sorted(found.items(), key=lambda one: (-one[1], one[0]))
    )


def _as_put(when: str) -> str:
    """A time as PutDate and PutTime of an MQDLH have it, to the hundredth of a second."""
    found = datetime.fromisoformat(when).astimezone(UTC)
    return f"{found:%Y%m%d%H%M%S}{found.microsecond // 10_000:02d}"
