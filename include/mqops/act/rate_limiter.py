"""The rate limiter of a run: the kill switch in the lake, the pace by the clock, the destinations' depth.

1. The pace of the run is shared out among the processes that may be at work side by side, and so is that of a rule: the
   sum of the shares is the pace. A message takes from the run's and from its rule's, so neither is ever exceeded. (Two
   executions of one Spark task have a share each for as long as both live.)
2. A unit of work is never more than a second's worth.
3. While `in_flight` messages stand on a destination nothing more is put there. This number is the depth of the
   queue, also of messages from other programs: a destination that no program reads is not filled. After `patience`
   seconds without room the destination's remaining messages are left; a lane's other destinations wait no longer than
   that.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from mqops.act.core.lanes import Row
from mqops.act.core.rate_limiter import Bucket, DepthOf
from mqops.actions import SENDS
from mqops.counted import counted
from mqops.decide.core.pacing import Pacing
from mqops.lake.run import RunFolder
from mqops.lake.stop import is_stopped
from mqops.model import Destination

LOOK_AGAIN = 0.25
"""Seconds between two looks at a full destination, and the longest wait without a look at the kill switch."""

_NO_ROOM = "its destination had "

_Place: TypeAlias = Destination


def _place(row: Row) -> _Place:
    """The destination, by whosever authority it is put there."""
    return Destination(row.dest_q, row.dest_q_mgr)


def is_for_room(why: str) -> bool:
    """Whether a row was left because its destination had no room (rule 3), by what the ledger says of it."""
    return why.startswith(_NO_ROOM)


class RunRateLimiter:
    """`mqops.act.core.rate_limiter.RateLimiter` for one process.

    Parameters: `run` whose kill switch counts; `pacing` of the plan; `shares` processes that share the pace;
    `stopped_for_all` whether a stop for every lake is on the ledger queue; `now`
    seconds of a monotonic clock; `sleep` waits so many seconds.
    """

    def __init__(
        self,
        run: RunFolder,
        pacing: Pacing,
        *,
        shares: int = 1,
        stopped_for_all: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._run = run
        self._stopped_for_all = stopped_for_all
        self._pacing = pacing
        self._now = now
        self._sleep = sleep
        paces = {key: rule.pace for key, rule in pacing.rules.items() if rule.pace}
        paces |= {"": pacing.pace} if pacing.pace else {}
        self._buckets = {key: Bucket(pace / shares, now()) for key, pace in paces.items()}
        self._wait = 0.0
        self._full_since: dict[_Place, float] = {}
        self._refused: set[_Place] = set()

    def stopped(self) -> bool:
        """See `RateLimiter`. Raises `LakeError` where the run's folder cannot be seen."""
        return is_stopped(self._run) or self._stopped_for_all()

    def admit(self, rows: Sequence[Row], depth_of: DepthOf) -> int:
        """See `RateLimiter`."""
        self._wait = 0.0
        number = self._with_room(rows, depth_of) if self._pacing.in_flight else len(rows)
        return self._within_pace(rows[:number]) if number and self._buckets else number

    def _with_room(self, rows: Sequence[Row], depth_of: DepthOf) -> int:
        """Rule 3: how many of the rows their destinations have room for."""
        room: dict[_Place, int | None] = {}
        for number, row in enumerate(rows):
            place = _place(row)
            if row.action not in SENDS or place in self._refused:
                continue
            if place not in room:
                depth = depth_of(row.target)
                room[place] = None if depth is None else self._pacing.in_flight - depth
            left = room[place]
            if left is None:
                continue
            if left <= 0:
                return number or self._wait_for_room(rows, place, depth_of)
            self._full_since.pop(place, None)
            room[place] = left - 1
        return len(rows)

    def _wait_for_room(self, rows: Sequence[Row], place: _Place, depth_of: DepthOf) -> int:
        since = self._full_since.setdefault(place, self._now())
        if self._now() - since < self._pacing.patience:
            self._wait = LOOK_AGAIN
            return 0
        self._refused.add(place)
        return self._with_room(rows, depth_of)

    def _within_pace(self, rows: Sequence[Row]) -> int:
        """Rules 1 and 2: how many of the rows may go now."""
        counts: Counter[str] = Counter()
        number = 0
        for row in rows:
            takes = [] if _place(row) in self._refused else self._keys(row)
            if any(counts[key] >= self._buckets[key].most for key in takes):
                break
            counts.update(takes)
            number += 1
        now = self._now()
        self._wait = max((self._buckets[key].wait(count, now) for key, count in counts.items()), default=0.0)
        return 0 if self._wait else number

    def _keys(self, row: Row) -> list[str]:
        return [key for key in dict.fromkeys(("", row.rule_key)) if key in self._buckets]

    def pause(self) -> None:
        """See `RateLimiter`."""
        self._sleep(min(self._wait, LOOK_AGAIN))

    def refusal(self, row: Row) -> str:
        """See `RateLimiter`."""
        if not self._refused or row.action not in SENDS or _place(row) not in self._refused:
            return ""
        return f"{_NO_ROOM}{counted(self._pacing.in_flight, 'message')} or more for {self._pacing.patience} s"

    def done(self, rows: Sequence[Row]) -> None:
        """See `RateLimiter`."""
        if not self._buckets:
            return
        now = self._now()
        for key, count in Counter(key for row in rows for key in self._keys(row)).items():
            self._buckets[key].spend(count, now)
