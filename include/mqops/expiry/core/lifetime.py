"""What is left of a message's lifetime at a later time (E02, E11)."""

from __future__ import annotations

from datetime import datetime, timedelta

from mqwire.constants import MQEI_UNLIMITED

_TENTH = timedelta(milliseconds=100)


def remaining(expiry: int, seen_at: datetime, now: datetime) -> int | None:
    """The lifetime that is left, in tenths of a second; None if it is over. Unlimited stays unlimited (rule 6 of
    `mqops.undo`)."""
    if expiry == MQEI_UNLIMITED:
        return expiry
    left = expiry - max(0, -((seen_at - now) // _TENTH))
    return left if left > 0 else None
