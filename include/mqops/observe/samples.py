"""When samples of a queue manager are taken, and how long they are kept: its figures of the last day. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from mqops.iso_time import moment

EVERY = timedelta(minutes=15)
DAY = timedelta(hours=24)
MOST_SAMPLES = DAY // EVERY


def is_of_last_day(at: str, now: datetime) -> bool:
    """Whether a sample is kept. Parameters: `at` when it was taken, ISO 8601, blank for never."""
    time = moment(at)
    return time is not None and now - DAY < time <= now


def is_recent(at: str, now: datetime) -> bool:
    """Whether it is too early for the next sample. Parameters: `at` as of `is_of_last_day`."""
    time = moment(at)
    return time is not None and now - time < EVERY
