"""`mqops snapshot`: copy queues to the lake, changing nothing."""

from __future__ import annotations

from pathlib import Path

import click

from mqops.cli.columns import show_folded
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import warn
from mqops.cli.run_argument import queue_manager_option
from mqops.cli.user_option import connecting_options
from mqops.counted import counted


@click.command(short_help="Copy the messages of queues to the lake.")
@click.argument("queues", nargs=-1)
@queue_manager_option
@connecting_options
@click.option(
    "--limit", type=click.IntRange(0), default=0, help="The largest number of messages of each queue. 0: all."
)
@lake_option
@json_option
@known_errors
def snapshot(*, queues: tuple[str, ...], queue_manager: str, limit: int, lake: Path, as_json: bool) -> None:
    """Copy every message of QUEUES (none: the dead-letter queue), whole, to Parquet files in the lake."""
    from mqops.deciders.run import new_run_key  # noqa: PLC0415
    from mqops.expiry.before_look import told_before_look  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.ledger.file import LedgerFile  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.mq.named_queue import usable_dead_letter_queue  # noqa: PLC0415
    from mqops.observe.core.expired import remarks  # noqa: PLC0415
    from mqops.observe.in_process import observe  # noqa: PLC0415

    connection = connection_to(queue_manager)
    with connect(connection) as session:
        run = RunFolder.at(lake, queue_manager_name(session), new_run_key())
        names = queues or (usable_dead_letter_queue(session),)
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
    show_line(str(run.snapshot))
