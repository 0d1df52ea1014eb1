"""When a message was put, by PutDate and PutTime of its MQMD or MQDLH."""

from __future__ import annotations

from datetime import datetime


def put_instant(put_date: str, put_time: str) -> str:
    """PutDate (YYYYMMDD) and PutTime (HHMMSSTH, UTC) as ISO 8601; "" if they are not a valid date and time."""
    try:
        instant = datetime.strptime(put_date + put_time[:6], "%Y%m%d%H%M%S")
    except ValueError:
        return ""
    return f"{instant.isoformat()}.{put_time[6:8]:0<2}Z"
