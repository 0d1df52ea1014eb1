"""A sending channel: batches from the transmission queue to the partner, until it is stopped, idle or refused.

Knows two ports (its own queue manager and the partner's) and the record of batches; not processes, retries or files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mqlite.channels import sync
from mqlite.channels.delivery import Rules, Undeliverable, deliver, dispose_of_undeliverable, unwrap
from mqlite.channels.port import ChannelMessage, Port
from mqlite.channels.sync import IN_DOUBT, RECEIVE, SEND, Journal, Record
from mqlite.messages.conversion import NotConverted, Own, converted
from mqlite.messages.transmitted import Transmitted
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import before_nul

POLL_SECONDS = 0.25  # how often an idle channel looks whether it is to stop


class SequenceError(Exception):
    """The two ends disagree on the number of the last message: RESET CHANNEL has to say which is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What both ends agreed on.

    batch_size: messages. batch_limit: bytes (0: none). batch_interval: seconds. longest: bytes of one message.
    """

    name: str
    transmission_queue: str
    batch_size: int = 50
    batch_limit: int = 5_000_000
    batch_interval: float = 0.0
    longest: int = 4_194_304
    wrap: int = 999_999_999
    idle_seconds: float = 6000.0
    convert: bool = False
    sending: Rules = field(default_factory=Rules)
    receiving: Rules = field(default_factory=Rules)


@dataclass(slots=True)
class Figures:
    """What the channel has done since it was started."""

    messages: int = 0
    batches: int = 0
    sent_bytes: int = 0
    number: int = 0
    batch: str = ""
    last_message: datetime | None = None
    current: int = 0


@dataclass(slots=True, kw_only=True)
class Channel:
    """One running sender. `stopping()` says True when it is to end; `pause(seconds)` waits and says False likewise."""

    agreed: Agreed
    sender: Port
    receiver: Port
    now: Callable[[], datetime]
    stopping: Callable[[], bool]
    pause: Callable[[float], bool]
    report: Callable[[Figures], None]
    figures: Figures = field(default_factory=Figures)

    def run(self) -> None:
        """Move messages, after `begin`, until the channel is to stop or has been idle for DISCINT.

        Raises Undeliverable (the channel stops), SequenceError, Refused (an end is gone: try again later).
        """
        while not self.stopping():
            moved = self.batch(wait=self.agreed.idle_seconds)
            self.report(self.figures)
            if moved == 0:
                return

    def begin(self) -> None:
        """Settle a batch in doubt and agree on the sequence number."""
        ours, theirs = self._ours(), self._theirs()
        their_record = theirs.read(RECEIVE)
        sync.resolve(self.sender, ours, their_record, self.agreed.transmission_queue)
        our_record = ours.read(SEND)
        if our_record is not None and their_record is not None and our_record.number != their_record.number:
            raise SequenceError(f"{self.agreed.name}: sent {our_record.number}, received {their_record.number}")
        self.figures.number = sync.numbers((our_record, their_record))

    def batch(self, *, wait: float) -> int:
        """Move one batch, waiting at most `wait` seconds for its first message. Returns how many left the queue."""
        first = self._first(wait)
        if first is None:
            return 0
        messages = self._collect(first)
        try:
            self._transfer(messages)
        except Undeliverable as stuck:
            self._back_out()
            self._up_to(stuck, messages)
            raise
        except BaseException:
            self._back_out()
            raise
        return len(messages)

    def _up_to(self, stuck: Undeliverable, messages: Sequence[ChannelMessage]) -> None:
        """Move what stands before the message that cannot be delivered; that one stays at the head of the queue."""
        place = next((i for i, got in enumerate(messages) if got.token == stuck.token), 0)
        again = []
        for got in messages[:place]:
            held = self.sender.get(self.agreed.transmission_queue, token=got.token)
            if held is not None:
                again.append(held)
        if not again:
            self._back_out()
            return
        try:
            self._transfer(again)
        except BaseException:
            self._back_out()
            raise

    def _transfer(self, messages: Sequence[ChannelMessage]) -> None:
        """Steps 2 to 4 of the batch (see `mqlite.channels.sync`)."""
        ours, theirs = self._ours(), self._theirs()
        number = self._number_after(len(messages))
        outgoing = [(got, self._outgoing(got)) for got in messages]
        sent = [(got, message) for got, message in outgoing if message is not None]
        doubt = Record(batch=sync.new_batch(), number=number, tokens=tuple(got.token.hex() for got, _ in sent))
        for got, message in sent:
            self._deliver(got, message)
        ours.write_through(IN_DOUBT, doubt)
        theirs.replace(RECEIVE, Record(batch=doubt.batch, number=number))
        self.receiver.commit()
        sync.note_delivered(ours, doubt)
        self.sender.commit()
        self._count(messages, doubt)

    def _deliver(self, got: ChannelMessage, message: Transmitted) -> None:
        try:
            deliver(self.receiver, message, self.agreed.receiving, now=self.now, pause=self.pause)
        except Undeliverable as stuck:
            stuck.token = got.token
            raise

    def _outgoing(self, got: ChannelMessage) -> Transmitted | None:
        """The message as it is sent; None if it was dead-lettered at this end (P02) or discarded."""
        reason = 0
        try:
            message = unwrap(got.md, got.body)
        except WireError:
            message = Transmitted(queue=self.agreed.transmission_queue, queue_manager="", md=got.md, body=got.body)
            reason = c.MQFB_XMIT_Q_MSG_ERROR
        if not reason and len(message.body) > self.agreed.longest:
            reason = c.MQRC_MSG_TOO_BIG_FOR_CHANNEL
        if not reason and self.agreed.convert:
            try:
                return converted(message, self.receiver.encoding, self.receiver.ccsid, self._own()).message
            except NotConverted as failed:
                reason = failed.reason
        if not reason:
            return message
        putter = before_nul(got.md.user_identifier)
        try:
            dispose_of_undeliverable(self.sender, message, reason, self.agreed.sending, now=self.now, putter=putter)
        except Undeliverable as stuck:
            stuck.token = got.token
            raise
        return None

    def _own(self) -> Own:
        """The sending end, which converts."""
        zos = self.sender.encoding == c.MQENC_S390
        return Own(encoding=self.sender.encoding, ccsid=self.sender.ccsid, zos=zos)

    def _first(self, wait: float) -> ChannelMessage | None:
        """The first message of a batch; looks now and then whether the channel is to stop."""
        waited = 0.0
        while not self.stopping():
            got = self.sender.get(self.agreed.transmission_queue, wait=min(POLL_SECONDS, wait))
            if got is not None or waited >= wait > 0:
                return got
            waited += POLL_SECONDS
            if wait == 0:
                return None
        return None

    def _collect(self, first: ChannelMessage) -> list[ChannelMessage]:
        """Further messages, up to the size and the limit of a batch: those that are there already, and those that come
        until it has been open for BATCHINT or the channel is to stop (IBM MQ, "Batch interval (BATCHINT)").
        """
        messages, size = [first], len(first.body)
        end = self.now() + timedelta(seconds=self.agreed.batch_interval)
        while len(messages) < self.agreed.batch_size and (
            not self.agreed.batch_limit or size < self.agreed.batch_limit
        ):
            left = (end - self.now()).total_seconds()
            got = self.sender.get(self.agreed.transmission_queue, wait=max(0.0, min(POLL_SECONDS, left)))
            if got is None:
                if left <= 0 or self.stopping():
                    break
                continue
            messages.append(got)
            size += len(got.body)
        return messages

    def _count(self, messages: Sequence[ChannelMessage], doubt: Record) -> None:
        self.figures.messages += len(messages)
        self.figures.batches += 1
        self.figures.sent_bytes += sum(len(got.body) for got in messages)
        self.figures.number = doubt.number
        self.figures.batch = doubt.batch
        self.figures.last_message = self.now()

    def _number_after(self, count: int) -> int:
        return (self.figures.number + count - 1) % self.agreed.wrap + 1

    def _back_out(self) -> None:
        self.receiver.back_out()
        self.sender.back_out()

    def _ours(self) -> Journal:
        return Journal(self.sender, self.agreed.name)

    def _theirs(self) -> Journal:
        return Journal(self.receiver, self.agreed.name, self.sender.queue_manager)
