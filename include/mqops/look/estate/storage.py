"""Queues on which messages lie until a person looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqops.counted import counted
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, each_or_rest
from mqops.look.figures import QueueFigures


def in_storage(known: Known) -> Iterator[Problem]:
    """The storage queues that have messages, the deepest first."""
    found = sorted((one for one in known.figures.storage if one.depth), key=lambda one: -one.depth)
    yield from each_or_rest(found, _problem, _others)


def _problem(one: QueueFigures) -> Problem:
    return Problem(what=f"{LIE}: {one.with_depth}", place=Place.QUEUE, about=one.name)


def _others(more: Sequence[QueueFigures]) -> Problem:
    named = ", ".join(one.with_depth for one in more)
    return Problem(what=f"{LIE}, on {counted(len(more), 'more queue')}: {named}", remedy=LOOK)


LIE = "Messages lie in storage until a person looks at them"
LOOK = "To list those of one of these queues: mqops message find, with the name of the queue"
