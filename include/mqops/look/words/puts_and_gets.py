"""What is said of the puts and gets of a queue over the last day. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from mqops.counted import counted, length_of_time
from mqops.look.words.text import NOTHING, Text, said, sentences

if TYPE_CHECKING:
    from mqops.model import Count

MISSED = 60
"""Seconds that are not counted, of which nothing is said: times are whole seconds, and a sample takes some."""


class Rates(NamedTuple):
    """Messages a minute. Parameters: `at` the end of the time that they are of, ISO 8601 UTC."""

    at: str
    puts: float
    gets: float


def rates(samples: Sequence[tuple[str, Count]]) -> list[Rates]:
    """The rates of samples; one of less than a second has none."""
    return [Rates(at, _a_minute(one.puts, one), _a_minute(one.gets, one)) for at, one in samples if one.seconds]


def _a_minute(messages: int, count: Count) -> float:
    return 60 * messages / count.seconds


def puts_and_gets(queue: str, samples: Sequence[tuple[str, Count]], why_not: str) -> Text:
    """How many messages came and went; nothing where none were to be counted. Parameters: `samples` of the queue, the
    oldest first; `why_not` it was not counted last, "" where it was."""
    not_counted = said("Puts and gets on {:name} are not counted now: {:breaks}.", queue, why_not)
    return sentences(_in_numbers(queue, samples) if samples else NOTHING, not_counted if why_not else NOTHING)


def _in_numbers(queue: str, samples: Sequence[tuple[str, Count]]) -> Text:
    ends, counts = [datetime.fromisoformat(at) for at, _count in samples], [one for _at, one in samples]
    known = sum(one.seconds for one in counts)
    missed = (ends[-1] - ends[0]).total_seconds() + counts[0].seconds - known
    often = rates(samples)
    most = (max((one.puts for one in often), default=0.0), max((one.gets for one in often), default=0.0))
    each = (
        said(f", at most {number(most[0])} and {number(most[1])} a minute from sample to sample")
        if any(most)
        else NOTHING
    )
    return sentences(
        said(f"In {length_of_time(known)} up to {{:time}} ", samples[-1][0])
        + said(f"{counted(sum(one.puts for one in counts), 'message was', 'messages were')} put on {{:name}}", queue)
        + said(f" and {sum(one.gets for one in counts):,} got from it")
        + each
        + said(f"; at most {max(one.high for one in counts):,} were there at a time."),
        said(
            f"{length_of_time(missed)} are missing: another program reset the statistics, or the queue manager was "
            "started."
        )
        if missed > MISSED
        else NOTHING,
    )


def number(rate: float) -> str:
    """A rate with the digits that matter: 0.2, 12.5, 1,500."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
