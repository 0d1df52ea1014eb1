"""What will expire on each queue, by what the last look at it taught: figures, sentences, gauges. Pure.

1. Queues on which messages wait for a person come first: dead-letter, backout and storage queues. Then the queues from
   which most expires before people are at work again (`mqops.expiry.core.calendar`).
2. What the histogram of the last look says is known. Of messages that came since it is not known when they expire; if
   messages went, the figures are the most that can expire.
3. A forecast costs the same whatever happened before: it needs the histogram of one look at each queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mqops.counted import counted, first_named
from mqops.expiry.core.calendar import Calendar, in_words
from mqops.expiry.core.candidates import Kind, Known, QueueNow
from mqops.expiry.core.histogram import NONE, Histogram, Stake, total
from mqops.expiry.core.outcome import BUCKETS, LATER, NEVER
from mqops.observe.core.openmetrics import Gauge, text_of

MOST_NAMED = 3
"""Queues that a sentence names."""
_NOUN: Mapping[Kind, tuple[str, str]] = {
    Kind.DEAD_LETTER: ("dead letter vanishes", "dead letters vanish"),
    Kind.BACKOUT: ("backed-out message vanishes", "backed-out messages vanish"),
    Kind.STORAGE: ("stored message vanishes", "stored messages vanish"),
    Kind.OTHER: ("message expires", "messages expire"),
}
"""What is said of one message, and of several, on a queue of a kind."""
_ORDER = tuple(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOutlook:
    """A queue. Figures in messages.

    Parameters: `at` when it was looked at, ISO 8601 UTC, blank for never; `past` those whose time is over and that the
    queue manager has not discarded yet; `before` those that expire before work begins again, `today` of them before the
    work of today ends; `later` those that expire afterwards; `unknown` those of which it is not known; `at_most`
    whether messages went since the look; `within` time until they expire → messages.
    """

    queue: str
    kind: Kind
    depth: int
    at: str = ""
    next_expiry: str = ""
    past: Stake = NONE
    before: Stake = NONE
    today: int = 0
    later: int = 0
    never: int = 0
    unknown: int = 0
    at_most: bool = False
    within: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A queue manager. Parameters: `at` the time of the forecast and `begins` the next time that work begins, ISO 8601;
    `until` the latter as people say it; `work_ends` when the work of today ends (18:00), blank where nobody is at work;
    `queues` those with messages, in the order of rule 1."""

    queue_manager: str
    at: str
    begins: str
    until: str
    work_ends: str = ""
    queues: tuple[QueueOutlook, ...] = ()

    @property
    def waiting(self) -> int:
        """Messages of dead-letter, backout and storage queues that expire before work begins again."""
        return sum(one.before.messages for one in self.queues if one.kind.waits)


def outlook(
    queue_manager: str, queues: Iterable[QueueNow], known: Mapping[str, Known], *, now: datetime, calendar: Calendar
) -> Outlook:
    """What will expire.

    Parameters: `known` queue → what the last look taught; `now` with time zone.
    """
    begins, ends = calendar.next_begin(now), calendar.end_of_work(now)
    found = [_of(one, known.get(one.name), now, begins, ends) for one in queues if one.depth]
    return Outlook(
        queue_manager=queue_manager,
        at=now.isoformat(),
        begins=begins.isoformat(),
        until=in_words(calendar, begins, now),
        work_ends=f"{ends:%H:%M}" if ends else "",
        queues=tuple(sorted(found, key=lambda one: (_ORDER.index(one.kind), -one.before.messages, one.queue))),
    )


def _of(queue: QueueNow, known: Known | None, now: datetime, begins: datetime, ends: datetime | None) -> QueueOutlook:
    counts = known.histogram if known else None
    if known is None or counts is None:
        return QueueOutlook(queue=queue.name, kind=queue.kind, depth=queue.depth, unknown=queue.depth)
    past, before = counts.until(now), counts.until(begins, since=now)
    return QueueOutlook(
        queue=queue.name,
        kind=queue.kind,
        depth=queue.depth,
        at=known.scanned_at,
        next_expiry=known.next_expiry,
        past=past,
        before=before,
        today=counts.until(ends, since=now).messages if ends else 0,
        later=counts.expiring - past.messages - before.messages,
        never=counts.never,
        unknown=max(0, queue.depth - counts.messages),
        at_most=queue.depth < counts.messages - past.messages or _replaced(queue, known),
        within=_within(counts, now),
    )


def _replaced(queue: QueueNow, known: Known) -> bool:
    """Whether messages came since the look and as many went at least."""
    return queue.depth <= known.depth and queue.last_put not in ("", known.last_put)


def _within(counts: Histogram, now: datetime) -> dict[str, int]:
    found = counts.within(now, BUCKETS)
    behind = counts.expiring - counts.until(now).messages - sum(found.values())
    return found | {name: number for name, number in ((LATER, behind), (NEVER, counts.never)) if number}


