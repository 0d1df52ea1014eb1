"""A poison-aware consumer for applications on pymqi (P08, P09, P13, K07, K08).

    with PoisonAwareConsumer(queue_manager, "PAYMENTS.IN") as consumer:
        for handled in consumer.run(process, wait_ms=5000):
            ...

What it does with a message, by the steps of IBM's page "Skipping backout":

1. MQGET in a unit of work, UOW1, with MQGMO_MARK_SKIP_BACKOUT where the queue manager has it.
2. The application's function is called. What it does on the same connection under syncpoint is part of UOW1, and it
   must not end the unit of work itself.
3. It returns: MQCMIT. Message and work are done together.
4. It raises: MQBACK. Everything it did is undone. Below BOTHRESH (or with BOTHRESH(0)) the message is back on its queue
   with a BackoutCount one higher, to be delivered again.
5. At BOTHRESH the message is disposed of in a second unit of work, UOW2 (`mqops.backout.core.disposal` says how). A
   marked message is in UOW2 already. Without the mark it is got again, matched by its identity; if somebody else has it
   by then, it is theirs to deal with.
6. MQCMIT ends UOW2. Where nothing takes the message, MQBACK reinstates it and `PoisonStuck` is raised.

A message that already comes with its BackoutCount at BOTHRESH is not delivered but disposed of at once.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Self, TypeAlias

from mqops.act.core.scope import Scope, scope_of
from mqops.act.mover_port import key_of
from mqops.act.report_sender import refusal
from mqops.backout.core.disposal import LastResort, Limits, aged, dead_letter_header, dead_lettered, last_resort
from mqops.errors import LOST_CONNECTION, MQError, MqopsError, SettingsError, mq_error
from mqops.mq.inquire import base_queue, dead_letter_queue, queue_manager_name, queue_state
from mqops.mq.session import MATCH_BOTH, RawMessage, Session
from mqops.printable import printable
from mqops.report import Report, exception_report
from mqwire import constants as c
from mqwire.structures import MQMD

What: TypeAlias = Literal["done", "redelivered", "requeued", "elsewhere"] | LastResort

OPEN_OPTIONS = (
    c.MQOO_INPUT_AS_Q_DEF | c.MQOO_BROWSE | c.MQOO_INQUIRE | c.MQOO_SAVE_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
)
GET_OPTIONS = c.MQGMO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
BROWSE_OPTIONS = c.MQGMO_NO_SYNCPOINT | c.MQGMO_FAIL_IF_QUIESCING | c.MQGMO_PROPERTIES_FORCE_MQRFH2
PUT_OPTIONS = c.MQPMO_SYNCPOINT | c.MQPMO_FAIL_IF_QUIESCING
NOT_OFFERED = frozenset({c.MQRC_OPTIONS_ERROR, c.MQRC_OPTION_ENVIRONMENT_ERROR})
APPL_TYPE = c.MQAT_WINDOWS_NT if os.name == "nt" else c.MQAT_UNIX
log = logging.getLogger(__name__)


class PoisonStuck(MqopsError):
    """A poison message cannot be moved and stays on its queue. Repair its backout queue or the dead-letter queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message as the application gets it: its descriptor decoded, its data, MQRFH2 included."""

    md: MQMD
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What became of one message.

    Parameters: `what` "done"; "redelivered" (it failed and is on its queue again); "requeued" to `queue`, its BOQNAME;
    "dead-lettered" on `queue`, the DEADQ, with `reason` in the MQDLH; "discarded"; "elsewhere" (it failed for the last
    time and another consumer took it meanwhile). `backout_count` how often it had been backed out by then; `reason`
    MQRC_* why it did not go to its backout queue, 0 where it did; `error` what the application raised last.
    """

    what: What
    msg_id: bytes
    backout_count: int
    queue: str = ""
    reason: int = 0
    error: Exception | None = None


