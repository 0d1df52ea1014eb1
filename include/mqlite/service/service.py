"""The service of a queue manager (`mqlite start`): it runs channels and timers, and holds `service.lock` for life.

It learns what is wanted of channels from `channels.db`, so that START CHANNEL is the same from MQSC, from PCF and from
any process. A sender that ran when the service ended is started again with it.
"""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading

from mqlite.channels.binding import bind, channel_values
from mqlite.channels.initiator import Initiator
from mqlite.channels.partner import PartnerMissing
from mqlite.channels.runner import Runner
from mqlite.expiry.scan import ExpiryScanner
from mqlite.objects import manager as managers
from mqlite.objects.manager import Manager
from mqlite.pcf import hook as pcf_server
from mqlite.storage import error_log, service_lock
from mqlite.storage.channel_status import ChannelStatus, StatusFile
from mqlite.storage.service_lock import AlreadyRunning, ServiceLock
from mqlite.storage.store import Store
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c

LOOK_SECONDS = 0.1
STARTED, ALREADY, SERVICE_FAILED = "started", "is running already", "failed"
log = logging.getLogger("mqlite.service")


class Service:
    """Channels of one queue manager, as many threads as channels run, what starts them, the scan for expired messages.

    It ends when `stop` is set.
    """

    def __init__(self, manager: Manager, stop: threading.Event) -> None:
        self._manager = manager
        self._status = StatusFile(manager.folder)
        self._runners: dict[str, Runner] = {}
        self._seen: dict[str, int] = {}
        self._again: set[str] = set()
        self._stop = stop

    def run(self) -> None:
        """Until stopped, or the queue manager is gone: scan, start and stop channels as commands want."""
        scanner = ExpiryScanner(self._manager, self._stop)
        scanner.start()
        initiator = Initiator(self._manager, self._stop)
        initiator.start()
        changes = -1
        while not self._stop.is_set() and self._manager.folder.exists():
            now = self._status.changes()
            if now != changes:
                changes = now
                self._look()
            self._start_again()
            self._stop.wait(LOOK_SECONDS)
        self._stop.set()
        for runner in self._runners.values():
            runner.stop(stopped=False)
        for runner in self._runners.values():
            runner.join()
        scanner.join()
        initiator.join()
        self._status.close()

    def _look(self) -> None:
        try:
            for status in self._status.read_all():
                self._consider(status)
        except sqlite3.Error:
            log.exception("AMQ9999E: channel status cannot be read")

    def _consider(self, status: ChannelStatus) -> None:
        """Do what the last command about a channel wants, once."""
        first = status.name not in self._seen
        if self._seen.get(status.name) == status.generation or status.channel_type not in {"SDR", "SVR"}:
            return
        self._seen[status.name] = status.generation
        runner = self._runners.get(status.name)
        if status.wanted == "START" and not (first and status.state == c.MQCHS_STOPPED):
            if runner is None or not runner.alive:
                self._start(status.name)
            else:
                self._again.add(status.name)
            return
        self._again.discard(status.name)
        if runner is not None and runner.stop(stopped=status.wanted == "STOP"):
            return
        if (first or status.wanted == "STOP") and status.state != c.MQCHS_STOPPED:
            state = c.MQCHS_STOPPED if status.wanted == "STOP" else c.MQCHS_INACTIVE
            self._status.set_state(status.name, status.channel_type, state, status.figures)

    def _start_again(self) -> None:
        """Start the channels that ended while they were wanted, unless they ended by an error: a message came when they
        were ending, or START CHANNEL behind STOP CHANNEL."""
        for name in [name for name in self._again if not self._runners[name].alive]:
            self._again.discard(name)
            if self._runners[name].ended_as_asked:
                self._start(name)

    def _start(self, name: str) -> None:
        try:
            values = channel_values(self._manager, name)
        except PartnerMissing:
            return
        self._runners[name] = Runner(name, values, self._manager.folder, lambda: bind(self._manager, name))
        self._runners[name].start()


def serve(manager: Manager, ready: int = -1) -> int:
    """Run the service here until SIGTERM or SIGINT; returns the exit code.

    ready: a file descriptor to which a byte is written once the lock is held.
    """
    os.umask(0o077)  # only its owner may read the files it makes, a new errors.log too
    stop = threading.Event()
    _stop_at_signal(stop)  # before the lock: who sees it held may send the signal
    try:
        lock = ServiceLock(manager.folder)
    except AlreadyRunning:
        return 1
    error_log.open_for_service(manager.folder)
    pcf_server.install()
    _restart(manager)
    service = Service(manager, stop)
    log.info("AMQ8003I: queue manager %s started", manager.name)
    if ready >= 0:
        os.write(ready, b"\n")
        os.close(ready)
    try:
        service.run()
    finally:
        log.info("AMQ8004I: queue manager %s ended", manager.name)
        lock.release()
    return 0


def _stop_at_signal(stop: threading.Event) -> None:
    """Set `stop` at SIGTERM or SIGINT, which from now on no thread but the one that waits for them receives.

    A handler could not do it: it may run while its own thread is inside `stop.wait` and holds the event's lock.
    """
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)

    def wait() -> None:
        signal.sigwait(ends)
        stop.set()

    threading.Thread(target=wait, name="signals", daemon=True).start()


def _restart(manager: Manager) -> None:
    store = Store(manager.folder)
    try:
        with store.write():
            triggering.restarted(store)
    finally:
        store.close()


def launch(manager: Manager) -> str:
    """Start the service in the background and wait until it holds the lock. Says how that went."""
    if service_lock.holder(manager.folder):
        return ALREADY
    reading, writing = os.pipe()
    command = [
        sys.executable,
        "-m",
        "mqlite.service.service",
        os.fspath(manager.folder.parent),
        manager.name,
        str(writing),
    ]
    with (manager.folder / error_log.NAME).open("ab") as errors:
        os.chmod(errors.fileno(), 0o600)
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, pass_fds=(writing,), start_new_session=True
        )
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        ready_byte = pipe.read(1)
    if ready_byte:
        return STARTED
    return ALREADY if service_lock.holder(manager.folder) else SERVICE_FAILED


def main() -> None:
    """`python -m mqlite.service.service HOME NAME READY`: what `launch` starts."""
    home, name, ready = sys.argv[1:4]
    os.environ["MQLITE_HOME"] = home
    sys.exit(serve(managers.load(name), int(ready)))


if __name__ == "__main__":
    main()
