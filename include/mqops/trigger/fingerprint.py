"""What a triggered queue looks like, by browsing its first messages."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.ledger.core.identity import identity_key
from mqops.mq.inquire import depth
from mqops.mq.session import RawMessage, Session
from mqops.trigger.core.unchanged import Fingerprint
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

_OPEN = c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING
_NEXT = (
    c.MQGMO_NO_SYNCPOINT | c.MQGMO_BROWSE_NEXT | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_FAIL_IF_QUIESCING
)  # fmt: skip
_MOST = 100
"""Messages that are looked at: those that a program leaves on purpose, and behind them those that it processes."""
_ROOM = 1024
"""Bytes of a message that are looked at: its descriptor tells most messages apart."""
_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time")
_backouts = MQMD_LAYOUT.reader("backout_count")


def fingerprint_of(session: Session, queue: str) -> Fingerprint:
    """The queue as it is now. Raises `MQError`: it may not be browsed or inquired."""
    found = tuple(_first_messages(session, queue))
    if not found:
        return Fingerprint(messages="", depth=0)
    (backouts,) = _backouts(found[0].md)
    keys = [identity_key(b"".join((*_identity(one.md), one.body))) for one in found]
    return Fingerprint(messages=identity_key("".join(keys).encode()), depth=depth(session, queue), backouts=backouts)


def _first_messages(session: Session, queue: str) -> Iterator[RawMessage]:
    handle = session.open(queue, _OPEN)
    try:
        for _ in range(_MOST):
            got = session.get(handle, _NEXT, room=_ROOM, name=queue)
            if got is None:
                return
            yield got
    finally:
        session.close(handle)
