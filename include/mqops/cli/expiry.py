"""`mqops expiry`: let the queue manager discard what has expired, say what will be, discard what is too old."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import click

from mqops.cli.acting import How, acting_options
from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.expiry_forecast import (
    all_option,
    forecast,
    next_expires,
    recheck_option,
)
from mqops.cli.first_tell import asking, first_tell_option, refused_or_done
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json
from mqops.cli.passes import (
    ending,
    run_once,
    this_user,
    warn,
    yes_option,
)
from mqops.cli.run_argument import queue_manager_option
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.deciders.decider import NothingToDo, Selection
from mqops.estate_values import duration
from mqops.expiry.core.outcome import ExpirySummary
from mqops.misnamed import is_alias
from mqops.queue_names import not_seen


@click.group(cls=Group)
def expiry() -> None:
    """Expired messages, and messages that will expire."""


@expiry.command()
@click.argument("queues", nargs=-1)
@queue_manager_option
@connecting_options
@recheck_option
@all_option
@first_tell_option
@yes_option
@lake_option
@json_option
@known_errors
def scan(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    recheck: int,
    all_filled: bool,
    tells_first: bool,
    yes: bool,
    lake: Path,
    as_json: bool,
) -> None:
    """Browse those of QUEUES that can hold expired messages.

    QUEUES are names, or beginnings of names and *. Without QUEUES: all queues except SYSTEM.* and MQOPS.*.

    The queue manager discards what has expired and sends the reports that were asked for.
    """
    from mqops.expiry.scan import run_scan  # noqa: PLC0415

    asks = asking(tells_first=tells_first, yes=yes, quiet=as_json)
    found, summary = run_scan(
        connection_to(queue_manager),
        lake,
        queues or ("*",),
        recheck=timedelta(seconds=recheck),
        all_filled=all_filled,
        first_tell=asks,
    )
    code = ExitCode.DONE if summary.balanced else ExitCode.NO
    if as_json:
        show_json(
            {
                **summary.to_json(),
                "candidates": dict(found.why),
                "inhibited": found.inhibited,
                "aliases": dict(found.aliases),
                "refused": asks.refused if asks else (),
                "shared": tuple(found.about_shared()),
            }
        )
        sys.exit(refused_or_done(asks, code))
    _show_aliases(found.aliases)
    for line in found.about_shared():
        show_folded(line)
    for queue in found.inhibited:
        show_folded(f"{queue} is not looked at: GET(DISABLED)")
    show_folded(f"{summary.queue_manager}: worth a scan: {len(found.why):,} of {counted(found.looked_at, 'queue')}")
    _show(summary)
    sys.exit(refused_or_done(asks, code))


expiry.add_command(forecast)


def _show_aliases(aliases: Mapping[str, str]) -> None:
    for alias, base in aliases.items():
        show_folded(is_alias(alias, base))


@expiry.command("age-out")
@click.argument("queues", nargs=-1, required=True)
@click.option("--older-than", required=True, help="The age from which messages are discarded: 90s, 30m, 12h, 7d.")
@queue_manager_option
@connecting_options
@acting_options
def age_out(
    *,
    queues: tuple[str, ...],
    older_than: str,
    queue_manager: str,
    how: How,
) -> None:
    """Discard the messages of QUEUES that are older than an age, whatever their Expiry.

    A queue is a name, or a beginning and an asterisk ('PAY.*'). Patterns leave out the dead-letter queue, backout
    queues and queues with GET(DISABLED), whose messages wait for a person: to age them out, name the queue.

    The command shows the plan and asks for confirmation. A message that asks for an expiration report gets it. The lake
    has copies of the messages: `mqops undo RUN` puts them back. `mqops dlq act` carries out the plan that --dry-run
    makes.
    """
    from mqops.deciders.age_out import AGE_OUT, AgeOutRequest  # noqa: PLC0415

    try:
        limit = duration(older_than)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--older-than") from None
    what = AgeOutRequest(
        connection=connection_to(queue_manager),
        lake=how.lake,
        queues=queues,
        limit=limit,
        unit_size=how.unit_size,
        requested_by=this_user(),
        warn=warn,
        first_tell=how.asks,
    )
    question = "" if how.yes else "Discard these messages?"
    try:
        done = run_once(AGE_OUT, what, dry_run=how.dry_run, as_json=how.as_json, question=question)
    except NothingToDo as nothing:
        sys.exit(_show_nothing(nothing.selection, as_json=how.as_json))
    sys.exit(refused_or_done(how.asks, ending(done)))


def _show_nothing(found: Selection, *, as_json: bool) -> ExitCode:
    from mqops.deciders.age_out import Meant  # noqa: PLC0415

    assert isinstance(found, Meant)
    if as_json:
        show_json({"queues": [], "planned": 0, "unseen": list(found.unseen)})
    else:
        show_folded(not_seen(found.unseen) or "nothing to do: no queue that is meant has messages")
    return ExitCode.NO if found.unseen else ExitCode.DONE


def _show(summary: ExpirySummary) -> None:
    for scan in summary.queues:
        about = "" if scan.exact else " (others are at work: about)"
        show_folded(
            f"{scan.there:8,}  {scan.queue}: {scan.discarded:,} discarded, {scan.left:,} left, "
            f"{scan.in_flight:,} in flight{next_expires(scan.next_expiry)}{about}"
        )
    if passed_over := summary.passed_over():
        show_folded(passed_over)
    verdict = "balances" if summary.balanced else "does not balance"
    show_folded(
        f"{summary.found:,} there = {summary.done:,} discarded + {summary.left:,} left"
        f"{'' if summary.unseen else f': {verdict}'}"
    )
    if summary.unseen:
        show_folded(not_seen(summary.unseen))
