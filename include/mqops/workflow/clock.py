"""The clock of the shells. The core takes the time as an argument."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Now, UTC, ISO 8601 with microseconds and `Z`."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
