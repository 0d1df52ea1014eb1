"""When a message was put, by PutDate and PutTime of its MQMD or MQDLH.

1. They are YYYYMMDD and HHMMSSTH, in UTC. HHMMSS is a time as well: some programs write no hundredths.
2. A message was dead-lettered when its MQDLH says; where that has no valid date and time, when its MQMD says that it
   was put. The queue manager writes that one, and MQDLHs of programs often have none.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from mqops.observe.core.columns import SnapshotRow

DIGITS = "^[0-9]{8}([0-9]{6}|[0-9]{8})$"
"""PutDate and PutTime, joined, as rule 1 has them; not every such number is a time."""


class PutAt(NamedTuple):
    """When a message was dead-lettered, or put. Parameters: `by_md` whether the MQMD says it for an MQDLH."""

    second: datetime
    by_md: bool


def put_instant(put_date: str, put_time: str) -> str:
    """PutDate (YYYYMMDD) and PutTime (HHMMSSTH, UTC) as ISO 8601; "" if they are not a valid date and time."""
    try:
        instant = datetime.strptime(put_date + put_time[:6], "%Y%m%d%H%M%S")
    except ValueError:
        return ""
    return f"{instant.isoformat()}.{put_time[6:8]:0<2}Z"


@lru_cache(maxsize=1024)
def put_second(put_date: str, put_time: str) -> datetime | None:
    """Rule 1, whole seconds; None if they are no valid date and time. Messages of one second share the answer."""
    time = put_time.rstrip(" ")
    given = put_date + time
    if len(put_date) != 8 or len(time) not in (6, 8) or not (given.isascii() and given.isdigit()):
        return None
    try:
        return datetime.strptime(given[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def dead_lettered(message: SnapshotRow) -> PutAt | None:
    """Rule 2, for a message of a snapshot (column → value); None if neither says it."""
    of_dlh = None
    has_dlh = message["dlh_encoding"] is not None
    if has_dlh:
        of_dlh = put_second(str(message["dlh_put_date"]), str(message["dlh_put_time"]))
    put = of_dlh or put_second(str(message["put_date"]), str(message["put_time"]))
    return PutAt(put, by_md=has_dlh and of_dlh is None) if put else None
