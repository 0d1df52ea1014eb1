"""Queues that nothing is tried for after a failure: destinations, and queues that messages are taken from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mqops.act.core.lanes import Target
from mqops.act.core.scope import PASSING

TargetOrQueue: TypeAlias = Target | str
"""A destination, or the name of a queue that messages are taken from."""

REST = 1.0
"""Seconds that a place stays blocked after a failure that passes by itself. Such a failure costs the back-out of its
unit of work, which is then done again without the offender: once a second that is little, however many messages a full
queue is to get; and a queue that is drained meanwhile has messages again a second later."""


class BlockedQueues:
    """The blocked places of one lane, with the reason code: for `REST` seconds if it is one of `PASSING`, else for
    good. A failure that passes concerns the queue, so it blocks the queue for every alternate user.

    Parameters: `clock` seconds of a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._good: dict[TargetOrQueue, int] = {}
        self._until: dict[TargetOrQueue, tuple[int, float]] = {}

    def block(self, places: Mapping[TargetOrQueue, int]) -> None:
        """Block these places from now on, for these reasons."""
        for place, reason in places.items():
            if reason in PASSING:
                self._until[_for_every_user(place)] = reason, self._clock() + REST
            else:
                self._good[place] = reason

    def for_good(self, place: TargetOrQueue) -> int:
        """Why a place is blocked for the rest of the lane, 0 if it is not."""
        return self._good.get(place, 0) if self._good else 0

    def reason(self, place: TargetOrQueue) -> int:
        """Why a place is blocked now, 0 if it is not."""
        if self._until:
            reason, until = self._until.get(_for_every_user(place), (0, 0.0))
            if reason and self._clock() < until:
                return reason
        return self.for_good(place)


def _for_every_user(place: TargetOrQueue) -> TargetOrQueue:
    return place if isinstance(place, str) else place._replace(alternate_user="")