class PoisonAwareConsumer:
    """Consumes one queue on a connection of the application; it belongs to the thread of that connection.

    Parameters: `queue_manager` a connected `pymqi.QueueManager`; `queue` a local queue or an alias of one;
    `application` the name that goes into an MQDLH.

    Raises:
        MQError: the queue cannot be opened (2035, 2085 ...).
    """

    def __init__(self, queue_manager: Any, queue: str, *, application: str = "mqops consumer") -> None:
        self._session = Session(queue_manager, queue)
        self._name = queue
        self._application = application
        self._queue_manager = queue_manager_name(self._session)
        self._local = base_queue(self._session, queue)
        self._mark = c.MQGMO_MARK_SKIP_BACKOUT
        self._handle = self._session.open(queue, OPEN_OPTIONS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the queue; the connection stays the application's."""
        with suppress(MQError):
            self._session.close(self._handle)

    @property
    def marks(self) -> bool:
        """Whether MQGMO_MARK_SKIP_BACKOUT is in use: until the queue manager has refused it (K07)."""
        return bool(self._mark)

    def limits(self) -> Limits:
        """BOTHRESH and BOQNAME as they are now. Raises `MQError`."""
        state = queue_state(self._session, self._local)
        return Limits(queue=self._local, threshold=state.backout_threshold, backout_queue=state.backout_queue)

    def run(self, process: Callable[[Delivery], object], *, wait_ms: int = 0) -> Iterator[Handled]:
        """Consume until no message comes within `wait_ms` milliseconds; gives each outcome. Raises as `consume`."""
        while (handled := self.consume(process, wait_ms=wait_ms)) is not None:
            yield handled

    def consume(self, process: Callable[[Delivery], object], *, wait_ms: int = 0) -> Handled | None:
        """Deal with one message; None where none comes within `wait_ms` milliseconds.

        Parameters: `process` is called with the message; any exception means that it failed.

        Raises:
            PoisonStuck: the message is poisonous and nothing takes it. It is on its queue, as it was.
            MQError: the connection or the queue failed; the unit of work is backed out, or will be.
            OutcomeUnknown: the connection broke during a commit.
        """
        got = self._get(wait_ms)
        if got is None:
            return None
        try:
            return self._deal_with(got, process)
        except BaseException:
            self._back_out_all()
            raise

    def _deal_with(self, got: RawMessage, process: Callable[[Delivery], object]) -> Handled:
        since = time.monotonic()
        md = MQMD.unpack(got.md)
        if md.backout_count and (limits := self.limits()).reached(md.backout_count):
            return self._dispose(got, md.backout_count, limits, since, None)
        try:
            process(Delivery(md=md, body=got.body))
        except Exception as error:
            return self._failed(got, md, since, error)
        return self._done(got, md)

    def _get(self, wait_ms: int) -> RawMessage | None:
        while True:
            try:
                return self._session.get(self._handle, GET_OPTIONS | self._mark, wait_ms=wait_ms, name=self._name)
            except MQError as error:
                if not self._mark or error.reason not in NOT_OFFERED:
                    raise
                self._mark = 0
                log.info("MQGMO_MARK_SKIP_BACKOUT is not offered (%s)", printable(error.symbol))

    def _done(self, got: RawMessage, md: MQMD) -> Handled:
        try:
            self._session.commit()
        except MQError as error:
            if error.reason != c.MQRC_BACKED_OUT:
                raise
            # Not at the application's request: a marked message is back like any other (K06).
            return Handled(what="redelivered", msg_id=md.msg_id, backout_count=md.backout_count + 1, error=error)
        return Handled(what="done", msg_id=md.msg_id, backout_count=md.backout_count)

    def _failed(self, got: RawMessage, md: MQMD, since: float, error: Exception) -> Handled:
        if isinstance(error, MQError) and error.reason in LOST_CONNECTION:
            raise error
        self._session.backout()
        count = md.backout_count + 1
        log.warning("Message %s failed: %s; backout count %d", md.msg_id.hex(), type(error).__name__, count)
        limits = self.limits()
        if not limits.reached(count):
            if self._mark:
                self._session.backout()  # the marked message is in a unit of work of its own: reinstate it
            return Handled(what="redelivered", msg_id=md.msg_id, backout_count=count, error=error)
        if self._mark:
            return self._dispose(got, count, limits, since, error)
        again = self._get_again(got, count)
        if again is None:
            return Handled(what="elsewhere", msg_id=md.msg_id, backout_count=count, error=error)
        return self._dispose(again, count, limits, time.monotonic(), error)

    def _get_again(self, got: RawMessage, count: int) -> RawMessage | None:
        """The same message under a second unit of work, found by its identity; None if another program has it."""
        key = key_of(got.md, got.body)
        ids = MQMD.unpack(got.md)
        options = BROWSE_OPTIONS | c.MQGMO_BROWSE_FIRST
        while seen := self._session.get(
            self._handle, options, match=MATCH_BOTH, ids=ids.msg_id + ids.correl_id, name=self._name
        ):
            options = BROWSE_OPTIONS | c.MQGMO_BROWSE_NEXT
            if key_of(seen.md, seen.body) != key or MQMD.unpack(seen.md).backout_count < count:
                continue
            try:
                taken = self._session.get(self._handle, GET_OPTIONS | c.MQGMO_MSG_UNDER_CURSOR, name=self._name)
            except MQError as error:
                if error.reason != c.MQRC_NO_MSG_UNDER_CURSOR:
                    raise
                continue
            if taken is not None:
                return taken
        return None

    def _dispose(self, got: RawMessage, count: int, limits: Limits, since: float, error: Exception | None) -> Handled:
        """UOW2: the message leaves its queue for one other place, or is reinstated."""
        handled = self._place(got, count, limits, since, error)
        self._session.commit()
        log.warning("Message %s %s, reason %d", handled.msg_id.hex(), printable(handled.what), handled.reason)
        return handled

    def _place(self, got: RawMessage, count: int, limits: Limits, since: float, error: Exception | None) -> Handled:
        md, raw = MQMD.unpack(got.md), aged(got.md, int((time.monotonic() - since) * 10))
        reason = c.MQRC_BACKOUT_THRESHOLD_REACHED
        if limits.requeue_to:
            reason = self._put(limits.requeue_to, raw, got.body, c.MQPMO_PASS_ALL_CONTEXT)
            if not reason:
                return Handled(
                    what="requeued", msg_id=md.msg_id, backout_count=count, queue=limits.requeue_to, error=error
                )
        what, queue = last_resort(md.report), ""
        if what == "dead-lettered":
            queue = self._dead_letter(raw, got.body, md, reason)
        report = exception_report(md, got.body, reason=reason, queue_manager=self._queue_manager)
        if report is not None:
            self._send(report, md.user_identifier)
        return Handled(what=what, msg_id=md.msg_id, backout_count=count, queue=queue, reason=reason, error=error)

    def _dead_letter(self, raw: bytes, body: bytes, md: MQMD, reason: int, *, dest: str = "", dest_qm: str = "") -> str:
        """Put a message on the DEADQ; `dest` where it was to go, else this queue. Gives the DEADQ's name."""
        try:
            queue = dead_letter_queue(self._session)
        except SettingsError as error:
            raise PoisonStuck(self._stuck(md, reason, str(error))) from None
        if queue == self._local:
            raise PoisonStuck(self._stuck(md, reason, f"{queue} is the dead-letter queue itself"))
        header = dead_letter_header(
            md,
            reason=reason,
            queue=dest or self._local,
            queue_manager=dest_qm or self._queue_manager,
            application=self._application,
            appl_type=APPL_TYPE,
            at=datetime.now(UTC),
        )
        context = c.MQPMO_PASS_IDENTITY_CONTEXT if dest else c.MQPMO_PASS_ALL_CONTEXT
        failed = self._put(queue, *dead_lettered(raw, body, header), context)
        if failed:
            refused = mq_error(c.MQCC_FAILED, failed, verb="MQPUT", object_name=queue)
            raise PoisonStuck(self._stuck(md, reason, str(refused)))
        return queue

    def _stuck(self, md: MQMD, reason: int, why: str) -> str:
        cause = mq_error(c.MQCC_FAILED, reason, verb="requeue", object_name=self._local).symbol
        return f"Message {md.msg_id.hex()} stays on {self._local}: it cannot go to its backout queue ({cause}); {why}"

    def _send(self, report: Report, user: str) -> None:
        """Send a report where `user`, who put the message, may put (`mqops.act.report_sender`). One that cannot be sent
        goes to the DEADQ if it is persistent, else nowhere."""
        raw = report.md.pack()
        reason = self._of_queue(report.queue, refusal(self._session, report, user)) or self._put(
            report.queue, raw, report.body, c.MQPMO_PASS_IDENTITY_CONTEXT, queue_manager=report.queue_manager
        )
        if reason and report.md.persistence == c.MQPER_PERSISTENT:
            self._dead_letter(
                report.md.pack(), report.body, report.md, reason, dest=report.queue, dest_qm=report.queue_manager
            )

    def _put(self, queue: str, md: bytes, body: bytes, context: int, *, queue_manager: str = "") -> int:
        """Put in the unit of work, context passed; 0 or the reason code.

        Raises:
            MQError: the reason does not concern the queue (connection lost, disk full ...).
        """
        passes = (
            c.MQOO_PASS_ALL_CONTEXT if context == c.MQPMO_PASS_ALL_CONTEXT else c.MQOO_PASS_IDENTITY_CONTEXT
        ) | c.MQOO_FAIL_IF_QUIESCING
        try:
            handle = self._session.open(queue, c.MQOO_OUTPUT | passes, queue_manager=queue_manager)
        except MQError as error:
            reason = error.reason
        else:
            reason = self._session.put(handle, md, body, PUT_OPTIONS | context, context=self._handle)
            with suppress(MQError):
                self._session.close(handle)
        return self._of_queue(queue, reason)

    def _of_queue(self, queue: str, reason: int) -> int:
        """A reason code that concerns a queue, or 0. Raises `MQError` for any other."""
        if reason and scope_of(reason) in {Scope.EVERYTHING, Scope.TOO_MUCH}:
            raise mq_error(c.MQCC_FAILED, reason, verb="MQPUT", object_name=queue)
        return reason

    def _back_out_all(self) -> None:
        """Reinstate the message, marked or not; a connection that is lost backs out by itself."""
        with suppress(MQError):
            self._session.backout()
            if self._mark:
                self._session.backout()
