"""Queues on which runs put messages, and that no program reads."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem


def never_read(known: Known) -> Iterator[Problem]:
    """All of them in one sentence. Old figures say nothing of programs of now. Raises `LakeError`."""
    if known.figures.unreachable or known.runs is None:
        return
    put_on = known.put_on()
    unread = (one for one in known.figures.queues if one.depth and not one.readers and not one.storage)
    found = [one for one in unread if one.name in put_on]
    if found:
        recorded = known.is_recorded(found[0].name)
        them, they = ("this queue", "it") if len(found) == 1 else ("these queues", "them")
        named = ", ".join(f"{one.name} (CURDEPTH {one.depth:,})" for one in found)
        last = f"; the last one was {known.named(put_on[found[0].name])}" if len(found) == 1 else ""
        yield Problem(
            what=f"No program has {them} open for input, and runs put messages there: {named}{last}",
            remedy=f"Check that the application of each runs; it is in order only where a person reads {they}",
            place=Place.RECORDED if recorded else Place.QUEUE,
            about=found[0].name,
        )
