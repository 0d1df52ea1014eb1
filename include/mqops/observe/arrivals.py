"""A wait for messages that were not on a queue before, browsing: nothing is taken, and no body is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from mqops.mq.inquire import depth
from mqops.mq.session import Session
from mqops.observe.core.decode import md_text
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT


class Sight(NamedTuple):
    """The fields that identify a message without its body."""

    msg_id: bytes
    correl_id: bytes
    put_date: str
    put_time: str


_LOOK = (
    c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_PROPERTIES_FORCE_MQRFH2
)
_identity = MQMD_LAYOUT.reader("msg_id", "correl_id", "put_date", "put_time")


class ArrivalWatch:
    """A look at the whole queue, and a wait behind its last message.

    Parameters: `known` messages that may be there and are not new.
    """

    def __init__(self, session: Session, handle: int, queue: str, known: Counter[Sight]) -> None:
        self._session = session
        self._handle = handle
        self._queue = queue
        self._known = Counter(known)
        self._depth = self._deep()
        self.seen: set[Sight] = set()

    def sees_new(self, ended: Callable[[], bool]) -> bool:
        """Browse from the first message to the last one, or to a new one."""
        options = _LOOK | c.MQGMO_BROWSE_FIRST
        while not ended():
            sight = self._next(options, 0)
            if sight is None:
                return False
            if self._is_new(sight):
                return True
            options = _LOOK | c.MQGMO_BROWSE_NEXT
        return False

    def gets_new(self, seconds: float) -> bool:
        """Wait for a message behind the last one."""
        sight = self._next(_LOOK | c.MQGMO_BROWSE_NEXT, max(1, int(seconds * 1000)))
        return sight is not None and self._is_new(sight)

    def is_deeper(self) -> bool:
        """Whether more messages are there than when it began: one may have come before others that are there."""
        return self._depth >= 0 and self._deep() > self._depth

    def _deep(self) -> int:
        """Current depth; an alias has none of its own (`depth`)."""
        own = int(self._session.inquire(self._handle, c.MQIA_CURRENT_Q_DEPTH))
        return own if own >= 0 else depth(self._session, self._queue)

    def _next(self, options: int, wait_ms: int) -> Sight | None:
        got = self._session.get(self._handle, options, wait_ms=wait_ms, room=0, name=self._queue)
        if got is None:
            return None
        msg_id, correl_id, put_date, put_time = _identity(got.md)
        return Sight(msg_id, correl_id, md_text(put_date), md_text(put_time))

    def _is_new(self, sight: Sight) -> bool:
        self.seen.add(sight)
        self._known[sight] -= 1
        return self._known[sight] < 0
