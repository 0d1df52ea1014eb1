"""The charts of a queue over the last day: its depth, as looks have sampled it, and its puts and gets where the estate
has them counted."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from mqops.clock import utc
from mqops.lake.run import folder_of
from mqops.look.depths import Sample, depths
from mqops.look.words import puts_and_gets as words
from mqops.look.words.text import NOTHING, Text
from mqops.observe.statistics import statistics
from mqops_airflow.pages.charts import line, lines

FEWEST = 3
"""Samples of a chart: two of them are told by two numbers."""


class Day(NamedTuple):
    """A queue over the last day. Parameters: `charts` of its depth and of its rates, as far as there are any; `counted`
    its puts and gets in words."""

    charts: Markup = Markup("")
    counted: Text = NOTHING


def day_of(lake: Path, queue_manager: str, queue: str) -> Day:
    """What is known of the day of a queue."""
    if not queue:
        return Day()
    folder, now = folder_of(lake, queue_manager), utc()
    known = statistics(folder, now)
    samples = known.of(queue)
    return Day(
        charts=_depth(queue, depths(folder, now)) + _rates(queue, words.rates(samples)),
        counted=words.puts_and_gets(queue, samples, known.why_not(queue)),
    )


def _depth(queue: str, sampled: tuple[Sample, ...]) -> Markup:
    """The chart; nothing where there are few samples, or the depth was the same in all of them."""
    points = [(one.at, depth) for one in sampled if (depth := one.of(queue)) is not None]
    known = [depth for _at, depth in points]
    if len(points) < FEWEST or min(known) == max(known):
        return Markup("")
    label = f"Messages on {queue} over the last day: from {min(known):,} to {max(known):,}, {known[-1]:,} at last"
    return line(points, title="messages", label=label)


def _rates(queue: str, found: list[words.Rates]) -> Markup:
    """The chart; nothing where there are few samples, or nothing came or went."""
    if len(found) < FEWEST or not any(one.puts or one.gets for one in found):
        return Markup("")
    most = (words.number(max(one.puts for one in found)), words.number(max(one.gets for one in found)))
    label = f"Puts and gets on {queue} over the last day: at most {most[0]} and {most[1]} a minute"
    series = {"puts": [(one.at, one.puts) for one in found], "gets": [(one.at, one.gets) for one in found]}
    return lines(series, title="a minute", label=label)
