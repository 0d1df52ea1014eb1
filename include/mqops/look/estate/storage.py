"""Queues on which messages lie until a person looks."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.counted import counted
from mqops.look.estate.known import Known
from mqops.look.estate.problem import MOST_LINES, Place, Problem


def in_storage(known: Known) -> Iterator[Problem]:
    """The storage queues that have messages, the deepest first."""
    found = sorted((one for one in known.figures.storage if one.depth), key=lambda one: -one.depth)
    for one in found[:MOST_LINES]:
        what = f"{LIE}: {one.with_depth}"
        yield Problem(what=what, place=Place.QUEUE, about=one.name)
    if more := found[MOST_LINES:]:
        named = ", ".join(one.with_depth for one in more)
        yield Problem(what=f"{LIE}, on {counted(len(more), 'more queue')}: {named}", remedy=LOOK)


LIE = "Messages lie in storage until a person looks at them"
LOOK = "`mqops message find QUEUE -m QMGR` lists those of one queue"
