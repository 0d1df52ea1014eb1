"""What decides whether the next unit of work may begin: the kill switch, the pace, the depth of the destinations.

The mover asks before each unit of work, and has none open while it waits. `mqops.act.rate_limiter` asks the clock and
the lake; the arithmetic is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from mqops.act.core.lanes import Row, Target

DepthOf: TypeAlias = Callable[[Target], int | None]
"""How many messages are on a target's queue; None if that is not known."""


class RateLimiter(Protocol):
    """Asked before each unit of work."""

    def stopped(self) -> bool:
        """Whether somebody stopped the run: no further unit of work begins."""

    def admit(self, rows: Sequence[Row], depth_of: DepthOf) -> int:
        """How many of these rows, from the first, the next unit of work may take now; 0: `pause` and ask again."""

    def pause(self) -> None:
        """Wait a moment."""

    def refusal(self, row: Row) -> str:
        """Why a row is left on its queue; "" if it is not left."""

    def done(self, rows: Sequence[Row]) -> None:
        """These rows were tried, and that is committed: they were moved or discarded, or it failed."""


class NoLimit:
    """No limit at all."""

    def stopped(self) -> bool:
        """See `RateLimiter`."""
        return False

    def admit(self, rows: Sequence[Row], depth_of: DepthOf) -> int:
        """See `RateLimiter`."""
        return len(rows)

    def pause(self) -> None:
        """See `RateLimiter`."""

    def refusal(self, row: Row) -> str:
        """See `RateLimiter`."""
        return ""

    def done(self, rows: Sequence[Row]) -> None:
        """See `RateLimiter`."""


class Bucket:
    """A token bucket: `rate` messages a second, of which one second's worth is saved up at most.

    It begins empty, so that processes that die and start again are not faster than one that lives. A unit of work that
    must take more than a second's worth (messages that go together) goes when a second's worth is there, and the bucket
    owes the rest.

    Parameters: `rate` above 0, may be a fraction; `now` seconds of a monotonic clock.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self.most = max(1, int(rate))
        self._level = 0.0
        self._at = now

    def wait(self, messages: int, now: float) -> float:
        """Seconds until so many messages may go; 0 where they may now."""
        self._fill(now)
        return max(0.0, (min(messages, self.most) - self._level) / self._rate)

    def spend(self, messages: int, now: float) -> None:
        """So many went."""
        self._fill(now)
        self._level -= messages

    def _fill(self, now: float) -> None:
        self._level = min(float(self.most), self._level + (now - self._at) * self._rate)
        self._at = now
