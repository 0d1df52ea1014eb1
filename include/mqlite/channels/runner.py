"""One sending channel under the service: bind, run, retry, stop. The state machine of a sender, in a thread of its own.

state       event                                         next
BINDING     both ends are there                           RUNNING
BINDING     the partner is not there                      RETRYING
RUNNING     idle for DISCINT                              INACTIVE
RUNNING     STOP CHANNEL, end of the service              STOPPED, INACTIVE
RUNNING     a message can go nowhere (P03)                STOPPED
RUNNING     an end is gone                                RETRYING
RETRYING    SHORTTMR or LONGTMR has passed                BINDING
RETRYING    SHORTRTY and LONGRTY are used up              STOPPED
any         the two ends' sequence numbers differ         STOPPED
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from mqlite.attributes import Value, channel_type
from mqlite.channels.delivery import Rules, Undeliverable
from mqlite.channels.mover import Agreed, Channel, Figures, SequenceError
from mqlite.channels.partner import Ends, PartnerMissing
from mqlite.channels.port import Refused
from mqlite.storage import error_log
from mqlite.storage.channel_status import StatusFile
from mqwire import constants as c

log = logging.getLogger("mqlite.channel")


def agree(name: str, sender: dict[str, Value], receiver: dict[str, Value]) -> Agreed:
    """What two channel definitions come to: the smaller batch, the shorter message, fast only if both are."""

    def number(values: dict[str, Value], keyword: str) -> int:
        value = values[keyword]
        assert isinstance(value, int)
        return value

    fast = number(sender, "NPMSPEED") == number(receiver, "NPMSPEED") == c.MQNPMS_FAST
    return Agreed(
        name=name,
        transmission_queue=str(sender["XMITQ"]),
        batch_size=min(number(sender, "BATCHSZ"), number(receiver, "BATCHSZ")),
        batch_limit=number(sender, "BATCHLIM") * 1000,
        batch_interval=number(sender, "BATCHINT") / 1000,
        longest=min(number(sender, "MAXMSGL"), number(receiver, "MAXMSGL")) or 104_857_600,
        wrap=number(sender, "SEQWRAP"),
        idle_seconds=float(number(sender, "DISCINT")) or float("inf"),
        convert=bool(number(sender, "CONVERT")),
        sending=Rules(use_dead_letter_queue=number(sender, "USEDLQ") == c.MQUSEDLQ_YES, fast=fast),
        receiving=Rules(
            use_dead_letter_queue=number(receiver, "USEDLQ") == c.MQUSEDLQ_YES,
            fast=fast,
            retry_count=number(receiver, "MRRTY"),
            retry_interval=number(receiver, "MRTMR"),
            user=str(receiver["MCAUSER"]),
            by_context=number(receiver, "PUTAUT") == c.MQPA_CONTEXT,
        ),
    )


class ReceiverLog:
    """The error log at the receiving end. Its lines name the channel, as those of an MCA do."""

    def __init__(self, folder: Path, channel: str) -> None:
        self._folder = folder
        self._channel = channel

    def write(self, message: str, *values: object) -> None:
        """Add a line; the channel is its first value. A log that cannot be written does not stop the channel."""
        try:
            error_log.append(self._folder, message, self._channel, *values)
        except OSError as failed:
            log.warning("AMQ9999W: channel %s: errors.log of the partner not written: %s", self._channel, failed)


class Runner:
    """A thread that keeps one channel going until it is stopped. `connect` opens the two ends, in the thread."""

    def __init__(self, name: str, values: dict[str, Value], folder: Path, connect: Callable[[], Ends]) -> None:
        self.name = name
        self._values = values
        self._type = channel_type(values["CHLTYPE"])
        self._status = StatusFile(folder)
        self._connect = connect
        self._stop = threading.Event()
        self._to_stopped = False
        self._ending = threading.Lock()  # who sees the channel's last state finds it ended
        self._started = datetime.now(UTC)
        self._figures = Figures()
        self.ended_in: int | None = None
        self._thread = threading.Thread(target=self._run, name=f"channel {name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._set(c.MQCHS_STARTING)
        self._thread.start()

    def stop(self, *, stopped: bool) -> bool:
        """Ask the channel to end after the batch under way; `stopped`: it is to be STOPPED then, else INACTIVE.

        Returns False where it has ended already.
        """
        with self._ending:
            self._to_stopped = stopped
            self._stop.set()
            return self.ended_in is None

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    @property
    def alive(self) -> bool:
        """True until the channel has ended: a command that was given behind that is not for this runner."""
        with self._ending:
            return self.ended_in is None

    @property
    def ended_as_asked(self) -> bool:
        """True where it was idle, or STOP CHANNEL asked for the end."""
        return self.ended_in == c.MQCHS_INACTIVE or self._to_stopped

    def _run(self) -> None:
        final = c.MQCHS_STOPPED
        try:
            final = self._keep_going()
        except Undeliverable as stuck:
            log.error("AMQ9544E: %s: message for %s not put, reason %d; stopped", self.name, stuck.queue, stuck.reason)
        except SequenceError as differ:
            log.error("AMQ9526E: message sequence number error: %s", differ)
        except Exception:
            log.exception("AMQ9999E: channel %s ended abnormally", self.name)
        with self._ending:
            if final == c.MQCHS_INACTIVE and self._to_stopped:  # STOP CHANNEL came when it had become idle
                final = c.MQCHS_STOPPED
            try:
                self._set(final)
            finally:
                self.ended_in = final
        self._status.close()
        log.info("AMQ9001I: channel %s ended", self.name)

    def _keep_going(self) -> int:
        """Run, and retry while an end is missing. Returns the state it ends in."""
        short, long = self._number("SHORTRTY"), self._number("LONGRTY")
        while True:
            moved = self._figures.messages
            try:
                self._once()
                return c.MQCHS_STOPPED if self._to_stopped else c.MQCHS_INACTIVE
            except (PartnerMissing, Refused, sqlite3.Error) as gone:
                log.warning("AMQ9999W: channel %s: %s", self.name, gone)
            if self._figures.messages > moved:
                short, long = self._number("SHORTRTY"), self._number("LONGRTY")
            if short:
                short, wait = short - 1, self._number("SHORTTMR")
            elif long:
                long, wait = long - 1, self._number("LONGTMR")
            else:
                return c.MQCHS_STOPPED
            self._set(c.MQCHS_RETRYING, SHORTRTS=short, LONGRTS=long)
            if self._stop.wait(wait):
                return c.MQCHS_STOPPED if self._to_stopped else c.MQCHS_INACTIVE

    def _once(self) -> None:
        self._set(c.MQCHS_BINDING)
        ends = self._connect()
        receiver_log = ReceiverLog(ends.receiver_folder, self.name)
        try:
            channel = Channel(
                agreed=agree(self.name, self._values, ends.receiver_values),
                sender=ends.sender,
                receiver=ends.receiver,
                now=lambda: datetime.now(UTC),
                stopping=lambda: self._stopping(ends),
                pause=lambda seconds: not self._stop.wait(seconds),
                report=lambda figures: self._report(ends, figures),
                figures=self._figures,
            )
            channel.begin()
            self._report(ends, self._figures)
            log.info("AMQ9002I: channel %s is running to %s", self.name, ends.receiver.queue_manager)
            receiver_log.write("AMQ9002I: channel %s is running from %s", ends.sender.queue_manager)
            channel.run()
        except Undeliverable as stuck:
            if stuck.token:  # the receiving end could not put it
                receiver_log.write("AMQ9544E: channel %s: message for %s not put, reason %d", stuck.queue, stuck.reason)
            raise
        except SequenceError as differ:
            receiver_log.write("AMQ9526E: channel %s: message sequence number error: %s", differ)
            raise
        finally:
            ends.close()
            receiver_log.write("AMQ9001I: channel %s ended")

    def _stopping(self, ends: Ends) -> bool:
        """Raises PartnerMissing when the other end has gone or was stopped."""
        ends.check()
        return self._stop.is_set()

    def _report(self, ends: Ends, figures: Figures) -> None:
        shown = self._shown(figures) | {"RQMNAME": ends.receiver.queue_manager}
        self._status.set_state(self.name, self._type, c.MQCHS_RUNNING, shown)
        theirs = self._shown(figures) | {"RQMNAME": ends.sender.queue_manager, "BYTSRCVD": shown["BYTSSENT"]}
        for keyword in ("XMITQ", "CONNAME", "BYTSSENT"):
            theirs.pop(keyword, None)
        ends.receiver_status.set_state(self.name, "RCVR", c.MQCHS_RUNNING, theirs)

    def _set(self, state: int, **more: Value) -> None:
        self._status.set_state(self.name, self._type, state, self._shown(self._figures) | more)

    def _shown(self, figures: Figures) -> dict[str, Value]:
        last = figures.last_message
        return {
            "BATCHES": figures.batches,
            "BATCHSZ": self._number("BATCHSZ"),
            "BYTSSENT": figures.sent_bytes,
            "CHSTADA": f"{self._started:%Y-%m-%d}",
            "CHSTATI": f"{self._started:%H.%M.%S}",
            "CONNAME": str(self._values["CONNAME"]),
            "CURLUWID": "",
            "CURMSGS": 0,
            "CURSEQNO": figures.number,
            "INDOUBT": 0,
            "LSTLUWID": figures.batch,
            "LSTMSGDA": f"{last:%Y-%m-%d}" if last else "",
            "LSTMSGTI": f"{last:%H.%M.%S}" if last else "",
            "LSTSEQNO": figures.number,
            "MSGS": figures.messages,
            "NPMSPEED": self._number("NPMSPEED"),
            "XMITQ": str(self._values["XMITQ"]),
        }

    def _number(self, keyword: str) -> int:
        value = self._values[keyword]
        assert isinstance(value, int)
        return value
