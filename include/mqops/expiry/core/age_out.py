"""Discarding by age (E15): messages that no expiry takes away, because their putters set none. Pure.

1. A message is as old as its PutDate and PutTime say, at the time of the snapshot; as old as the limit is too old.
2. One whose PutDate and PutTime are no date and time has no age, and stays.
3. Who asked for an expiration report (MQRO_EXPIRATION*) gets it in the unit of work that discards, as the queue
   manager would have sent it: Feedback is MQFB_EXPIRATION.
4. A report that cannot be sent goes to the DEADQ if it is persistent, else nowhere, as the queue manager's own do.
   Where the DEADQ does not take it either, the message stays: it is not discarded without its report.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from mqops.observe.core.put_time import put_instant


def too_old(put_date: str, put_time: str, *, now: datetime, limit: timedelta) -> bool:
    """Whether a message is to be discarded (rules 1 and 2).

    Parameters: `put_date` and `put_time` as in the MQMD; `now` with time zone; `limit` the age from which it is old.
    """
    put = put_instant(put_date, put_time)
    return bool(put) and now - datetime.fromisoformat(put) >= limit
