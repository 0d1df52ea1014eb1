"""Queues on which runs put messages, and that no program reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqops.counted import counted
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, each_or_rest
from mqops.look.figures import QueueFigures


def never_read(known: Known) -> Iterator[Problem]:
    """Each of them, the deepest first. Old figures say nothing of programs of now. Raises `LakeError`."""
    if known.figures.unreachable or known.runs is None:
        return
    put_on = known.put_on()
    unread = (one for one in known.figures.queues if one.depth and not one.readers and not one.storage)
    found = sorted((one for one in unread if one.name in put_on), key=lambda one: -one.depth)

    def problem(one: QueueFigures) -> Problem:
        last = known.named(put_on[one.name])
        return Problem(
            what=f"No program has {one.with_depth} open for input, and runs put messages there; "
            f"the last one was {last}",
            remedy="Check that its application runs; it is in order only where a person reads the queue",
            place=Place.RECORDED if known.is_recorded(one.name) else Place.QUEUE,
            about=one.name,
        )

    def others(more: Sequence[QueueFigures]) -> Problem:
        named = ", ".join(one.with_depth for one in more)
        return Problem(
            what=f"No program has {counted(len(more), 'more queue')} open for input where runs put messages: {named}",
            remedy="Check that the application of each runs",
        )

    yield from each_or_rest(found, problem, others)
