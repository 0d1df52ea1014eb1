"""`mqops dlq anatomy`: what a dead-letter queue is made of, as a table, JSON, or OpenMetrics text for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_text
from mqops.observe.core.anatomy import AGES, OLDER, UNKNOWN, Group, QueueAnatomy, label, openmetrics, told_since

_COLUMNS = (*AGES, OLDER, UNKNOWN)


@click.command()
@click.argument("queue", default="")
@click.argument("queue_manager", metavar="[QMGR]", default="")
@click.option(
    "--snapshot",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="A run's folder in the lake, or a snapshot's own: look there, and at no queue manager.",
)
@click.option("--format", "form", type=click.Choice(["table", "json", "openmetrics"]), default="table")
@lake_option
@json_option
@known_errors
def anatomy(*, queue: str, queue_manager: str, folder: Path | None, form: str, lake: Path, as_json: bool) -> None:
    """Count the messages of QUEUE (none: the dead-letter queue) by reason, origin, application and age.

    Growth is told since the last run that the lake has of the queue, or since one that found it empty. Nothing is
    written and nothing is moved. Each run keeps the same as RUN/anatomy.prom.
    """
    queues = _recorded(folder, queue) if folder else _looked(queue_manager, queue, lake)
    if as_json or form == "json":
        show_json({"queues": [one.to_json() for one in queues]})
    elif form == "openmetrics":
        show_text(openmetrics(queues).removesuffix("\n"))
    else:
        for one in queues:
            show_text("\n".join(_table(one)))


def _looked(queue_manager: str, queue: str, lake: Path) -> list[QueueAnatomy]:
    from mqops.observe.anatomy_now import look  # noqa: PLC0415

    return [look(connection_to(queue_manager.strip()), lake, queue.strip())]


def _recorded(folder: Path, queue: str) -> list[QueueAnatomy]:
    from mqops.observe.anatomy import of_snapshot  # noqa: PLC0415
    from mqops.observe.snapshot import find  # noqa: PLC0415

    return [one for one in of_snapshot(*find(folder)) if queue.strip() in ("", one.queue)]


def _table(queue: QueueAnatomy) -> Iterator[str]:
    ages: Counter[tuple[Group, str]] = Counter()
    for cell in queue.cells:
        ages[cell.group, cell.age] += cell.messages
    groups = queue.groups()
    yield f"{queue.queue} of {queue.queue_manager}, {queue.observed_at}: {queue.messages} messages{_since(queue)}"
    yield f"{'messages':>8} {'growth':>7}" + "".join(f"{age:>8}" for age in _COLUMNS) + "  reason, origin, application"
    for group in sorted({*groups, *queue.growth}, key=lambda one: (-groups[one], one)):
        counts = "".join(f"{ages[group, age] or '.':>8}" for age in _COLUMNS)
        yield f"{groups[group]:8} {queue.growth.get(group, 0):+7}{counts}  {label(group)}"


def _since(queue: QueueAnatomy) -> str:
    run, at = queue.since
    of = f" of {at}" if run else ""
    return f", {sum(queue.growth.values()):+} {told_since(run, at)}{of}" if at else ", no run to compare with"
