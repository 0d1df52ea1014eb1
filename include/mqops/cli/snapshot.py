"""`mqops snapshot`: copy queues to the lake by browsing; compare two copies, and hand one on masked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.cli.columns import show_command, show_folded, show_table
from mqops.cli.first_tell import asking, first_tell_option, yes_to_look_option
from mqops.cli.group import Group
from mqops.cli.outcome import (
    connection_to,
    errors_are_usage,
    json_option,
    known_errors,
    lake_option,
    show_json,
    show_line,
)
from mqops.cli.passes import warn
from mqops.cli.run_argument import completed_runs, queue_manager_option, snapshot_folder
from mqops.cli.user_option import connecting_options
from mqops.command import command
from mqops.counted import counted

if TYPE_CHECKING:
    from mqops.look.core.snapshot_diff import SnapshotDiff

MOST_GROUPS = 20
"""Groups of changed messages that are shown; --json has all."""
TAKE = "take"


class SnapshotGroup(Group):
    """`mqops snapshot QUEUE` is `mqops snapshot take QUEUE`, unless the queue has the name of another subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default subcommand before what names none."""
        own = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if own else [TAKE, *args])


@click.group(cls=SnapshotGroup, short_help="Copy the messages of queues to the lake.")
def snapshot() -> None:
    """Snapshots of queues as data: take one, compare two, hand one on masked (docs/snapshots.md).

    Without a subcommand: `take`.
    """


@snapshot.command(TAKE)
@click.argument("queues", nargs=-1)
@queue_manager_option
@connecting_options
@click.option(
    "--limit", type=click.IntRange(0), default=0, help="The largest number of messages of each queue. 0: all."
)
@first_tell_option
@yes_to_look_option
@lake_option
@json_option
@known_errors
def take(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    limit: int,
    tells_first: bool,
    yes: bool,
    lake: Path,
    as_json: bool,
) -> None:
    """Copy every message of QUEUES (none: the dead-letter queue), whole, to Parquet files in the lake."""
    from mqops.deciders.run import new_run_key  # noqa: PLC0415
    from mqops.expiry.before_look import told_before_look  # noqa: PLC0415
    from mqops.expiry.first_tell import refuse_at_stake  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.ledger.file import LedgerFile  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.mq.named_queue import usable_dead_letter_queue  # noqa: PLC0415
    from mqops.observe.core.expired import remarks  # noqa: PLC0415
    from mqops.observe.in_process import observe  # noqa: PLC0415

    asks = asking(tells_first=tells_first, yes=yes, quiet=as_json)
    connection = connection_to(queue_manager)
    with connect(connection) as session:
        run = RunFolder.at(lake, queue_manager_name(session), new_run_key())
        names = queues or (usable_dead_letter_queue(session),)
        refuse_at_stake(asks, session, lake, names)
    for line in told_before_look(lake, run.queue_manager, names):
        warn(line)
    try:
        summary = observe(connection, run, names, limit=limit, ledger=LedgerFile(run.lake_folder))
    except BaseException:
        run.discard()
        raise
    if as_json:
        show_json({"folder": str(run.path), **summary.to_json()})
        return
    for queue in summary.queues:
        show_folded(
            f"{queue.messages:8}  {queue.queue}: {counted(queue.bytes, 'byte')}, {queue.without_dlh} without an MQDLH"
        )
    for line in remarks(summary):
        show_folded(line)
    show_line(f"run {run.run}; look at it:")
    show_command(command("mqops", "message", "find", *names, "-m", run.queue_manager, "--snapshot", run.run))
    show_line(str(run.snapshot))


@snapshot.command()
@click.argument("a", shell_complete=completed_runs)
@click.argument("b", shell_complete=completed_runs)
@lake_option
@json_option
@errors_are_usage
def diff(*, a: str, b: str, lake: Path, as_json: bool) -> None:
    """Count what snapshot B has otherwise than snapshot A: messages that arrived, left, stayed, were backed out.

    A and B are runs of the lake, by their keys or the beginning of them, or folders of runs or of Parquet files. A
    message is known by its queue, MsgId, CorrelId, put date and time, and SHA-256 of its body. Exit 0: nothing is
    otherwise; 1: something is; 2: usage, or a snapshot cannot be read.
    """
    from mqops.look.snapshot_diff import compared  # noqa: PLC0415 - loads Arrow

    found = compared(snapshot_folder(lake, a), snapshot_folder(lake, b))
    show_json(found.to_json()) if as_json else _show_diff(found)
    click.get_current_context().exit(1 if found.total else 0)


@snapshot.command()
@click.argument("snapshot", metavar="RUN|FOLDER", shell_complete=completed_runs)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--masked", is_flag=True, help="Mask it. There is no export without: `mqops message export` has bodies.")
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The key of the hashes, 32 bytes or more. Default: LAKE/masking.key, made at first use.",
)
@click.option("--hash", "hashed", multiple=True, metavar="COLUMN", help="Hash this column, too; may be repeated.")
@click.option("--drop", "dropped", multiple=True, metavar="COLUMN", help="Leave this column out; may be repeated.")
@lake_option
@json_option
@known_errors
def export(
    *,
    snapshot: str,
    file: Path,
    masked: bool,
    key: Path | None,
    hashed: tuple[str, ...],
    dropped: tuple[str, ...],
    lake: Path,
    as_json: bool,
) -> None:
    """Write a snapshot to the new Parquet file FILE without what its messages say, so that everybody may have it.

    Bodies, properties and MQMD are left out. Identifiers, users and digests are hashed with a secret key: the same
    value has the same hash in every export with that key, and nobody can guess it. Needs no key of encrypted bodies.
    """
    if not masked:
        raise click.UsageError("Say --masked: what is exported here has no bodies. `mqops message export` has them")
    from mqops.observe.masked_view import Masking, export_masked, masking_key  # noqa: PLC0415 - loads Arrow
    from mqops.observe.snapshot import find  # noqa: PLC0415

    _run, folder = find(snapshot_folder(lake, snapshot))
    messages = export_masked(folder, file, Masking.of(masking_key(lake, key), hashed=hashed, dropped=dropped))
    if as_json:
        show_json({"file": str(file), "messages": messages})
        return
    show_line(f"{file}: {counted(messages, 'message')}, masked")


@snapshot.command()
@json_option
def columns(*, as_json: bool) -> None:
    """List the columns of a snapshot: type, unit, source, whether it is stable, and how `export --masked` masks it."""
    from mqops.formats import number_of  # noqa: PLC0415
    from mqops.lake.parquet import KIND  # noqa: PLC0415
    from mqops.observe.core.column_masks import MASKS  # noqa: PLC0415
    from mqops.observe.core.column_texts import described  # noqa: PLC0415

    rows = [
        {
            "column": one.column.name,
            "type": f"{one.column.type}{', or null' if one.column.nullable else ''}",
            "unit": one.unit,
            "source": one.source,
            "stability": "stable" if one.stable else "may change",
            "masked": MASKS.get(one.column.name, "left out"),
            "meaning": one.meaning,
        }
        for one in described()
    ]
    if as_json:
        show_json({"format": number_of(KIND), "columns": rows})
        return
    show_table([*map(str.upper, rows[0])], [[*row.values()] for row in rows])


def _show_diff(found: SnapshotDiff) -> None:
    changed = [(group, counts) for group, counts in found.groups if counts]
    heading = ["ARRIVED", "LEFT", "STAYED", "BACKED OUT", "QUEUE", "REASON", "APPLICATION", "RULE"]
    if changed:
        rows = [[*map(str, counts), *(one or "-" for one in group)] for group, counts in changed[:MOST_GROUPS]]
        show_table(heading, rows)
    if len(changed) > MOST_GROUPS:
        show_folded(f"and {counted(len(changed) - MOST_GROUPS, 'more group')}: --json has all")
    total = found.total
    show_folded(
        f"from {found.a.named} to {found.b.named}: {total.arrived:,} arrived, {total.left:,} left, "
        f"{total.stayed:,} stayed, {total.backout_count_changed:,} of these with another BackoutCount"
    )
    for change, named in found.examples.items():
        for one in named:
            show_folded(f"{change.value.replace('_', ' ')}: {one.msg_id} on {one.queue}")
    for line in found.remarks():
        warn(line)
