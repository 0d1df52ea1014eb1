"""What is said of messages that expire, and of those of which that is not known. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import NOTHING, Link, Name, OfRun, Table, Text, joined, said, sentences
from mqops.queue_names import APART, selected

if TYPE_CHECKING:
    from mqops.expiry.core.candidates import Known
    from mqops.look.core.expires import Expires
    from mqops.look.expiry_forecast import Forecast
    from mqops.look.figures import Figures, QueueFigures


def at_work(what: str, finds: str, link: Link, since: str) -> Text:
    """That a run of the page's workflow is at work. Parameters: `what` it is and `finds` what it finds, in words;
    `since` ISO 8601 UTC, blank while it is queued."""
    began = said("is at work since {:time}", since) if since else said("is queued")
    return said("{} {}: {}. {} shown here when it has ended.", what, began, link, finds)


def in_short(found: Forecast, told: Mapping[str, Expires], until: str) -> Iterator[Text]:
    """The figures at the top. Parameters: `told` queue → what is known of it; `until` the limit, in words."""
    total, some = sum(one.before or 0 for one in told.values()), sum(one.some for one in told.values())
    at_most = "at most " if any(one.at_most and one.before for one in told.values()) else ""
    what = said(" message expires" if total == 1 else " messages expire")
    if some:
        was, were = ("was" if number == 1 else "were" for number in (total, some))
        what = said(" that {} counted, and {:strong} that {} not, expire", was, f"at least {some:,}", were)
    unknown = [one.unknown for one in told.values() if one.unknown]
    of = f"{counted(sum(unknown), 'message')} on {counted(len(unknown), 'queue')}"
    rest = said("; of {} {}", of, Link("it is not known", place="unrecorded")) if unknown else NOTHING
    yield said("{:strong}{} before {}{}", f"{at_most}{total:,}", what, until, rest)
    if past := sum(one.past for one in found.queues):
        yield said("{:strong} {} expired by now", past, "message has" if past == 1 else "messages have")


def no_chart(found: Forecast, chart_ends: str, *, above: bool) -> str:
    """The sentence in place of an empty chart. Parameters: `chart_ends` in words; `above` whether a chart of what looks
    at the queues have found stands above."""
    others = "other " if any(one.past for one in found.queues) else ""
    by_looks = "What expires by the last look at each queue is in the chart above. " if above else ""
    ends = f" before {chart_ends}" if found.beyond else ""
    return f"{by_looks}None of the {others}messages in the snapshots expires{ends}."


def beyond(found: Forecast, chart_ends: str) -> Text:
    """How many messages expire after the end of the chart."""
    if not found.beyond:
        return NOTHING
    number, at = counted(found.beyond, "message expires", "messages expire"), str(found.next_beyond or "")
    return said("{} after {}, the next in the quarter of an hour from {:time}.", number, chart_ends, at)


def queues(found: Forecast, told: Mapping[str, Expires], figures: Figures, *, limit: str, until: str) -> Table:
    """The queues that have a snapshot. Parameters: `limit` and `until` the time, short and long."""
    numbers = ("Messages now", "Expired by now", f"Before {limit}", "Later", "Never", "In no snapshot")
    rows = []
    for one in found.queues:
        known, depth = told[one.queue], figures.depth_of(one.queue)
        more = None if depth is None else depth - one.past - (known.before or 0) - one.later - one.never
        shown = f"{more:,}" if more is not None else "–"
        before = f"{'at most ' if known.at_most and known.before else ''}{known.before or 0:,}"
        in_none = Link(shown, place="unrecorded") if known.unrecorded else shown
        rows.append((one.queue, said("{:ago} ago", one.at), depth, one.past, before, one.later, one.never, in_none))
    caption = f"Queues, by messages that expire before {until}"
    return Table(caption, ["*Queue|name", "!Snapshot", *(f"!{one}|number" for one in numbers)], rows)


def uncounted(
    figures: Sequence[QueueFigures],
    told: Mapping[str, Expires],
    recorded: Collection[str],
    scans: Mapping[str, Known],
    *,
    removed: Mapping[str, str],
    queue_manager: str,
    seen_at: str,
) -> Table:
    """The messages that are in no snapshot.

    Parameters: `figures` of their queues; `recorded` queues that have one; `scans` queue → its last scan; `removed`
    queue → a run whose plan was removed; `seen_at` when the figures were seen, ISO 8601 UTC.
    """
    rows = []
    for one in figures:
        scan, run = scans.get(one.name), removed.get(one.name, "")
        what = _known(
            one, told[one.name], scan, recorded=one.name in recorded, removed=run, queue_manager=queue_manager
        )
        rows.append((one.name, told[one.name].unrecorded, what))
    caption = f"Messages at {seen_at[:16].replace('T', ' ')} UTC that are in no snapshot"
    return Table(caption, ["*Queue|name", "Messages|number", "What is known"], rows)


def _known(
    queue: QueueFigures, known: Expires, scan: Known | None, *, recorded: bool, removed: str, queue_manager: str
) -> Text:
    from mqops.look.core.expires import NO_SCAN  # noqa: PLC0415

    first = NOTHING
    if recorded:
        has = counted(queue.depth, "message")
        unknown = " When they expire is not known." if known.unknown and not known.some else ""
        first = said("The queue has {} now, and its newest snapshot does not have these.{}", has, unknown)
    elif removed:
        took = "{} has taken messages since the newest snapshot. Its plan was removed: which ones is not known."
        first = said(took, OfRun(queue_manager, removed, "Run {}"))
    elif known.why == NO_SCAN:
        first = said("No run has looked at all of it yet.")
    elif known.why and scan:
        came = "Messages came or went since the last scan, {:ago} ago: what expires is not known."
        first = said(came, scan.scanned_at)
    if scan is None or not (known.some or not known.unknown):
        return first
    then = said("the next message expires at {:time}", scan.next_expiry) if scan.next_expiry else "nothing expires"
    return sentences(first, said("A scan {:ago} ago: {}.", scan.scanned_at, then))


def not_scanned(dead_letters: str, patterns: Collection[str]) -> Text:
    """That the scan for expired messages leaves out the dead-letter queue, and why; nothing where it does not.

    Parameters: `dead_letters` the queue, "" for none; `patterns` the queues of the scan, () where there is no scan.
    """
    if not (dead_letters and patterns) or selected(dead_letters, patterns):
        return NOTHING
    apart = dead_letters.startswith(APART) and "*" in patterns
    begins = "the pattern * of the estate leaves out each queue whose name begins with SYSTEM. or MQOPS"
    why = begins if apart else "the estate does not name it"
    words = (
        "the scan for expired messages leaves out {:name}, the dead-letter queue: {}. A scan browses, and the queue "
        "manager discards what has expired then: a dead letter would be lost before a person has seen it. Here its "
        "messages are counted by its snapshots alone. {:code} of the estate may name it."
    )
    return said(words, dead_letters, why, "expiry_scan: queues")


def named(names: Sequence[str]) -> Text:
    """Names of queues in a sentence."""
    *first, last = map(Name, names)
    return said("{} and {}", joined(", ", first), last) if first else said("{}", last)
