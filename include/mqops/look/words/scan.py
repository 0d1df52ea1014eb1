"""What is said of a scan for expired messages on the page of its run. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import NOTHING, Column, Link, Name, OfRun, Table, Text, Time, said, sentences

if TYPE_CHECKING:
    from mqops.expiry.core.outcome import ExpirySummary
    from mqops.look.scan_reports import DeadReports, ScanReports

ABOUT = '"About": other programs had the queue open meanwhile, and their work is in the figures.'


def sums(scan: ExpirySummary) -> Text:
    """What the scan found, as an equation."""
    return said(
        "{} found = {} discarded by the queue manager, because they had expired + {} left.",
        *(scan.found, scan.done, scan.left),
    )


def by_queue(scan: ExpirySummary) -> Table:
    """The queues of the scan."""
    columns = [
        Column("Queue", "name"),
        *(Column(heading, "number") for heading in ("Found", "Discarded", "Left", "In flight")),
        Column("Next expires"),
    ]
    rows = [
        (
            *(one.queue, one.there),
            said("{}{}", "" if one.exact else "about ", one.discarded),
            *(one.left, one.in_flight),
            Time(one.next_expiry) if one.next_expiry else "none expires",
        )
        for one in scan.queues
    ]
    return Table(caption="What the scan found on each queue", columns=columns, rows=rows)


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
    grew = said(f"grew by {counted(scan.came, 'message')}") if scan.came > 0 else said("did not grow")
    besides = ", besides what was discarded from it" if dead.name in scan.queue.split(",") else ""
    look = NOTHING
    if reports or scan.came > 0:
        query = {"queue_manager": scan.queue_manager, "queue": dead.name}
        what = "them" if scan.came > 0 else "the dead letters"
        not_yet = (
            ""
            if reports
            else ": no run has looked at the queue since. When one has, that page and this one name the reasons for "
            "which reports could not be put"
        )
        look = said("{}{}.", Link(f"Look at {what}", "dead_letters", query), not_yet)
    return sentences(
        general,
        said("{} {} during the scan{}: {} before, {} after.", Name(dead.name), grew, besides, dead.before, dead.after),
        look,
    )


def reports_found(scan: ExpirySummary, reports: ScanReports) -> Text:
    """How many reports of the scan a later run found among the dead letters."""
    by = OfRun(scan.queue_manager, reports.run)
    if reports.reasons:
        number = sum(one.messages for one in reports.reasons)
        return said(
            "Of the dead letters that {} found there at {}, {} of expiry that came since the scan began. {} could not "
            "be put on the reply-to queue:",
            *(by, Time(reports.at), counted(number, "is a report", "are reports"), "It" if number == 1 else "They"),
        )
    if scan.came <= 0:
        return NOTHING
    return said(
        "Of the dead letters that {} found there at {}, none is a report of expiry that came since the scan began.",
        *(by, Time(reports.at)),
    )


def report_reasons(reports: ScanReports) -> Iterator[Text]:
    """Why these reports could not be put."""
    return (_reason(one) for one in reports.reasons)


def _reason(one: DeadReports) -> Text:
    return said("{} with {}{}", one.messages, one.symbol, f": {one.words}" if one.words else "")
