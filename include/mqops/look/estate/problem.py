"""What is wrong with a queue manager: a text, where it is seen or mended, and how bad it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from mqops.errors import MqopsError
from mqops.finding import Finding
from mqops.printable import printable

T = TypeVar("T")
log = logging.getLogger(__name__)


class Place(StrEnum):
    """Where a problem is seen or mended."""

    ACCOUNTED = "accounted"
    CONNECTION = "connection"
    DEAD_LETTERS = "dead_letters"
    MESSAGES = "messages"
    QUALITY = "quality"
    QUEUE = "queue"
    RECORDED = "recorded"
    RUN = "run"
    TRIGGERS = "triggers"


class Urgency(StrEnum):
    """When a person should look at a problem: the heading under which it stands."""

    NOW = "now"
    SOON = "soon"
    TO_KNOW = "to know"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Finding):
    """What is wrong. Parameters: `urgency` now where work stands still or it is not proved what was done; `place` where
    it is seen or mended, None where no page helps; `about` the queue or the run that is meant there; `backout_queue`
    whose messages a form handles, and `looping_queue` on which messages loop, blank for none; `each` the problems that
    this one is made of, where one line stands for several."""

    urgency: Urgency = Urgency.SOON
    place: Place | None = None
    about: str = ""
    backout_queue: str = ""
    looping_queue: str = ""
    each: tuple[Problem, ...] = ()


MOST_LINES = 5
"""Queues with the same problem that have a line of their own, with its link or command; the others share one."""
_WORST = (Place.CONNECTION, Place.ACCOUNTED)
"""What is worse than all else: nothing of the queue manager is known, or what was done is not proved."""


AFTER_ALL = (len(Urgency), 0)
"""A rank behind those of all problems."""


def rank(problem: Problem) -> tuple[int, int]:
    """How bad a problem is, the least the worst: by its urgency, then by its place."""
    at = _WORST.index(problem.place) if problem.place in _WORST else len(_WORST) + (problem.place is not Place.RUN)
    return tuple(Urgency).index(problem.urgency), at


def worst_first(problems: Iterable[Problem]) -> list[Problem]:
    """Problems in the order in which a person should look at them; equals in the order in which they were found."""
    return sorted(problems, key=rank)


def each_or_rest(
    found: Sequence[T], one: Callable[[T], Problem], rest: Callable[[Sequence[T]], Problem]
) -> Iterator[Problem]:
    """A problem for each of the first `MOST_LINES` that have it, and one for all others. Parameters: `found` the worst
    first."""
    yield from map(one, found[:MOST_LINES])
    if more := found[MOST_LINES:]:
        yield rest(more)


def tried(what: str, look: Callable[[], T], otherwise: T) -> tuple[T, tuple[Problem, ...]]:
    """What `look` gives, or `otherwise` and a problem. Parameters: `what` failed then, as a sentence."""
    try:
        return look(), ()
    except MqopsError as error:
        return otherwise, (Problem(what=f"{what}: {error}"),)
    except Exception as error:  # the other checks must be seen
        log.exception("%s", printable(what))
        return otherwise, (Problem(what=f"{what}: {error!r}"),)
