"""What is left alone since it failed: destinations, and queues that messages are taken from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mqops.act.core.lanes import Target
from mqops.act.core.scope import PASSING

Place: TypeAlias = Target | str
"""A destination, or the name of a queue that messages are taken from."""

REST = 1.0
"""Seconds that a place is left alone after a failure that passes by itself. Such a failure costs the back-out of its
unit of work, which is then done again without the offender: once a second that is little, however many messages a full
queue is to get; and a queue that is drained meanwhile has messages again a second later."""


class Closed:
    """The places of one lane that are closed, with the reason code: for `REST` where it is one of `PASSING`, else for
    good. What passes is a matter of the queue, whoever's authority opens it.

    Parameters: `clock` seconds of a clock that only goes on.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._good: dict[Place, int] = {}
        self._until: dict[Place, tuple[int, float]] = {}

    def close(self, places: Mapping[Place, int]) -> None:
        """From now on these are closed, for these reasons."""
        for place, reason in places.items():
            if reason in PASSING:
                self._until[_of_anybody(place)] = reason, self._clock() + REST
            else:
                self._good[place] = reason

    def for_good(self, place: Place) -> int:
        """Why a place is closed for the rest of the lane, 0 where it is not."""
        return self._good.get(place, 0) if self._good else 0

    def reason(self, place: Place) -> int:
        """Why a place is closed now, 0 where it is not."""
        if self._until:
            reason, until = self._until.get(_of_anybody(place), (0, 0.0))
            if reason and self._clock() < until:
                return reason
        return self.for_good(place)


def _of_anybody(place: Place) -> Place:
    return place if isinstance(place, str) else place._replace(alternate_user="")
