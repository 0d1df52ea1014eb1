"""`mqops expiry forecast`: what will expire before people are at work again, as sentences, a table, or metrics."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

import click

from mqops.as_json import Json, JsonObject, as_json
from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.first_tell import asking, first_tell_option, refused_or_done
from mqops.cli.outcome import (
    connection_to,
    format_option,
    json_option,
    known_errors,
    lake_option,
    show_json,
    show_line,
    show_text,
)
from mqops.cli.passes import warn, yes_option
from mqops.cli.run_argument import queue_manager_option
from mqops.cli.user_option import connecting_options
from mqops.clock import utc_text
from mqops.expiry.core.calendar import Calendar
from mqops.expiry.core.forecast import Outlook, QueueOutlook, openmetrics, sentence, sentences
from mqops.expiry.core.outcome import BUCKETS, LATER, NEVER, ExpirySummary, QueueScan
from mqops.expiry.look_ahead import LookAhead
from mqops.misnamed import is_alias
from mqops.observe.core.expired import Expired
from mqops.queue_names import not_seen

all_option = click.option(
    "--all",
    "all_filled",
    is_flag=True,
    help="Browse every queue that has messages, also if an earlier scan found that nothing expires.",
)
recheck_option = click.option(
    "--recheck",
    default=3600,
    show_default=True,
    type=click.IntRange(0),
    help="Seconds after which a queue is browsed in any case.",
)


@click.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@connecting_options
@recheck_option
@all_option
@click.option(
    "--calendar",
    "calendar_file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="When people are at work. Default: the calendar that the estate names; without one, from 08:00 UTC each day.",
)
@first_tell_option
@yes_option
@format_option
@lake_option
@json_option
@known_errors
def forecast(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    recheck: int,
    all_filled: bool,
    calendar_file: Path | None,
    tells_first: bool,
    yes: bool,
    form: str,
    lake: Path,
    as_json: bool,
) -> None:
    """Count the messages of QUEUES (as for scan) by the time until they expire. Without QUEUES also those of
    dead-letter, backout and storage queues, whatever their names are.

    First it says what vanishes from dead-letter, backout and storage queues before people are at work again, by the
    calendar of the estate.

    It browses the queues that changed since the last look, so the queue manager discards what has expired there; of the
    others the last look counts. Exit code 1: queues that are meant cannot be seen, or --first-tell was answered with
    no; standard error names them.
    """
    from mqops.expiry.look_ahead import look_ahead  # noqa: PLC0415

    form = "json" if as_json else form
    asks = asking(tells_first=tells_first, yes=yes, quiet=form != "table")
    made = look_ahead(
        connection_to(queue_manager),
        lake,
        queues,
        calendar=_calendar(calendar_file),
        recheck=timedelta(seconds=recheck),
        all_filled=all_filled,
        first_tell=asks,
    )
    if form == "json":
        show_json(_document(made))
    elif form == "openmetrics":
        show_text(openmetrics(made.outlook).removesuffix("\n"))
    else:
        _show(made)
    if made.summary.unseen:
        warn(not_seen(made.summary.unseen))
    sys.exit(refused_or_done(asks, ExitCode.NO if made.summary.unseen else ExitCode.DONE))


def _calendar(given: Path | None) -> Calendar:
    from mqops.expiry.calendar_file import calendar_in, calendar_of  # noqa: PLC0415
    from mqops.storage import estate_here  # noqa: PLC0415

    return calendar_of(given) if given else calendar_in(estate_here())


def _document(made: LookAhead) -> JsonObject:
    """Queue → its figures. `discarded` is what this look made the queue manager discard."""
    scans = {scan.queue: scan for scan in made.summary.queues}
    return {one.queue: _figures(one, made.outlook, scans.get(one.queue)) for one in made.outlook.queues}


def _figures(one: QueueOutlook, found: Outlook, scan: QueueScan | None) -> Json:
    return {
        "next_expiry": one.next_expiry,
        "discarded": scan.discarded if scan else 0,
        **one.within,
        "kind": one.kind.value,
        "looked_at": one.at,
        "until": found.begins,
        "before": as_json(one.before),
        "today": one.today,
        "past": as_json(one.past),
        "unknown": one.unknown,
        "at_most": one.at_most,
        "sentence": sentence(one, found),
    }


def _show(made: LookAhead) -> None:
    for alias, base in made.found.aliases.items():
        show_folded(is_alias(alias, base))
    for line in (*sentences(made.outlook), *made.found.about_shared()):
        show_folded(line)
    names = (*BUCKETS, LATER, NEVER)
    show_line("queue")
    show_line("".join(f"{name:>8}" for name in names))
    for one in made.outlook.queues:
        kind = f" ({one.kind})" if one.kind.waits else ""
        show_folded(f"{one.queue}{kind}{next_expires(one.next_expiry)}")
        show_line("".join(f"{one.within.get(name, 0):8}" for name in names))
    show_discarded(made.summary)


def show_discarded(summary: ExpirySummary) -> None:
    """What the look made the queue manager discard, and queues that ended meanwhile."""
    if passed_over := summary.passed_over():
        show_folded(passed_over)
    for scan in summary.queues:
        if scan.discarded > 0:
            show_folded(Expired(scan.discarded, scan.exact).sentence(scan.queue))


def next_expires(at: str) -> str:
    """When the next message expires, "" where none does."""
    return f"; next expires {utc_text(datetime.fromisoformat(at))}" if at else ""
