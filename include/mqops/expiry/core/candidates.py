"""Which queues are worth a scan for expired messages (E16): by an inquiry, and by what earlier scans taught.

| the queue                                              | scan                    |
|--------------------------------------------------------|-------------------------|
| is empty, or has GET(DISABLED)                         | no                      |
| was never scanned                                      | yes                     |
| has a message whose time has run out since             | yes                     |
| was not looked at for a long time (`recheck`)          | yes                     |
| has another depth, or another last put, than it had:   |                         |
| - and is a dead-letter, backout or storage queue       | yes                     |
| - and never had a message with an expiry               | no, by history          |
| - and its oldest message is younger than any lifetime  |                         |
|   that a message of it had                             | no; yes for a forecast  |
| - else                                                 | yes                     |
| otherwise                                              | no                      |

History counts from `ENOUGH` scans that found messages on. What it leaves out is looked at after `recheck`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from mqops.counted import counted
from mqops.expiry.core.histogram import Histogram
from mqops.queue_names import is_named

ENOUGH = 3
"""Scans from which on history counts."""


class Kind(StrEnum):
    """What a queue is for; those on which messages wait for a person come first, in this order."""

    DEAD_LETTER = "dead-letter queue"
    BACKOUT = "backout queue"
    STORAGE = "storage queue"
    OTHER = "queue"

    @property
    def waits(self) -> bool:
        """Whether its messages wait for a person."""
        return self is not Kind.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A local queue at this moment.

    Parameters: `last_put` as the queue manager tells it, blank where it does not (MONQ(OFF)); `oldest` age of its
    oldest message in seconds, None where the queue manager does not tell it; `shared` whether a queue-sharing group has
    the queue; `backout_queue` its BOQNAME.
    """

    name: str
    depth: int
    get_allowed: bool = True
    last_put: str = ""
    shared: bool = False
    oldest: int | None = None
    backout_queue: str = ""
    kind: Kind = Kind.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the last scan of a queue taught, and those before it.

    Parameters: `scanned_at` and `next_expiry` ISO 8601, UTC; `next_expiry` blank where nothing there expires; `depth`
    after the scan; `last_put` before it; `histogram` of the messages that were left, None in the record of an older
    version; `looks` scans that found messages, `expiring` those of them that found one with an expiry, or one that had
    expired; `shortest` lifetime of a message that was seen, in seconds, 0 where one went that was never seen, None
    without one.
    """

    scanned_at: str
    depth: int
    next_expiry: str = ""
    last_put: str = ""
    histogram: Histogram | None = None
    looks: int = 0
    expiring: int = 0
    shortest: int | None = None

    def still_holds(self, *, depth: int, last_put: str) -> bool:
        """Whether no message has come or gone since, as far as is known.

        Parameters: `depth` and `last_put` of now, `last_put` blank where the queue manager does not tell it.
        """
        return depth == self.depth and last_put in ("", self.last_put)

    def after(self, before: Known | None, *, discarded: int) -> Known:
        """With the history of the scans `before`. Parameters: `discarded` messages at this scan."""
        if before is None:
            return replace(self, shortest=0) if discarded > 0 else self
        seen = before.histogram.until(datetime.fromisoformat(self.scanned_at)).messages if before.histogram else 0
        lifetimes = [one for one in (before.shortest, self.shortest) if one is not None]
        return replace(
            self,
            looks=before.looks + self.looks,
            expiring=before.expiring + self.expiring,
            shortest=0 if discarded > seen else min(lifetimes, default=None),
        )

    @property
    def nothing_expires(self) -> bool:
        """Whether no scan of enough has ever found a message with an expiry."""
        return self.looks >= ENOUGH and not self.expiring

    def too_young(self, oldest: int | None) -> bool:
        """Whether no message can have expired, as far as history tells. Parameters: `oldest` as of `QueueNow`."""
        return self.looks >= ENOUGH and oldest is not None and self.shortest is not None and oldest < self.shortest


def with_kinds(
    queues: Iterable[QueueNow], *, dead_letters: Collection[str], storage: Collection[str]
) -> list[QueueNow]:
    """The queues with what they are for.

    Parameters: `queues` all local ones; `dead_letters` names of dead-letter queues; `storage` names, or beginnings and
    `*`, that the estate has.
    """
    everything = list(queues)
    backout = {queue.backout_queue for queue in everything} - {""}

    def kind(name: str) -> Kind:
        if name in dead_letters:
            return Kind.DEAD_LETTER
        if name in backout:
            return Kind.BACKOUT
        return Kind.STORAGE if is_named(name, storage) else Kind.OTHER

    return [replace(queue, kind=kind(queue.name)) for queue in everything]


def worth_scanning(
    queues: Iterable[QueueNow],
    known: Mapping[str, Known],
    *,
    now: datetime,
    recheck: timedelta,
    forecast: bool = False,
) -> dict[str, str]:
    """Queue → why it is worth a scan, of those that are. Parameters: `forecast` whether it is to be known what will
    expire, too."""
    reasons = {queue.name: _why(queue, known.get(queue.name), now, recheck, forecast=forecast) for queue in queues}
    return {name: why for name, why in reasons.items() if why}


def _why(queue: QueueNow, known: Known | None, now: datetime, recheck: timedelta, *, forecast: bool) -> str:
    if not queue.depth or not queue.get_allowed:
        return ""
    if known is None:
        return "never scanned"
    if known.next_expiry and now >= datetime.fromisoformat(known.next_expiry):
        return f"a message expired at {known.next_expiry}"
    if (changed := _changed(queue, known)) and not _passed_over(queue, known, forecast=forecast):
        return changed
    if now - datetime.fromisoformat(known.scanned_at) >= recheck:
        return f"last scanned at {known.scanned_at}"
    return "no scan has counted its messages by expiry" if forecast and known.histogram is None else ""


def _passed_over(queue: QueueNow, known: Known, *, forecast: bool) -> bool:
    """Whether history tells that a change of the queue is not worth a scan."""
    young = not forecast and known.too_young(queue.oldest)
    return not queue.kind.waits and (known.nothing_expires or young)


def _changed(queue: QueueNow, known: Known) -> str:
    if queue.depth != known.depth:
        return f"{counted(queue.depth, 'message')}, {known.depth:,} after the last scan"
    return "messages were put since the last scan" if queue.last_put != known.last_put else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanner:
    """Which queue manager of a queue-sharing group scans a shared queue (E17). Parameters: `before` the one that did
    until now, blank where it is the same; `at` when that one did so last, ISO 8601 UTC."""

    queue: str
    queue_manager: str
    before: str = ""
    at: str = ""

    def sentence(self, group: str) -> str:
        """Who scans it."""
        said = f"{self.queue} is shared by {group}: {self.queue_manager} scans it"
        return f"{said} in place of {self.before}, whose last scan was at {self.at}" if self.before else said


def differing_intervals(intervals: Mapping[str, timedelta | None], name: str) -> str:
    """A sentence if members of a queue-sharing group are scanned at different intervals (E17), else "".

    Parameters: `intervals` queue manager → its interval, None without a schedule; `name` the one that is scanned now.
    """
    others = {one: interval for one, interval in intervals.items() if interval and interval != intervals[name]}
    if not others or not intervals[name]:
        return ""
    there = ", ".join(f"{one} each {interval}" for one, interval in sorted(others.items()))
    return f"{name} is scanned each {intervals[name]}, other members of its queue-sharing group are not: {there}"


def differing_expryint(group: str, intervals: Mapping[str, int | None]) -> str:
    """A sentence if EXPRYINT differs within a queue-sharing group (E17), else "".

    Parameters: `intervals` queue manager → its EXPRYINT in seconds, 0 for OFF, None where it is not known.
    """
    known = {name: seconds for name, seconds in sorted(intervals.items()) if seconds is not None}
    if len(set(known.values())) < 2:
        return ""
    listed = ", ".join(f"{name} {seconds or 'OFF'}" for name, seconds in known.items())
    return (
        f"EXPRYINT differs in queue-sharing group {group}: {listed}. Give them the same: ALTER QMGR EXPRYINT(seconds)"
    )
