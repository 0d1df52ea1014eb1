"""The trigger monitor: it gets trigger messages, and commits when the caller says that they are safe elsewhere.

1. One connection and one thread serve all initiation queues of a queue manager.
2. Each queue stays open for input as long as the connection lives (T08), for a second monitor too (MQOO_INPUT_SHARED).
3. A batch is one unit of work. What starts nothing goes to the dead-letter queue in the same unit of work.
4. The caller ends the unit of work: `commit` if what the batch says is stored, else `back_out`. If the process dies,
   the queue manager backs out. So a trigger message is delivered at least once, and its run id tells it (law 3).
5. Every call fails if the queue manager quiesces. The caller then calls `close`, so that the queue manager can end.
6. If a message can neither start a run nor be dead-lettered, the error is raised and nothing is got. The message stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import sleep

from mqops.clock import utc
from mqops.errors import LOST_CONNECTION, MQError, PermanentMQError
from mqops.mq.connection import MqConnection, open_session
from mqops.mq.inquire import queue_manager_attribute
from mqops.mq.session import RawMessage, Session
from mqops.printable import printable
from mqops.trigger.core.trigger_message import Start, Unusable, to_start
from mqops.trigger.dead_letter import put_in_unit
from mqwire import constants as c
from mqwire.names import feedback_name

OPEN_OPTIONS = c.MQOO_INPUT_SHARED | c.MQOO_SAVE_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
GET_OPTIONS = c.MQGMO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
"""Message properties come as the MQRFH2 they travel in, so that a dead letter is the whole message."""
MOST_MESSAGES = 100
"""Trigger messages of a unit of work."""
WAIT_MS = 500
"""Milliseconds that one look at the queues takes at least: `close` waits so long."""
WAIT_EACH_MS = 10
"""Milliseconds for each queue, if that is more: idle queues cost the same whether there are 50 or 500."""
LOOKS_BETWEEN_OPENS = 60
"""After so many looks a queue that could not be opened is opened again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggered:
    """A trigger message as it was got from an initiation queue, and what it starts."""

    queue: str
    message: RawMessage
    verdict: Start | Unusable


class TriggerMonitor:
    """A trigger monitor on one queue manager.

    Parameters: `connection` how it is reached; `queues` the initiation queues; `allowed` the ids of the DAGs that
    trigger messages may start; `now` the clock.
    """

    def __init__(
        self,
        connection: MqConnection,
        queues: Sequence[str],
        allowed: Collection[str],
        *,
        now: Callable[[], datetime] = utc,
    ) -> None:
        self._connection = connection
        self._queues = tuple(queues)
        self._allowed = frozenset(allowed)
        self._now = now
        self._session: Session | None = None
        self._ccsid = 0
        self._handles: dict[str, int] = {}
        self._problems: dict[str, str] = {}
        self._looks = 0

    def open(self) -> None:
        """Connect and open the queues; does nothing if that is done.

        Raises:
            MQError: the queue manager cannot be reached, or it ends.
            SettingsError: there is no MQ library.
        """
        if self._session is None:
            self._session = open_session(self._connection)
            self._ccsid = int(queue_manager_attribute(self._session, c.MQIA_CODED_CHAR_SET_ID))
        self._open_queues(self._session)

    def next_batch(self) -> tuple[Triggered, ...]:
        """The trigger messages that are there; after a wait none, too. Their unit of work is open.

        Raises:
            MQError: nothing was got; call `close`, and `open` after a while.
            SettingsError: a message has to be dead-lettered, and the queue manager names no dead-letter queue.
        """
        self.open()
        session = self._session
        assert session is not None
        self._looks += 1
        if found := self._get_all(session, self._handles):
            return tuple(found)
        return tuple(self._wait(session))

    def commit(self) -> None:
        """End the unit of work; the messages are gone. Raises `MQError`; `OutcomeUnknown`: they may come again."""
        if self._session is not None:
            self._session.commit()

    def back_out(self) -> None:
        """End the unit of work; the messages come again. Raises `MQError`."""
        if self._session is not None:
            self._session.backout()

    @property
    def ccsid(self) -> int:
        """The queue manager's, which CCSID 0 stands for; 0 until it is connected."""
        return self._ccsid

    def close(self) -> None:
        """Back out and disconnect."""
        session, self._session = self._session, None
        self._handles.clear()
        if session is not None:
            session.disconnect()

    def _open_queues(self, session: Session) -> None:
        missing = [queue for queue in self._queues if queue not in self._handles]
        if not missing or (self._handles and self._looks % LOOKS_BETWEEN_OPENS):
            return
        refused: MQError | None = None
        for queue in missing:
            try:
                self._handles[queue] = session.open(queue, OPEN_OPTIONS)
                self._tell(queue, "")
            except MQError as error:
                if not isinstance(error, PermanentMQError) and error.reason != c.MQRC_OBJECT_IN_USE:
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

    def _get_all(self, session: Session, queues: Iterable[str]) -> list[Triggered]:
        found: list[Triggered] = []
        for queue in tuple(queues):
            while len(found) < MOST_MESSAGES and (got := self._get(session, queue)):
                found.append(self._judged(session, queue, got))
        return found

    def _wait(self, session: Session) -> list[Triggered]:
        """Wait at one queue, each time at the next."""
        served = tuple(self._handles)
        queue = served[self._looks % len(served)]
        wait_ms = max(WAIT_MS, WAIT_EACH_MS * len(served))
        got = self._get(session, queue, wait_ms=wait_ms)
        if got is None and self._problems.get(queue):
            sleep(wait_ms / 1000)  # gets are inhibited: MQGET did not wait
        return [self._judged(session, queue, got)] if got else []

    def _get(self, session: Session, queue: str, *, wait_ms: int = 0) -> RawMessage | None:
        try:
            got = session.get(self._handles[queue], GET_OPTIONS, wait_ms=wait_ms, name=queue)
        except PermanentMQError as error:
            if error.reason in LOST_CONNECTION:
                raise
            self._tell(queue, str(error))
            if error.reason != c.MQRC_GET_INHIBITED:  # deleted, or defined anew: open it again
                session.close(self._handles.pop(queue))
                if not self._handles:
                    raise
            return None
        self._tell(queue, "")
        return got

    def _judged(self, session: Session, queue: str, got: RawMessage) -> Triggered:
        verdict = to_start(got.md, got.body, allowed=self._allowed, q_mgr_ccsid=self._ccsid)
        if isinstance(verdict, Unusable):
            at = self._now()
            target = put_in_unit(session, self._handles[queue], queue, got, verdict, at=at)
            log_dead_letter(queue, target, verdict)
        return Triggered(queue=queue, message=got, verdict=verdict)


def log_dead_letter(queue: str, target: str, verdict: Unusable) -> None:
    """Log that a trigger message of `queue` goes to `target`, or that it is dropped (`mqops.trigger.dead_letter`)."""
    where = f"goes to {target}" if target else "is dropped, because it is for the dead-letter queue itself"
    why = f"{feedback_name(verdict.reason)}: {verdict.why}"
    _log.error("trigger message of %s %s: %s", printable(queue), printable(where), printable(why))
