"""The chart of a queue's depth over the last day, as looks at its queue manager have sampled it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from mqops.clock import utc
from mqops.lake.run import folder_of
from mqops.look.depths import depths
from mqops_airflow.pages.charts import line

FEWEST = 3
"""Samples of a chart: two of them are told by two numbers."""


def day_chart(lake: Path, queue_manager: str, queue: str) -> Markup:
    """The chart; nothing where there are few samples, or the depth was the same in all of them."""
    sampled = depths(folder_of(lake, queue_manager), utc())
    points = [(one.at, depth) for one in sampled if (depth := one.of(queue)) is not None]
    known = [depth for _at, depth in points]
    if len(points) < FEWEST or min(known) == max(known):
        return Markup("")
    label = f"Messages on {queue} over the last day: from {min(known):,} to {max(known):,}, {known[-1]:,} at last"
    return line(points, title="messages", label=label)