def of_left(
    left: Mapping[str, Histogram], kind: Kind, *, now: datetime, calendar: Calendar, next_run: datetime | None
) -> Iterator[str]:
    """What vanishes of the messages that a run has left, a sentence for each queue, as people say it:

    `3 dead letters vanish before 08:00 on Monday: DEAD.QUEUE, 2 of them before the next run`

    Parameters: `left` queue → its messages; `now` with time zone; `next_run` None where no schedule says when.
    """
    queues = [QueueNow(name=queue, depth=counts.messages, kind=kind) for queue, counts in left.items()]
    known = {
        queue: Known(scanned_at=now.isoformat(), depth=counts.messages, histogram=counts)
        for queue, counts in left.items()
    }
    found = outlook("", queues, known, now=now, calendar=calendar)
    for one in found.queues:
        soon = left[one.queue].until(next_run, since=now).messages if next_run else 0
        said, before_work = sentence(one, found), one.before.messages
        if said and soon:
            within = next_run is not None and next_run < calendar.next_begin(now)
            of_them = " of them" if within else ""
            said += f", {soon:,}{of_them} before the next run" if within or soon > before_work else ""
        elif soon:
            said = f"{counted(soon, *_NOUN[kind])} before the next run: {one.queue}"
        if said:
            yield said


def sentence(one: QueueOutlook, found: Outlook) -> str:
    """What vanishes from a queue, as people say it, "" where nothing does:

    `1,312 dead letters vanish before 08:00 on Monday: DEAD.QUEUE, 40 of them before 18:00 today`
    """
    if not one.before.messages:
        return ""
    most = "at most " if one.at_most else ""
    what = f"{most}{counted(one.before.messages, *_NOUN[one.kind])} before {found.until}: {one.queue}"
    reports, kept = one.before.reports, one.before.persistent
    more = (
        f"{one.today:,} of them before {found.work_ends} today" if one.today else "",
        f"{counted(reports, 'asks', 'ask')} for a report" if reports else "",
        f"{counted(kept, 'is', 'are')} persistent" if kept else "",
    )
    return ", ".join((what, *filter(None, more)))


def sentences(found: Outlook) -> Iterator[str]:
    """A sentence for each queue on which messages wait for a person, one for all others, one about what is not
    known."""
    waiting = [one for one in found.queues if one.kind.waits]
    yield from filter(None, (sentence(one, found) for one in waiting))
    known = [one for one in waiting if one.unknown < one.depth and not one.past.messages]
    if known and not found.waiting:  # of a queue that nobody has looked at nothing is said
        names = first_named([one.queue for one in known], MOST_NAMED)
        which = " that was counted" if any(one.unknown for one in known) else ""
        yield f"no message of {names}{which} vanishes before {found.until}"
    others = [one for one in found.queues if not one.kind.waits and one.before.messages]
    if others:
        most = "at most " if any(one.at_most for one in others) else ""
        stake = total(one.before for one in others)
        number = counted(stake.messages, *_NOUN[Kind.OTHER])
        on = counted(len(others), "other queue") if waiting else counted(len(others), "queue")
        yield f"{most}{number} before {found.until} on {on}"
    unknown = [one for one in found.queues if one.unknown]
    if unknown:
        messages = counted(sum(one.unknown for one in unknown), "message")
        yield f"of {messages} on {counted(len(unknown), 'queue')} it is not known when they expire"


def openmetrics(found: Outlook) -> str:
    """The figures as OpenMetrics text."""
    manager = {"queue_manager": found.queue_manager}
    places = [(manager | {"queue": one.queue, "kind": one.kind.value}, one) for one in found.queues]
    return text_of(
        (
            Gauge(
                name="mqops_expiry_messages",
                help="Messages on a queue by the time until they expire.",
                samples=tuple(
                    (labels | {"within": name}, one.within[name])
                    for labels, one in places
                    for name in (*BUCKETS, LATER, NEVER)
                    if name in one.within
                ),
            ),
            Gauge(
                name="mqops_expiry_messages_before_work",
                help="Messages on a queue that expire before people are at work again.",
                samples=tuple((labels, one.before.messages) for labels, one in places),
            ),
            Gauge(
                name="mqops_expiry_messages_before_work_at_stake",
                help="Those of them that asked for an expiration report, or are persistent.",
                samples=tuple(
                    (labels | {"why": why}, number)
                    for labels, one in places
                    for why, number in (("report", one.before.reports), ("persistent", one.before.persistent))
                ),
            ),
            Gauge(
                name="mqops_expiry_messages_unknown",
                help="Messages on a queue of which it is not known when they expire.",
                samples=tuple((labels, one.unknown) for labels, one in places),
            ),
            Gauge(
                name="mqops_expiry_next_timestamp_seconds",
                help="When the next message on a queue expires, in seconds since 1970.",
                unit="seconds",
                samples=tuple(
                    (labels, datetime.fromisoformat(one.next_expiry).timestamp())
                    for labels, one in places
                    if one.next_expiry
                ),
            ),
            Gauge(
                name="mqops_expiry_work_begins_timestamp_seconds",
                help="When people are at work again, in seconds since 1970.",
                unit="seconds",
                samples=((manager, datetime.fromisoformat(found.begins).timestamp()),),
            ),
        )
    )
