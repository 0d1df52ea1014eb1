"""The trigger monitor's eyes: it has the initiation queues open all the time, and tells where a trigger message is.

1. One connection and one thread serve all initiation queues of a queue manager.
2. Each queue is open for input as long as the connection lives (T08), for a second monitor and for
   `mqops.trigger.work` too (MQOO_INPUT_SHARED). A queue with NOSHARE would be open for this handle alone, so that no
   message could be got: it is not served.
3. It only browses. A trigger message stays on its queue until its run is there (`mqops.trigger.work`): a process that
   is told of it and dies loses nothing.
4. A message is reported once when it comes. As long as it stays there, it is reported again each minute.
5. Every call fails if the queue manager quiesces. The caller then calls `close`, so that the queue manager can end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from uuid import uuid4

from mqops.errors import MQError, PermanentMQError, SettingsError
from mqops.mq.connection import MqConnection, open_session
from mqops.mq.inquire import is_shareable
from mqops.mq.session import Session
from mqops.printable import printable
from mqops.trigger.core.definitions import share_mqsc
from mqwire import constants as c

OPEN_OPTIONS = c.MQOO_INPUT_SHARED | c.MQOO_BROWSE | c.MQOO_FAIL_IF_QUIESCING
_BROWSE = c.MQGMO_NO_SYNCPOINT | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_FAIL_IF_QUIESCING
BROWSE_FIRST, BROWSE_NEXT = _BROWSE | c.MQGMO_BROWSE_FIRST, _BROWSE | c.MQGMO_BROWSE_NEXT
MOST_MESSAGES = 1000
"""Messages of a queue that one look passes."""
WAIT_MS = 500
"""Milliseconds that one look at the queues takes at least: `close` waits so long."""
WAIT_EACH_MS = 10
"""Milliseconds for each queue, if that is more: idle queues cost the same whether there are 50 or 500."""
AGAIN = 60.0
"""Seconds after which a message that is still there is reported again, and MQOPEN is tried again for a queue."""

_log = logging.getLogger(__name__)


class TriggerMonitor:
    """A trigger monitor on one queue manager.

    Parameters: `connection` how it is reached; `queues` the initiation queues; `now` a clock, in seconds.

    Attributes: `connection_id` another one for each connection to the queue manager, "" without one.
    """

    def __init__(
        self, connection: MqConnection, queues: Sequence[str], *, now: Callable[[], float] = monotonic
    ) -> None:
        self.connection_id = ""
        self._connection = connection
        self._queues = tuple(queues)
        self._now = now
        self._session: Session | None = None
        self._handles: dict[str, int] = {}
        self._from_the_first: set[str] = set()
        self._problems: dict[str, str] = {}
        self._looks = 0
        self._again_at = 0.0

    def open(self) -> None:
        """Connect and open the queues; does nothing if that is done.

        Raises:
            MQError: the queue manager cannot be reached, or it ends.
            SettingsError: there is no MQ library, or no queue has SHARE.
        """
        again = self._now() >= self._again_at
        if self._session is None:
            self._session = open_session(self._connection)
            self.connection_id = uuid4().hex
        if again or not self._handles:
            self._open_queues(self._session)
            self._from_the_first = set(self._handles)
            self._again_at = self._now() + AGAIN

    def look(self) -> tuple[str, ...]:
        """The queues with a message that is to be reported; perhaps none after a wait.

        Raises:
            MQError: call `close`, and `look` again after a while.
            SettingsError: as `open`.
        """
        self.open()
        session = self._session
        assert session is not None
        self._looks += 1
        found = tuple(queue for queue in tuple(self._handles) if self._pass_messages(session, queue))
        return found or self._wait(session)

    def close(self) -> None:
        """Disconnect."""
        session, self._session = self._session, None
        self.connection_id = ""
        self._handles.clear()
        if session is not None:
            session.disconnect()

    def _open_queues(self, session: Session) -> None:
        refused: MQError | SettingsError | None = None
        for queue in self._queues:
            if queue in self._handles:
                continue
            try:
                if not is_shareable(session, queue):
                    raise SettingsError(f"{queue} has NOSHARE: {share_mqsc(queue)}")
                self._handles[queue] = session.open(queue, OPEN_OPTIONS)
                self._tell(queue, "")
            except (MQError, SettingsError) as error:
                if isinstance(error, MQError) and not (
                    isinstance(error, PermanentMQError) or error.reason == c.MQRC_OBJECT_IN_USE
                ):
                    raise
                refused = error
                self._tell(queue, str(error))
        if not self._handles and refused is not None:
            raise refused

    def _tell(self, queue: str, problem: str) -> None:
        """Log a problem of a queue once, and its end."""
        if self._problems.get(queue, "") == problem:
            return
        self._problems[queue] = problem
        whose = f"{queue} of {self._connection.queue_manager}"
        if problem:
            _log.error("initiation queue %s is not served: %s", printable(whose), printable(problem))
        else:
            _log.info("initiation queue %s is served again", printable(whose))

    def _pass_messages(self, session: Session, queue: str) -> bool:
        """Move the browse cursor behind the last message; whether it passed one."""
        passed = 0
        while passed < MOST_MESSAGES and self._browse(session, queue):
            passed += 1
        return passed > 0

    def _wait(self, session: Session) -> tuple[str, ...]:
        """Wait at one queue, each time at the next."""
        served = tuple(self._handles)
        queue = served[self._looks % len(served)]
        wait_ms = max(WAIT_MS, WAIT_EACH_MS * len(served))
        found = self._browse(session, queue, wait_ms=wait_ms)
        if not found and self._problems.get(queue):
            sleep(wait_ms / 1000)  # gets are inhibited: MQGET did not wait
        return (queue,) if found else ()

    def _browse(self, session: Session, queue: str, *, wait_ms: int = 0) -> bool:
        how = BROWSE_FIRST if queue in self._from_the_first else BROWSE_NEXT
        try:
            found = session.get(self._handles[queue], how, wait_ms=wait_ms, room=0, name=queue)
        except PermanentMQError as error:
            error.raise_if_lost()
            self._tell(queue, str(error))
            if error.reason != c.MQRC_GET_INHIBITED:  # deleted, or defined anew: open it again
                session.close(self._handles.pop(queue))
                if not self._handles:
                    raise
            return False
        self._tell(queue, "")
        if found is not None:
            self._from_the_first.discard(queue)
        return found is not None
