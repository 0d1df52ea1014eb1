"""Queues on which runs put messages, and that no program reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mqops.counted import counted, first_named, length_of_time
from mqops.finding import sentence
from mqops.look.estate.known import Known
from mqops.look.estate.problem import MOST_LINES, Place, Problem
from mqops.look.estate.since import has_messages, to_know
from mqops.look.figures import QueueFigures

_CHECK = "Check that its application runs; it is in order only where a person reads the queue"


def never_read(known: Known) -> Iterator[Problem]:
    """One problem for all of them. Old figures say nothing of programs of now. Raises `LakeError`."""
    if known.figures.unreachable or known.runs is None:
        return
    put_on = known.put_on()
    unread = (one for one in known.figures.queues if one.depth and not one.readers and not one.storage)
    found = sorted((one for one in unread if one.name in put_on), key=lambda one: -one.depth)

    def problem(one: QueueFigures) -> Problem:
        since = has_messages(known, one) or f"the oldest message is {length_of_time(one.oldest or 0)} old"
        return Problem(
            what=f"No program has {one.with_depth} open for input, and runs put messages there; "
            f"the last one was {known.named(put_on[one.name])}; {since}",
            remedy=sentence(_CHECK, to_know(known, one)),
            place=Place.RECORDED if known.is_recorded(one.name) else Place.QUEUE,
            about=one.name,
        )

    if len(found) > 1:
        yield _of_many(found, [replace(problem(one), remedy=to_know(known, one)) for one in found[:MOST_LINES]])
    else:
        yield from map(problem, found)


def _of_many(found: Sequence[QueueFigures], each: Sequence[Problem]) -> Problem:
    """One line for all of them, which leads to the deepest. Parameters: `each` the problems of the deepest,
    which unfold."""
    return Problem(
        what=f"{counted(len(found), 'queue')} where runs put messages have no program that reads them: "
        f"{first_named([one.with_depth for one in found], MOST_LINES)}",
        remedy="Check that the application of each runs; it is in order only where a person reads the queue.",
        place=Place.QUEUE,
        about=found[0].name,
        each=tuple(each),
    )
