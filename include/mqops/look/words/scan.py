"""What is said of a scan for expired messages on the page of its run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import NOTHING, Link, OfRun, Table, Text, Time, said, sentences

if TYPE_CHECKING:
    from mqops.expiry.core.outcome import ExpirySummary
    from mqops.look.scan_reports import ScanReports


def by_queue(scan: ExpirySummary) -> Table:
    """The queues of the scan."""
    headings = ["Queue|name", "Found|number", "Discarded|number", "Left|number", "In flight|number", "Next expires"]
    rows = []
    for one in scan.queues:
        discarded = f"{'' if one.exact else 'about '}{one.discarded:,}"
        next_one = Time(one.next_expiry) if one.next_expiry else "none expires"
        rows.append((one.queue, one.there, discarded, one.left, one.in_flight, next_one))
    return Table("What the scan found on each queue", headings, rows)


def who_gets_reports(scan: ExpirySummary, reports: ScanReports | None) -> Text:
    """Where reports of expiry go, and by how much the dead-letter queue grew.

    Parameters: `reports` of the first run that has looked at that queue since, None where none has.
    """
    dead = scan.dead_letters
    general = said(
        "Who asked for a report of expiry gets it on the reply-to queue. If it cannot be put there, the report of a "
        "persistent message goes to the dead-letter queue, and any other is dropped."
    )
    if dead is None:
        return sentences(general, said("How many went there is not known."))
    grew = f"grew by {counted(scan.came, 'message')}" if scan.came > 0 else "did not grow"
    besides = ", besides what was discarded from it" if dead.name in scan.queue.split(",") else ""
    query = {"queue_manager": scan.queue_manager, "queue": dead.name}
    look = Link(f"Look at {'them' if scan.came > 0 else 'the dead letters'}", "dead_letters", query)
    not_yet = (
        ": no run has looked at the queue since. When one has, that page and this one name the reasons for which "
        "reports could not be put"
    )
    words = f"{{:name}} {grew} during the scan{besides}: {{}} before, {{}} after."
    return sentences(
        general,
        said(words, dead.name, dead.before, dead.after),
        said("{}{}.", look, "" if reports else not_yet) if reports or scan.came > 0 else NOTHING,
    )


def reports_found(scan: ExpirySummary, reports: ScanReports) -> Text:
    """How many reports of the scan a later run found among the dead letters."""
    number = sum(one.messages for one in reports.reasons)
    if not number and scan.came <= 0:
        return NOTHING
    first = said(
        "Of the dead letters that {} found there at {:time}", OfRun(scan.queue_manager, reports.run), reports.at
    )
    if not number:
        return said("{}, none is a report of expiry that came since the scan began.", first)
    reports_are, it = counted(number, "is a report", "are reports"), "It" if number == 1 else "They"
    words = "{}, {} of expiry that came since the scan began. {} could not be put on the reply-to queue:"
    return said(words, first, reports_are, it)


def report_reasons(reports: ScanReports) -> Iterator[Text]:
    """Why these reports could not be put."""
    for one in reports.reasons:
        yield said("{} with {}{}", one.messages, one.symbol, f": {one.words}" if one.words else "")
