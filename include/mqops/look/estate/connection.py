"""Whether the queue manager answers."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency


def connection(known: Known) -> Iterator[Problem]:
    """That it does not."""
    if (unreachable := known.figures.unreachable) and not known.figures.awaited:
        yield Problem(
            what=f"The queue manager does not answer: {unreachable}", urgency=Urgency.NOW, place=Place.CONNECTION
        )


def asked(known: Known) -> Iterator[Problem]:
    """That it is being asked: no fault until it does not answer."""
    if known.figures.awaited:
        what = f"The queue manager has not answered yet: {known.figures.unreachable}"
        yield Problem(what=what, remedy="Wait: this page shows its answer as soon as it has come.")
