"""`mqops expiry`: let the queue manager discard what has expired, say what will be, discard what is too old."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click

from mqops.cli.four_eyes import refuse_own
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import dry_run_option, show_dry_run, show_summary, this_user, unit_size_option
from mqops.estate import duration
from mqops.expiry.core.outcome import BUCKETS, LATER, NEVER, ExpirySummary, QueueScan

queue_manager_option = click.option(
    "--queue-manager", "-m", default="", help="The queue manager; else the default one."
)


@click.group()
def expiry() -> None:
    """Expired messages, and those that will be."""


@expiry.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@click.option("--recheck", default=3600, show_default=True, type=click.IntRange(0), help="Seconds until a look anyway.")
@click.option("--all", "all_filled", is_flag=True, help="Every queue with messages, whatever earlier scans taught.")
@lake_option
@json_option
@known_errors
def scan(
    *, queues: tuple[str, ...], queue_manager: str, recheck: int, all_filled: bool, lake: Path, as_json: bool
) -> None:
    """Browse QUEUES (names, or beginnings and *; none: all but SYSTEM. and MQOPS. ones) that are worth it.

    The queue manager discards what has expired and sends the reports that were asked for.
    """
    from mqops.expiry.scan import run_scan  # noqa: PLC0415

    found, summary = run_scan(
        connection_to(queue_manager),
        lake,
        queues or ("*",),
        recheck=timedelta(seconds=recheck),
        all_filled=all_filled,
    )
    if as_json:
        show_json({**summary.to_json(), "candidates": dict(found.why), "inhibited": found.inhibited})
        return
    for queue in found.inhibited:
        show_line(f"{queue} is not looked at: GET(DISABLED)")
    show_line(f"{summary.queue_manager}: {len(found.why)} of {found.looked_at} queues are worth a scan")
    _show(summary)


@expiry.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@lake_option
@json_option
@known_errors
def forecast(*, queues: tuple[str, ...], queue_manager: str, lake: Path, as_json: bool) -> None:
    """How many messages of QUEUES (as for scan) expire within which time.

    It has to look at every message, and so the queue manager discards what has expired, as at any look.
    """
    from mqops.expiry.scan import run_scan  # noqa: PLC0415

    _found, summary = run_scan(
        connection_to(queue_manager), lake, queues or ("*",), recheck=timedelta(0), all_filled=True
    )
    if as_json:
        show_json({scan.queue: {"next_expiry": scan.next_expiry, **scan.soon} for scan in summary.queues})
        return
    names = (*BUCKETS, LATER, NEVER)
    show_line("".join(f"{name:>9}" for name in names) + "  queue")
    for scan in summary.queues:
        show_line("".join(f"{scan.soon.get(name, 0):9}" for name in names) + f"  {scan.queue}{_next(scan)}")


@expiry.command("age-out")
@click.argument("queues", nargs=-1, required=True)
@click.option("--older-than", required=True, help="The age from which messages are discarded: 90s, 30m, 12h, 7d.")
@queue_manager_option
@dry_run_option
@unit_size_option
@lake_option
@json_option
@known_errors
def age_out(
    *,
    queues: tuple[str, ...],
    older_than: str,
    queue_manager: str,
    dry_run: bool,
    unit_size: int,
    lake: Path,
    as_json: bool,
) -> None:
    """Discard the messages of QUEUES that are older than an age, whatever their Expiry.

    Who asked for an expiration report gets it. The run keeps copies: `mqops undo RUN` puts them back. What --dry-run
    plans, `mqops dlq act` carries out.
    """
    from mqops.deciders.age_out import carry_out, plan_age_out  # noqa: PLC0415

    try:
        limit = duration(older_than)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--older-than") from None
    connection, user = connection_to(queue_manager), this_user()
    folder, plan = plan_age_out(connection, lake, queues, limit=limit, rehearsed_by=user if dry_run else "")
    if dry_run:
        show_dry_run(folder, plan, as_json=as_json)
        return
    refuse_own(plan.queue_manager, user, user, workflow="age_out")
    summary = carry_out(connection, folder, plan, unit_size=unit_size, requested_by=user)
    show_json(summary.to_json()) if as_json else show_summary(summary)


def _show(summary: ExpirySummary) -> None:
    for scan in summary.queues:
        about = "" if scan.exact else " (others are at work: about)"
        show_line(
            f"{scan.there:8}  {scan.queue}: {scan.discarded} discarded, {scan.left} left, "
            f"{scan.in_flight} in flight{_next(scan)}{about}"
        )
    verdict = "balances" if summary.balanced else "does not balance"
    show_line(f"{summary.found} there = {summary.done} discarded + {summary.left} left: {verdict}")


def _next(scan: QueueScan) -> str:
    return f"; next expires {scan.next_expiry}" if scan.next_expiry else ""
