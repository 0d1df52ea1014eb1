"""What becomes of the trigger messages of an initiation queue: a run, or the dead-letter queue.

1. A message is browsed, its run is started, and then it is got and the get is committed. If the process dies between,
   the message is still there, and its run id tells that the run is there (law 3). So it is handled at least once, and
   nothing is started twice.
2. What starts nothing is got and put on the dead-letter queue in one unit of work.
3. What cannot be dead-lettered stays, and so does a message whose run cannot be started now (`NotStarted`). Neither
   keeps another message from its run. An initiation queue that another program has for itself waits, and keeps no
   other queue.
4. Only the messages that are there at the beginning are handled: the monitor reports later ones.
5. A message that is too long for a trigger message goes to the dead-letter queue (MQFB_TM_ERROR). One that is even too
   long for the client's channel (MQRC_DATA_LENGTH_ERROR) cannot: whole it comes over no call. It stays, as in rule 3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from mqops.clock import utc
from mqops.errors import LOST_CONNECTION, MQError, MqopsError, PermanentMQError, SettingsError
from mqops.mq.inquire import depth
from mqops.mq.session import RawMessage, Session
from mqops.printable import printable
from mqops.trigger.core.trigger_message import LONGEST, Unusable
from mqops.trigger.dead_letter import put_dead_letter
from mqwire import constants as c
from mqwire.names import feedback_name

OPEN_OPTIONS = c.MQOO_BROWSE | c.MQOO_INPUT_SHARED | c.MQOO_SAVE_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
_ALWAYS = c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
"""Message properties come as the MQRFH2 they travel in, so that a dead letter is the whole message."""
BROWSE = _ALWAYS | c.MQGMO_NO_SYNCPOINT | c.MQGMO_BROWSE_NEXT
GET = _ALWAYS | c.MQGMO_SYNCPOINT | c.MQGMO_MSG_UNDER_CURSOR

_log = logging.getLogger(__name__)


class NotStarted(MqopsError):
    """A run could not be started now, and may be the next time. Its trigger message waits on its initiation queue."""


class EnoughQueued(NotStarted):
    """So many runs are queued for the queue that no more are started now. Nothing has failed: the message waits."""


def handle_messages(
    session: Session,
    queue: str,
    start: Callable[[RawMessage], Unusable | None],
) -> Iterator[MqopsError]:
    """Handle the trigger messages of an initiation queue, in its order. Yields why messages have to stay there.

    Parameters: `start` starts the run of a message, or says why it starts none, or raises `NotStarted`; of a message
    that is too long for the channel it gets the first LONGEST + 1 bytes.

    Raises:
        MQError: the queue cannot be read, or the connection is lost. What was handled is.
    """
    try:
        handle = session.open(queue, OPEN_OPTIONS)
    except MQError as error:
        if error.reason != c.MQRC_OBJECT_IN_USE:
            raise
        _log.error("the trigger messages of %s wait: %s", printable(queue), printable(error))
        yield error
        return
    told: set[str] = set()
    try:
        for _ in range(depth(session, queue)):
            seen = _browse(session, handle, queue)
            if seen is None:
                return
            try:
                unusable = start(seen)
                if (got := _get(session, handle, queue)) is None:
                    continue  # another program has it
                if unusable is not None:
                    _log_dead_letter(queue, put_dead_letter(session, handle, queue, got, unusable, at=utc()), unusable)
                session.commit()
            except (PermanentMQError, SettingsError, NotStarted) as error:
                if isinstance(error, PermanentMQError) and error.reason in LOST_CONNECTION:
                    raise
                session.backout()
                if str(error) not in told:
                    told.add(str(error))
                    _log.error("a trigger message of %s waits: %s", printable(queue), printable(error))
                yield error
    finally:
        session.close(handle)


def _browse(session: Session, handle: int, queue: str) -> RawMessage | None:
    """The next message, or the beginning of one that is too long for the channel."""
    try:
        return session.get(handle, BROWSE, name=queue)
    except PermanentMQError as error:
        if error.reason != c.MQRC_DATA_LENGTH_ERROR:
            raise
        return session.get(handle, BROWSE | c.MQGMO_ACCEPT_TRUNCATED_MSG, room=LONGEST + 1, name=queue)


def _get(session: Session, handle: int, queue: str) -> RawMessage | None:
    """The message that was browsed last, under syncpoint."""
    try:
        return session.get(handle, GET, name=queue)
    except PermanentMQError as error:
        if error.reason != c.MQRC_NO_MSG_UNDER_CURSOR:
            raise
        return None


def _log_dead_letter(queue: str, target: str, unusable: Unusable) -> None:
    """Log that a trigger message of `queue` goes to `target`, or that it is dropped (`mqops.trigger.dead_letter`)."""
    where = f"goes to {target}" if target else "is dropped, because it is for the dead-letter queue itself"
    why = f"{feedback_name(unusable.reason)}: {unusable.why}"
    _log.error("trigger message of %s %s: %s", printable(queue), printable(where), printable(why))
