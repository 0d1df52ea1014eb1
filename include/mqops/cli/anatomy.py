"""`mqops dlq anatomy`: what a dead-letter queue is made of, as a table, JSON, or OpenMetrics text for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from mqops.cli.columns import show_folded
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
from mqops.cli.passes import warn
from mqops.cli.run_argument import completed_runs, one_queue_manager, queue_manager_argument, snapshot_folder
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.observe.core.anatomy import (
    AGES,
    OLDER,
    UNKNOWN,
    Group,
    QueueAnatomy,
    aged_by_md,
    growth_since,
    label,
    openmetrics,
)

_COLUMNS = (*AGES, OLDER, UNKNOWN)


@click.command()
@click.argument("queue", default="")
@queue_manager_argument
@connecting_options
@click.option(
    "--snapshot",
    metavar="RUN|FOLDER",
    default="",
    shell_complete=completed_runs,
    help="Count the messages of a run (its key or the beginning of it), or of a folder of a run or a snapshot. "
    "Connect to no queue manager.",
)
@format_option
@lake_option
@json_option
@known_errors
def anatomy(*, queue: str, queue_manager: str, named: str, snapshot: str, form: str, lake: Path, as_json: bool) -> None:
    """Count the messages of QUEUE (none: the dead-letter queue) by reason, origin, application and age.

    Growth is counted since the last run of the queue in the lake, or since the queue was empty. Nothing is written and
    nothing is moved. Each run writes the same counts to RUN/anatomy.prom.
    """
    if snapshot:
        queues = _recorded(snapshot_folder(lake, snapshot), queue)
    else:
        queues = _looked(one_queue_manager(queue_manager, named), queue, lake)
    if as_json or form == "json":
        show_json({"queues": [one.to_json() for one in queues]})
    elif form == "openmetrics":
        show_text(openmetrics(queues).removesuffix("\n"))
    else:
        for one in queues:
            for line in _table(one):
                show_line(line) if line.startswith(" ") else show_folded(line, indent=2)


def _looked(queue_manager: str, queue: str, lake: Path) -> list[QueueAnatomy]:
    from mqops.observe.anatomy_now import look  # noqa: PLC0415

    found, remarks = look(connection_to(queue_manager), lake, queue.strip())
    for remark in remarks:
        warn(remark)
    return [found]


def _recorded(folder: Path, queue: str) -> list[QueueAnatomy]:
    from mqops.observe.anatomy import of_snapshot  # noqa: PLC0415
    from mqops.observe.snapshot import find  # noqa: PLC0415

    return [one for one in of_snapshot(*find(folder)) if queue.strip() in ("", one.queue)]


def _table(queue: QueueAnatomy) -> Iterator[str]:
    ages: Counter[tuple[Group, str]] = Counter()
    for cell in queue.cells:
        ages[cell.group, cell.age] += cell.messages
    groups = queue.groups()
    messages = counted(queue.messages, "message")
    yield f"{queue.queue} of {queue.queue_manager}, {queue.observed_at}: {messages}{_since(queue)}"
    yield "reason, origin, application"
    yield f"{'messages':>12} {'growth':>8}" + "".join(f"{age:>8}" for age in _COLUMNS)
    for group in sorted({*groups, *queue.growth}, key=lambda one: (-groups[one], one)):
        counts = "".join(f"{ages[group, age] or '.':>8}" for age in _COLUMNS)
        yield label(group)
        yield f"{groups[group]:12} {queue.growth.get(group, 0):+8}{counts}"
    if queue.aged_by_md:
        yield aged_by_md(queue.aged_by_md)


def _since(queue: QueueAnatomy) -> str:
    run, at = queue.since
    of = f" of {at}" if run else ""
    return f", {sum(queue.growth.values()):+} {growth_since(run, at)}{of}" if at else ", no run to compare with"
