"""Dates and times of message descriptors as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from mqops.look.find import FoundMessage


def put_at(one: FoundMessage) -> str:
    """Put date and time of the MQMD as people read them; unchanged where they are not a valid time."""
    return _moment(one.put_date, one.put_time)


def put_moment(digits: str) -> str:
    """As `put_at`. Parameters: `digits` date and time of an MQDLH, a blank between them."""
    date, _, time = digits.partition(" ")
    return _moment(date, time)


@lru_cache(maxsize=4096)
def _moment(date: str, time: str) -> str:
    try:
        return f"{datetime.strptime((date + time)[:14], '%Y%m%d%H%M%S').replace(tzinfo=UTC):%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return f"{date} {time}"
