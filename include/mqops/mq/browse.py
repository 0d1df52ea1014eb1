"""Browsing a queue: every message whole, nothing locked, nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqops.errors import MQError
from mqops.mq.inquire import depth
from mqops.mq.session import RawMessage, Session, is_gone
from mqops.mqsc import MOST_DEPTH
from mqwire import constants as c

OPEN_OPTIONS = c.MQOO_BROWSE | c.MQOO_INQUIRE | c.MQOO_FAIL_IF_QUIESCING
GET_OPTIONS = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
"""Message properties come as the MQRFH2 they travel in, so that the body is the whole message."""
SLACK = 1000


def browse(
    session: Session,
    queue: str,
    *,
    limit: int = 0,
    msg_id: bytes = b"",
    correl_id: bytes = b"",
    behind: Callable[[Session, int, str], None] = lambda _session, _handle, _queue: None,
) -> Iterator[RawMessage]:
    """The messages of a queue in its order.

    An application that puts faster than this reads cannot keep it going for ever: it ends after twice as many messages
    as there were at the start, and a thousand. Of an alias it is the base queue that has a depth; where that may not be
    inquired, it ends with the largest MAXDEPTH.

    Parameters: `limit` most messages to give, 0 for all; `msg_id` and `correl_id` that the messages must have, empty
    for any; `behind` moves the browse cursor behind the messages that are not given.

    Raises:
        MQError: the queue cannot be opened or read.
    """
    match = (c.MQMO_MATCH_MSG_ID if msg_id else 0) | (c.MQMO_MATCH_CORREL_ID if correl_id else 0)
    ids = msg_id.ljust(c.MQ_MSG_ID_LENGTH, b"\0") + correl_id.ljust(c.MQ_CORREL_ID_LENGTH, b"\0")
    there = depth(session, queue)
    most = (2 * there if there >= 0 else MOST_DEPTH) + SLACK
    most = min(limit, most) if limit else most
    handle = session.open(queue, OPEN_OPTIONS)
    try:
        behind(session, handle, queue)
        options = GET_OPTIONS | c.MQGMO_BROWSE_NEXT
        for _ in range(most):
            got = session.get(handle, options, match=match, ids=ids, name=queue)
            if got is None:
                return
            yield got
    finally:
        session.close(handle)


def while_there(messages: Iterator[RawMessage], *, may_end: bool) -> Iterator[RawMessage]:
    """The messages of `browse`; those of a queue that has ended, end. Parameters: `may_end` else that is an error."""
    try:
        yield from messages
    except MQError as error:
        if not (may_end and is_gone(error)):
            raise
