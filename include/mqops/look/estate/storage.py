"""Queues on which messages lie until a person looks."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem


def in_storage(known: Known) -> Iterator[Problem]:
    """The storage queues that have messages, in one sentence."""
    found = [one for one in known.figures.storage if one.depth]
    if found:
        named = ", ".join(f"{one.name} (CURDEPTH {one.depth:,})" for one in found)
        yield Problem(
            what=f"Messages lie in storage until a person looks at them: {named}",
            place=Place.QUEUE,
            about=found[0].name,
        )
