"""A time as it stands in a file. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(text: str) -> datetime | None:
    """The time that a text in ISO 8601 says, UTC where it has no time zone; None where it says none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
