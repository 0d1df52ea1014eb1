"""Queues on which units of work are open: what they put is seen by nobody, what they got is lost to nobody yet."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem


def uncommitted(known: Known) -> Iterator[Problem]:
    """Each of them. Old figures say nothing of units of work of now."""
    for one in known.figures.queues:
        if one.uncommitted and not known.figures.unreachable:
            what = one.unit or f"{one.name} has uncommitted messages, of units of work that are open now"
            yield Problem(what=what, place=Place.QUEUE, about=one.name)
