"""Queues that have no room, or little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem, Urgency, tried
from mqops.look.estate.since import is_so
from mqops.look.figures import Figures, QueueFigures
from mqops.mqsc import raised_max_depth

NO_READER = " (no program has it open for input: check that its application runs)"


def nearly_full(known: Known) -> Iterator[Problem]:
    """The queues that are nearly full, each with the remedy."""
    full = [one for one in known.figures.queues if one.nearly_full]
    recorded, failed = tried(
        "Which queues are recorded cannot be read",
        lambda: {one.name for one in full if known.is_recorded(one.name)},
        set[str](),
    )
    put_on, unknown = tried("Which runs filled queues cannot be read", known.put_on if full else dict, dict[str, str]())
    yield from (*failed, *unknown)
    for one in full:
        place = Place.RECORDED if one.name in recorded else Place.QUEUE
        place = Place.DEAD_LETTERS if one.name == known.figures.dead_letter_queue else place
        urgency = Urgency.NOW if one.depth >= one.max_depth else Urgency.SOON
        run = put_on.get(one.name)
        by = f". The last run that put messages there is {known.named(run)}" if run else ""
        since = is_so(known, one, partial(_as_full, one))
        what, room = f"{how_full(one)}. {since}{by}", more_room(one, known.figures)
        remedy = f"{room[0].upper()}{room[1:]}"
        yield Problem(what=what, remedy=remedy, urgency=urgency, place=place, about=one.name)


def _as_full(queue: QueueFigures, depth: int) -> bool:
    """Whether a queue was as full with this depth: without room, or with little."""
    return depth >= queue.max_depth if queue.depth >= queue.max_depth else replace(queue, depth=depth).nearly_full


def how_full(queue: QueueFigures) -> str:
    """That a queue has no room, or little."""
    of = f"CURDEPTH {queue.depth:,}, MAXDEPTH {queue.max_depth:,}"
    return f"{queue.name} is {100 * queue.depth // queue.max_depth} % full ({of})"


def more_room(queue: QueueFigures, figures: Figures) -> str:
    """What to do about a queue that has no room, or little. Parameters: `figures` of its queue manager."""
    unread = not queue.readers and not figures.unreachable and not queue.storage
    raised = raised_max_depth(queue.name, queue.max_depth, queue.depth)
    return f"let it be emptied{NO_READER if unread else ''}, or raise MAXDEPTH: {raised}"
