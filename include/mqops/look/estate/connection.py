"""Whether the queue manager answers."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency


def connection(known: Known) -> Iterator[Problem]:
    """That it does not."""
    if unreachable := known.figures.unreachable:
        silent = "has not answered yet" if known.figures.awaited else "does not answer"
        yield Problem(what=f"The queue manager {silent}: {unreachable}", urgency=Urgency.NOW, place=Place.CONNECTION)
