"""How many messages of a queue expire by when: the histogram that a look at the queue leaves. Pure.

1. A message counts at the end of the slot in which it expires: a minute while that is less than an hour away at the
   look, else a quarter of an hour. So what expires until a full quarter of an hour is counted exactly, and what is
   over has expired for certain.
2. Every time zone of the world is a multiple of a quarter of an hour away from UTC.
3. What expires more than two weeks after the look is `later`: the histogram of a queue has a greatest size, however
   many messages it has.
4. Two figures say what is at stake: messages that asked for an expiration report (MQRO_EXPIRATION*), which the queue
   manager sends when it discards them, and persistent ones, which their putter did not want to lose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from mqwire.constants import MQEI_UNLIMITED, MQPER_PERSISTENT, MQRO_EXPIRATION_WITH_FULL_DATA

MINUTE, QUARTER, HOUR, MOST = 60, 900, 3600, 14 * 86_400
"""In seconds: the two lengths of a slot, the time in which the short one counts, and the end of the histogram."""
_STEP = 100
"""Tenths of a second to which a remaining lifetime is added up during a look."""


class Stake(NamedTuple):
    """Messages that expire: all, those that asked for an expiration report, and persistent ones."""

    messages: int = 0
    reports: int = 0
    persistent: int = 0

    def plus(self, other: Stake) -> Stake:
        """Both together."""
        return Stake(*(one + more for one, more in zip(self, other, strict=True)))


NONE = Stake()
"""No message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The messages of a queue by the time when they expire.

    Parameters: `expire` end of a slot, in seconds since 1970 → messages; `reports` and `persistent` those of them that
    rule 4 names; `later` messages behind the end (rule 3), `never` those without an expiry.
    """

    expire: Mapping[int, int] = field(default_factory=dict)
    reports: Mapping[int, int] = field(default_factory=dict)
    persistent: Mapping[int, int] = field(default_factory=dict)
    later: int = 0
    never: int = 0

    def until(self, end: datetime, *, since: datetime | None = None) -> Stake:
        """What expires until a time. Parameters: `since` what is over by then is left out."""
        first, last = since.timestamp() if since else float("-inf"), end.timestamp()
        return Stake(*(_between(one, first, last) for one in (self.expire, self.reports, self.persistent)))

    def within(self, now: datetime, buckets: Mapping[str, int]) -> dict[str, int]:
        """Name of a bucket → messages whose time is not over and that expire in it, the shortest that fits.

        Parameters: `buckets` name → tenths of a second, shortest first; what fits none is left out.
        """
        found: Counter[str] = Counter()
        for at, messages in self.expire.items():
            left = at - now.timestamp()
            name = next((name for name, most in buckets.items() if left * 10 <= most), "")
            if left > 0 and name:
                found[name] += messages
        return dict(found)

    @property
    def messages(self) -> int:
        """All of them."""
        return sum(self.expire.values()) + self.later + self.never

    @property
    def expiring(self) -> int:
        """Those that have an expiry."""
        return self.messages - self.never


def _between(counts: Mapping[int, int], first: float, last: float) -> int:
    return sum(messages for at, messages in counts.items() if first < at <= last)


@dataclass(slots=True)
class Lifetimes:
    """Adds up the remaining lifetimes of the messages of a queue while it is browsed."""

    never: int = 0
    later: int = 0
    _tenths: Counter[tuple[int, bool, bool]] = field(default_factory=Counter)

    def add(self, expiry: int, report: int, persistence: int) -> None:
        """One live message, by its descriptor. Parameters: `expiry` what is left, in tenths of a second."""
        if expiry == MQEI_UNLIMITED:
            self.never += 1
        elif expiry > MOST * 10:
            self.later += 1
        else:
            wants = report & MQRO_EXPIRATION_WITH_FULL_DATA != 0  # it has the bits of all three
            self._tenths[-(-expiry // _STEP), wants, persistence == MQPER_PERSISTENT] += 1

    def histogram(self, now: datetime) -> Histogram:
        """What was added, by the time of day. Parameters: `now` when it was seen, with time zone."""
        expire, reports, persistent = Counter[int](), Counter[int](), Counter[int]()
        for (steps, wants, kept), messages in self._tenths.items():
            left = steps * _STEP / 10
            slot = MINUTE if left < HOUR else QUARTER
            at = int(-(-(now.timestamp() + left) // slot) * slot)
            expire[at] += messages
            if wants:
                reports[at] += messages
            if kept:
                persistent[at] += messages
        return Histogram(
            expire=dict(expire), reports=dict(reports), persistent=dict(persistent), later=self.later, never=self.never
        )


def total(stakes: Iterable[Stake]) -> Stake:
    """All of them together."""
    found = NONE
    for one in stakes:
        found = found.plus(one)
    return found
