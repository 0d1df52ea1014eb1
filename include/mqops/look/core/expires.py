"""How many messages of a queue expire before a time, as far as that is known: one rule for all pages.

1. The newest whole snapshot of the queue counts them, without what runs have taken since.
2. What the queue has beyond the messages of that snapshot is not counted. If a later scan for expired messages still
   holds, and tells that nothing expires before the time, none of them does.
3. If the queue has fewer messages than the snapshot, somebody has read some: the count is the most that can expire.
4. Without a whole snapshot nobody has counted. A scan that still holds tells whether something expires before the time.
   The same holds where a run has taken messages since the snapshot, and its plan was removed: which ones is not known.
5. Messages that came in the place of others that were read are not seen by this: nothing is browsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mqops.expiry.core.candidates import Known

NO_SCAN, OLD_SCAN = "no scan", "the last scan is too old"
NO_PLAN = "the plan of a later run was removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForecast:
    """A queue as its newest snapshot has it. Parameters: `at` of the snapshot; `past` messages that have expired by
    now; `before` those that expire before the limit, `later` those behind it."""

    queue: str
    run: str
    at: str
    past: int
    before: int
    later: int
    never: int

    @property
    def messages(self) -> int:
        """The messages of the snapshot that no run has taken since."""
        return self.past + self.before + self.later + self.never


@dataclass(frozen=True, slots=True, kw_only=True)
class Expires:
    """What is known.

    Parameters: `before` messages that expire before the limit, None where nobody has counted; `at_most` whether they
    can be fewer (rule 3); `some` whether a scan tells of one, and not of how many; `unknown` messages that are not
    counted; `unrecorded` messages that the newest whole snapshot does not have, of which a scan may tell that none
    expires before the limit; `why` nothing is known, blank where something is.
    """

    before: int | None = None
    at_most: bool = False
    some: bool = False
    unknown: int = 0
    unrecorded: int = 0
    why: str = ""

    def words(self, time: str) -> str:
        """In a few words. Parameters: `time` the limit, such as 08:00."""
        if self.why:
            return f"not known: {self.why}"
        if self.before:
            known = f"{'at most ' if self.at_most else ''}{self.before:,} before {time}"
        elif self.some:
            known = f"some before {time}"
        else:
            known = f"none before {time}"
        looked = "not counted" if self.some else "not looked at"
        return f"{known}; {self.unknown:,} {looked}" if self.unknown and self.before is not None else known


def expires(
    depth: int | None,
    recorded: QueueForecast | None,
    scan: Known | None,
    last_put: str,
    *,
    limit: datetime,
    removed: bool = False,
) -> Expires:
    """What is known of a queue.

    Parameters: `depth` of now, None where it is not known; `recorded` in its newest whole snapshot, None without one;
    `scan` the last one, None without one; `last_put` as the queue manager tells it, blank where it does not; `removed`
    whether a run has taken messages since the snapshot, and its plan was removed: then `recorded` is None.
    """
    holds = scan is not None and depth is not None and scan.still_holds(depth=depth, last_put=last_put)
    if scan is None or not holds or (recorded and _time(scan.scanned_at) < _time(recorded.at)):
        some = none = False
    else:
        some = bool(scan.next_expiry) and _time(scan.next_expiry) < limit
        none = not some
    if recorded is not None:
        return _counted(depth, recorded, some=some, none=none)
    if none:
        return Expires(before=0, unrecorded=depth or 0)
    why = "" if some else NO_PLAN if removed else OLD_SCAN if scan else NO_SCAN
    return Expires(some=some, unknown=depth or 0, unrecorded=depth or 0, why=why if depth else "")


def _counted(depth: int | None, recorded: QueueForecast, *, some: bool, none: bool) -> Expires:
    if depth is None:
        return Expires(before=recorded.before)
    unrecorded = max(0, depth - recorded.messages)
    unknown = 0 if none else unrecorded
    return Expires(
        before=min(recorded.before, depth),
        at_most=depth < recorded.messages - recorded.past,
        some=some and bool(unknown),
        unknown=unknown,
        unrecorded=unrecorded,
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
