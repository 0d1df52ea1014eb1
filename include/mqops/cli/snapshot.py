"""`mqops snapshot`: copy queues to the lake, changing nothing."""

from __future__ import annotations

from pathlib import Path

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line


@click.command()
@click.argument("queues", nargs=-1)
@click.option("--queue-manager", "-m", default="", help="The queue manager; else the default one.")
@click.option("--limit", type=click.IntRange(0), default=0, help="Most messages of each queue; 0: all.")
@lake_option
@json_option
@known_errors
def snapshot(*, queues: tuple[str, ...], queue_manager: str, limit: int, lake: Path, as_json: bool) -> None:
    """Copy every message of QUEUES (none: the dead-letter queue), whole, to Parquet files in the lake."""
    from mqops.deciders.dead_letters import new_run_key  # noqa: PLC0415
    from mqops.lake.run import RunFolder  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.observe.in_process import observe  # noqa: PLC0415

    connection = connection_to(queue_manager)
    with connect(connection) as session:
        run = RunFolder.at(lake, queue_manager_name(session), new_run_key())
    summary = observe(connection, run, queues, limit=limit)
    if as_json:
        show_json({"folder": str(run.path), **summary.to_json()})
        return
    for queue in summary.queues:
        show_line(f"{queue.messages:8}  {queue.queue}: {queue.bytes} bytes, {queue.without_dlh} without an MQDLH")
    show_line(str(run.snapshot))
