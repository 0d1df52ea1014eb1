"""What a scan for expired messages found: per queue, and for the whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from mqops.as_json import Json, JsonObject, json_object
from mqops.counted import counted
from mqops.expiry.core.candidates import Known
from mqops.expiry.core.histogram import Histogram, Lifetimes
from mqops.model import AsJson
from mqops.workflow import Workflow
from mqwire.constants import MQEI_UNLIMITED

BUCKETS: Mapping[str, int] = {
    **{"1m": 600, "10m": 6_000, "1h": 36_000, "6h": 216_000},
    **{"1d": 864_000, "3d": 2_592_000, "7d": 6_048_000},
}
"""Within this time, in tenths of a second."""
LATER, NEVER = "later", "never"
MOST_NAMED = 5
"""Queues that are named in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueScan:
    """One queue.

    Parameters: `there` depth before; `discarded` by the queue manager, because their time had run out; `left` live
    messages that were browsed; `in_flight` messages that units of work of others hold; `next_expiry` of those left, ISO
    8601, blank where none expires; `soon` how many expire within which time; `exact` False where others had the queue
    open for input or output meanwhile, so that their work is in the figures; `histogram` of those left, None in the
    record of an older version; `shortest` lifetime of one of them, in seconds, None where none expires.
    """

    queue: str
    there: int
    discarded: int
    left: int
    in_flight: int = 0
    next_expiry: str = ""
    soon: Mapping[str, int] = field(default_factory=dict)
    exact: bool = True
    last_put: str = ""
    scanned_at: str = ""
    histogram: Histogram | None = None
    shortest: int | None = None

    @property
    def balanced(self) -> bool:
        """there = discarded + left + in flight, and no figure below zero."""
        return self.there == self.discarded + self.left + self.in_flight and min(self.discarded, self.in_flight) >= 0

    def known(self) -> Known:
        """What the next scan needs to know of this one."""
        return Known(
            scanned_at=self.scanned_at,
            depth=self.left + self.in_flight,
            next_expiry=self.next_expiry,
            last_put=self.last_put,
            histogram=self.histogram,
            looks=1 if self.there else 0,
            expiring=1 if self.discarded > 0 or self.next_expiry else 0,
            shortest=self.shortest,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterQueue:
    """The queue manager's dead-letter queue, to which persistent reports go that no reply-to queue takes.

    Parameters: `before` and `after` its depth before the scan began and after it ended; `since` when it was looked at
    before the scan, ISO 8601 UTC, blank in the record of an older version.
    """

    name: str
    before: int
    after: int
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirySummary(AsJson):
    """A run: `found`, `done` (discarded) and `left` (in flight included) in messages; `dead_letters` None where the
    depth is not known; `gone` the queues that ended before they were looked at, or meanwhile, and are in no figure;
    `unseen` the queues that the connection's user may not inquire; `aliases` alias that was named → the queue."""

    run: str
    queue_manager: str
    by: str = "scan"
    workflow: str = Workflow.EXPIRY_SCAN
    queue: str = ""
    found: int = 0
    done: int = 0
    left: int = 0
    next_expiry: str = ""
    balanced: bool = True
    queues: tuple[QueueScan, ...] = ()
    dead_letters: DeadLetterQueue | None = None
    gone: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """A JSON object, without the histograms: the lake has them."""
        queues: list[Json] = [
            {name: value for name, value in json_object(one).items() if name != "histogram"} for one in self.queues
        ]
        return AsJson.to_json(self) | {"queues": queues}

    @property
    def came(self) -> int:
        """Messages by which the dead-letter queue grew, besides those that the scan discarded from it; below zero where
        it has fewer."""
        if self.dead_letters is None:
            return 0
        discarded = sum(one.discarded for one in self.queues if one.queue == self.dead_letters.name)
        return self.dead_letters.after - self.dead_letters.before + discarded

    def passed_over(self) -> str:
        """A sentence about the queues that ended, "" where none did."""
        if not self.gone:
            return ""
        named = ", ".join(self.gone[:MOST_NAMED]) + (", ..." if len(self.gone) > MOST_NAMED else "")
        ended = counted(len(self.gone), "queue")
        return f"{ended} ended before the scan came to {'it' if len(self.gone) == 1 else 'them'}: {named}"


def summarise(
    scans: Iterable[QueueScan],
    *,
    run: str,
    queue_manager: str,
    by: str = "scan",
    dead_letters: DeadLetterQueue | None = None,
    gone: Iterable[str] = (),
    unseen: Iterable[str] = (),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> ExpirySummary:
    """The summary of a run over these queues, without their histograms, which the lake has. It does not balance where
    queues that are meant could not be seen."""
    not_seen = tuple(sorted(unseen))
    queues = tuple(replace(scan, histogram=None) for scan in sorted(scans, key=lambda scan: scan.queue))
    return ExpirySummary(
        run=run,
        queue_manager=queue_manager,
        by=by,
        queue=",".join(scan.queue for scan in queues),
        found=sum(scan.there for scan in queues),
        done=sum(scan.discarded for scan in queues),
        left=sum(scan.left + scan.in_flight for scan in queues),
        next_expiry=min((scan.next_expiry for scan in queues if scan.next_expiry), default=""),
        balanced=not not_seen and all(scan.balanced for scan in queues if scan.exact),
        queues=queues,
        dead_letters=dead_letters,
        gone=tuple(sorted(gone)),
        aliases=dict(aliases),
        unseen=not_seen,
    )


@dataclass(slots=True)
class Remaining:
    """Adds up the remaining expiries of the messages of a queue, in tenths of a second."""

    messages: int = 0
    least: int | None = None
    soon: Counter[str] = field(default_factory=Counter)
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    shortest: int | None = None

    def add(self, expiry: int, *, report: int = 0, persistence: int = 0, age: int = 0) -> None:
        """One live message. Parameters: `report` and `persistence` as in its descriptor; `age` in seconds."""
        self.messages += 1
        self.lifetimes.add(expiry, report, persistence)
        if expiry == MQEI_UNLIMITED:
            self.soon[NEVER] += 1
            return
        self.least = expiry if self.least is None else min(self.least, expiry)
        lifetime = age + expiry // 10
        self.shortest = lifetime if self.shortest is None else min(self.shortest, lifetime)
        self.soon[next((name for name, within in BUCKETS.items() if expiry <= within), LATER)] += 1

    def next_expiry(self, now: datetime) -> str:
        """When the first of them expires."""
        return "" if self.least is None else (now + timedelta(seconds=self.least / 10)).isoformat()
