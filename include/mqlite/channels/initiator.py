"""The channel initiator: it reads SYSTEM.CHANNEL.INITQ and wants the channels started that its messages call for.

1. The channel is named by TriggerData, or by UserData of the process (IBM MQ, "Triggering channels"). Where neither
   does, it is the first sending channel whose XMITQ is the queue that was triggered.
2. A channel that was stopped is not started: only START CHANNEL does that. (IBM MQ switches the triggering of its
   transmission queue off meanwhile.)
3. What names no sending channel, or is no trigger message, goes to the dead-letter queue, as trigger monitors do it;
   with no DEADQ it is discarded. Either way errors.log says so.

It has the queue open for input as long as the service runs, which completes the trigger events of transmission queues
(T08) and, when it opens it, those of messages that came before (T13c).
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from datetime import UTC, datetime

from mqlite.attributes import Kind, channel_type
from mqlite.channels.delivery import Rules, Undeliverable, dispose_of_undeliverable
from mqlite.channels.engine_port import EnginePort
from mqlite.channels.port import ChannelMessage, Refused
from mqlite.failure import Failure
from mqlite.messages.transmitted import Transmitted
from mqlite.objects.definitions import Objects
from mqlite.objects.manager import Manager
from mqlite.storage.channel_status import StatusFile
from mqlite.storage.store import Store
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.structures import MQTM

QUEUE = "SYSTEM.CHANNEL.INITQ"
SENDING = (c.MQCHT_SENDER, c.MQCHT_SERVER)
LOOK_SECONDS = 0.1  # between two checks for writes to the store
AGAIN_SECONDS = 1.0  # until a queue that could not be read is opened again
log = logging.getLogger("mqlite.channel")


class Initiator:
    """A thread of the service. It ends when `stop` is set."""

    def __init__(self, manager: Manager, stop: threading.Event) -> None:
        self._manager = manager
        self._stop = stop
        self._logged_reason = 0
        self._thread = threading.Thread(target=self._run, name="channel initiator", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._serve()
            except (Refused, Failure, sqlite3.Error) as gone:
                reason = gone.reason if isinstance(gone, Refused | Failure) else c.MQRC_UNEXPECTED_ERROR
                if reason != self._logged_reason:
                    log.warning("AMQ9999W: channel initiator: %s cannot be read, reason %d", QUEUE, reason)
                self._logged_reason = reason
                self._stop.wait(AGAIN_SECONDS)

    def _serve(self) -> None:
        port = EnginePort(self._manager, "")
        try:
            seen = -1
            while not self._stop.is_set():
                now = port.changes
                if now != seen:
                    self._drain(port)
                    seen = now
                self._stop.wait(LOOK_SECONDS)
        finally:
            port.close()

    def _drain(self, port: EnginePort) -> None:
        while not self._stop.is_set() and (got := port.get(QUEUE)) is not None:
            self._logged_reason = 0
            try:
                trigger_message = MQTM.unpack(got.body, encoding=got.md.encoding, ccsid=got.md.coded_char_set_id)
                name, kind = self._channel(trigger_message)
            except WireError:
                name = kind = ""
            if name:
                self._want(name, kind)
            else:
                self._dispose(port, got)
            port.commit()

    def _channel(self, trigger_message: MQTM) -> tuple[str, str]:
        """Name and type of the sending channel that is to be started, blank for none (rule 1)."""
        store = Store(self._manager.folder)
        try:
            channels = Objects(store, self._manager.platform).find((Kind.CHANNEL,))
            sending = {name: values for _, name, values in channels if values["CHLTYPE"] in SENDING}
        finally:
            store.close()
        serving = (name for name in sorted(sending) if sending[name]["XMITQ"] == trigger_message.q_name)
        name = trigger_message.trigger_data or trigger_message.user_data or next(serving, "")
        return (name, channel_type(sending[name]["CHLTYPE"])) if name in sending else ("", "")

    def _want(self, name: str, kind: str) -> None:
        status = StatusFile(self._manager.folder)
        try:
            stopped = not status.trigger(name, kind)
        finally:
            status.close()
        log.info("AMQ9999I: channel %s was triggered%s", name, " and stays stopped" if stopped else "")

    def _dispose(self, port: EnginePort, got: ChannelMessage) -> None:
        log.error("AMQ9999E: a message on %s names no sending channel", QUEUE)
        message = Transmitted(queue=QUEUE, queue_manager=self._manager.name, md=got.md, body=got.body)
        try:
            dispose_of_undeliverable(
                port, message, c.MQFB_APPL_CANNOT_BE_STARTED, Rules(), now=lambda: datetime.now(UTC)
            )
        except Undeliverable:
            log.error("AMQ9999E: it is discarded: the dead-letter queue does not take it")
