"""The clock of the shells. The core takes the time as an argument."""

from __future__ import annotations

from datetime import UTC, datetime


def utc() -> datetime:
    """Now, UTC."""
    return datetime.now(UTC)


def utc_now() -> str:
    """Now, UTC, ISO 8601 with microseconds and `Z`."""
    return utc_text(utc())


def utc_text(time: datetime) -> str:
    """A time as ISO 8601, UTC, with microseconds and `Z`."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
