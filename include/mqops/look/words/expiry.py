"""What is said of messages that expire, and of those of which that is not known. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import (
    NOTHING,
    Ago,
    Column,
    Link,
    Name,
    Strong,
    Table,
    Text,
    Time,
    joined,
    said,
    sentences,
)

if TYPE_CHECKING:
    from mqops.expiry.core.candidates import Known
    from mqops.look.core.expires import Expires
    from mqops.look.expiry_forecast import Forecast
    from mqops.look.figures import Figures, QueueFigures

UNRECORDED = Link("it is not known", place="unrecorded")


def at_work(what: str, finds: str, link: Link, since: str) -> Text:
    """That a run of the page's workflow is at work. Parameters: `what` it is and `finds` what it finds, in words;
    `since` ISO 8601 UTC, blank while it is queued."""
    began = said("is at work since {}", Time(since)) if since else said("is queued")
    return said("{} {}: {}. {} shown here when it has ended.", what, began, link, finds)


def in_short(found: Forecast, told: Mapping[str, Expires], until: str) -> Iterator[Text]:
    """The figures at the top. Parameters: `told` queue → what is known of it; `until` the limit, in words."""
    total, some = sum(one.before or 0 for one in told.values()), sum(one.some for one in told.values())
    at_most = "at most " if any(one.at_most and one.before for one in told.values()) else ""
    if some:
        what = said(
            " that {} counted, and {} that {} not, expire",
            *("was" if total == 1 else "were", Strong(f"at least {some:,}"), "was" if some == 1 else "were"),
        )
    else:
        what = said(" message expires" if total == 1 else " messages expire")
    unknown = [one.unknown for one in told.values() if one.unknown]
    of = f"{counted(sum(unknown), 'message')} on {counted(len(unknown), 'queue')}"
    rest = said("; of {} {}", of, UNRECORDED) if unknown else NOTHING
    yield said("{}{} before {}{}", Strong(f"{at_most}{total:,}"), what, until, rest)
    if past := sum(one.past for one in found.queues):
        yield said("{} {} expired by now", Strong(f"{past:,}"), "message has" if past == 1 else "messages have")


def no_chart(found: Forecast, chart_ends: str) -> str:
    """What stands in place of the chart. Parameters: `chart_ends` in words."""
    others = "other " if any(one.past for one in found.queues) else ""
    return f"None of the {others}messages in the snapshots expires{f' before {chart_ends}' if found.beyond else ''}."


def beyond(found: Forecast, chart_ends: str) -> Text:
    """What expires after the end of the chart."""
    if not found.beyond:
        return NOTHING
    return said(
        "{} after {}, the next in the quarter of an hour from {}.",
        *(counted(found.beyond, "message expires", "messages expire"), chart_ends, Time(str(found.next_beyond or ""))),
    )


def queues(found: Forecast, told: Mapping[str, Expires], figures: Figures, *, limit: str, until: str) -> Table:
    """The queues that have a snapshot. Parameters: `limit` and `until` the time, short and long."""
    headings = ("Messages now", "Expired by now", f"Before {limit}", "Later", "Never", "In no snapshot")
    columns = [
        *(Column("Queue", "name", heads=True), Column("Snapshot"), *(Column(one, "number") for one in headings)),
    ]
    rows = []
    for one in found.queues:
        known, depth = told[one.queue], figures.depth_of(one.queue)
        more = None if depth is None else depth - one.past - (known.before or 0) - one.later - one.never
        shown = f"{more:,}" if more is not None else "–"
        at_most = "at most " if known.at_most and known.before else ""
        rows.append(
            (
                *(one.queue, said("{} ago", Ago(one.at)), depth, one.past),
                said(f"{at_most}{known.before or 0:,}"),
                *(one.later, one.never),
                Link(shown, place="unrecorded") if known.unrecorded else shown,
            )
        )
    return Table(caption=f"Queues, by messages that expire before {until}", columns=columns, rows=rows)


def uncounted(
    figures: Sequence[QueueFigures],
    told: Mapping[str, Expires],
    recorded: Collection[str],
    scans: Mapping[str, Known],
    *,
    seen_at: str,
) -> Table:
    """The messages that are in no snapshot. Parameters: `figures` of their queues; `recorded` queues that have one;
    `scans` queue → its last scan; `seen_at` when the figures were seen, ISO 8601 UTC."""
    columns = [Column("Queue", "name", heads=True), Column("Messages", "number"), Column("What is known")]
    rows = [
        (
            *(one.name, told[one.name].unrecorded),
            _known(one, told[one.name], scans.get(one.name), recorded=one.name in recorded),
        )
        for one in figures
    ]
    at = seen_at[:16].replace("T", " ")
    return Table(caption=f"Messages at {at} UTC that are in no snapshot", columns=columns, rows=rows)


def _known(queue: QueueFigures, known: Expires, scan: Known | None, *, recorded: bool) -> Text:
    from mqops.look.core.expires import NO_SCAN  # noqa: PLC0415

    first = NOTHING
    if recorded:
        has = counted(queue.depth, "message")
        first = said("The queue has {} now, and its newest snapshot does not have these.", has)
        if known.unknown and not known.some:
            first = sentences(first, said("When they expire is not known."))
    elif known.why == NO_SCAN:
        first = said("No run has looked at all of it yet.")
    elif known.why and scan:
        first = said(
            "Messages came or went since the last scan, {} ago: what expires is not known.", Ago(scan.scanned_at)
        )
    if scan is None or not (known.some or not known.unknown):
        return first
    next_one = said("the next message expires at {}", Time(scan.next_expiry)) if scan.next_expiry else "nothing expires"
    return sentences(first, said("A scan {} ago: {}.", Ago(scan.scanned_at), next_one))


def named(names: Sequence[str]) -> Text:
    """Names of queues in a sentence."""
    last = said(" and {}", Name(names[-1])) if len(names) > 1 else Name(names[-1])
    return said("{}{}", joined(", ", map(Name, names[:-1])), last)
