"""What kinds of messages lie on a dead-letter queue, besides what its groups say: reports, and messages that expire.

A report that the queue manager cannot put on the reply-to queue goes to the dead-letter queue (IBM MQ, "Report options
and message flags"). A message keeps its lifetime on the dead-letter queue, and is discarded when that is over (E03).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mqops.counted import counted, length_of_time
from mqwire import constants as c
from mqwire.names import lookup, reason_name


class Kind(NamedTuple):
    """What the descriptor of a message says. Parameters: `expiry` in tenths of a second."""

    msg_type: int
    feedback: int
    expiry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """Counted messages.

    Parameters: `seen` that were looked at; `reports` Feedback by name → report messages; `expiring` messages with a
    lifetime, and `soonest` the shortest one that is left, in tenths of a second.
    """

    seen: int = 0
    reports: tuple[tuple[str, int], ...] = ()
    expiring: int = 0
    soonest: int = 0

    def sentences(self) -> tuple[str, ...]:
        """What a person should know of them, none for plain messages."""
        found = []
        number = sum(count for _name, count in self.reports)
        if number:
            by_feedback = ", ".join(f"{count:,} {name}" for name, count in self.reports)
            are = "is a report that" if number == 1 else "are reports that"
            found.append(f"{number:,} of them {are} could not be put on the reply-to queue ({by_feedback})")
        if self.expiring:
            has = "has a lifetime and is" if self.expiring == 1 else "have a lifetime and are"
            found.append(
                f"{self.expiring:,} of them {has} discarded when it is over, the first in "
                f"{length_of_time(max(1, round(self.soonest / 10)))}"
            )
        return tuple(found)


def kinds_of(messages: Iterable[Kind]) -> Kinds:
    """Count messages."""
    seen, reports, lifetimes = 0, Counter[str](), list[int]()
    for one in messages:
        seen += 1
        if one.msg_type == c.MQMT_REPORT:
            reports[_named(one.feedback)] += 1
        if one.expiry != c.MQEI_UNLIMITED:
            lifetimes.append(one.expiry)
    return Kinds(
        seen=seen,
        reports=tuple(sorted(reports.items(), key=lambda one: (-one[1], one[0]))),
        expiring=len(lifetimes),
        soonest=min(lifetimes, default=0),
    )


def protected(messages: int) -> str:
    """What is told of the messages that Advanced Message Security could not open (IBM MQ, "Error handling for AMS")."""
    number = counted(messages, "message")
    return (
        f"SYSTEM.PROTECTION.ERROR.QUEUE has {number} that Advanced Message Security could not open: signature, "
        "encryption or policy did not fit. Each has an MQDLH, as on a dead-letter queue"
    )


def _named(feedback: int) -> str:
    return lookup("MQFB", feedback) or reason_name(feedback)
