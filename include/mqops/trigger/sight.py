"""What a triggered queue looks like, by browsing its first message."""

from __future__ import annotations

from mqops.ledger.core.identity import identity_key
from mqops.mq.inquire import depth
from mqops.mq.session import Session
from mqops.trigger.core.unchanged import Sight
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

_OPEN = c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING
_FIRST = (
    c.MQGMO_NO_SYNCPOINT | c.MQGMO_BROWSE_FIRST | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_FAIL_IF_QUIESCING
)  # fmt: skip
_ROOM = 1024
"""Bytes of a message that are looked at: its descriptor tells most messages apart."""
_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time")
_backouts = MQMD_LAYOUT.reader("backout_count")


def sight(session: Session, queue: str) -> Sight:
    """The queue as it is now. Raises `MQError`: it may not be browsed or inquired."""
    handle = session.open(queue, _OPEN)
    try:
        first = session.get(handle, _FIRST, room=_ROOM, name=queue)
    finally:
        session.close(handle)
    if first is None:
        return Sight(first="", depth=0)
    (backouts,) = _backouts(first.md)
    key = identity_key(b"".join((*_identity(first.md), first.body)))
    return Sight(first=key, depth=depth(session, queue), backouts=backouts)
