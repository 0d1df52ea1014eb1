"""Scans for expired messages: the periodic ones, and the one that is asked for.

A queue manager that is not z/OS-like scans every 300 seconds while its service runs, first when that time has passed.
It has no attribute for it, but ExpiryInterval in qm.ini. The rules of a z/OS-like one:

1. Every EXPRYINT seconds the service looks which queues are worth a scan, and scans those only (E16). What is known of
   expiries is the index of messages by queue and expiry.
2. It also does so when it starts, whatever EXPRYINT says, as z/OS does when a queue manager is restarted.
3. A change of EXPRYINT is noticed at once; the new interval begins then.
4. REFRESH QMGR TYPE(EXPIRY) scans the queues it names, now (E18).
5. Shared queues are scanned by one queue manager of the group: the first whose service runs with EXPRYINT set. It holds
   a lock for that; when its process ends or EXPRYINT is set OFF, another one gets it (E17). EXPRYINT should be the same
   everywhere: each writes a difference to its errors.log.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from itertools import takewhile

from mqlite.connections import unit_of_work
from mqlite.connections.connection import Connection
from mqlite.expiry.discard import discard_expired
from mqlite.failure import Failure
from mqlite.objects import sharing_group
from mqlite.objects.definitions import Objects
from mqlite.objects.manager import Manager
from mqlite.objects.sharing_group import ScanDuty
from mqlite.platform import Platform
from mqlite.security.authority import own_user
from mqlite.storage import qm_ini, sql
from mqlite.storage.store import Store

LOOK_SECONDS = 0.1
log = logging.getLogger("mqlite.expiry")


def scan(manager: Manager, queues: Iterable[int], *, stopping: Callable[[], bool] = lambda: False) -> int:
    """Discard every expired message of these queues, with the reports that were asked for; returns how many.

    Parameters: `stopping` says between two messages whether to leave the rest.
    """
    connection = Connection(manager, user=own_user(), shared=False)
    try:
        return sum(_scanned(connection, queue, stopping) for queue in queues)
    finally:
        unit_of_work.disconnect(connection, 0, keep=False)


def candidates(store: Store, *, shared: bool = True) -> list[int]:
    """The numbers of the queues that have expired messages: the index of expiries knows (E16).

    Parameters: `shared` with those that the queue-sharing group shares.
    """
    with_expired = sql.WITH_EXPIRED if shared else sql.WITH_EXPIRED_PRIVATE
    return [queue for (queue,) in store.all(with_expired, (int(time.time() * 10),))]


def _scanned(connection: Connection, queue: int, stopping: Callable[[], bool]) -> int:
    """Discard the expired messages of a queue until there is none or `stopping()`; returns how many (E16, E18)."""
    expired = connection.store.all(sql.EXPIRED_ON, (int(time.time() * 10), queue))
    return sum(discard_expired(connection, seq) for (seq,) in takewhile(lambda _: not stopping(), expired))


class ExpiryScanner:
    """The periodic scan, in a thread of its own until `stop` is set."""

    def __init__(self, manager: Manager, stop: threading.Event) -> None:
        self._manager = manager
        self._stop = stop
        self._duty = ScanDuty(manager.folder) if manager.group else None
        self._logged_intervals: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run, name="expiry scan", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _run(self) -> None:
        store = Store(self._manager.folder)
        try:
            if self._manager.platform == Platform.ZOS:
                self._see_to_shared_queues(wanted=True)
                self._scan(store)
                self._scan_as_attribute_says(store, Objects(store, self._manager.platform))
            else:
                self._scan_every(store, qm_ini.expiry_interval(self._manager.folder))
        finally:
            store.close()
            self._see_to_shared_queues(wanted=False)

    def _scan_every(self, store: Store, seconds: int) -> None:
        while not self._stop.wait(seconds):
            self._scan(store)

    def _scan_as_attribute_says(self, store: Store, objects: Objects) -> None:
        interval, due = 0, 0.0
        while not self._stop.wait(LOOK_SECONDS):
            now = time.monotonic()
            wanted = int(str(objects.manager().get("EXPRYINT", 0)))
            if wanted != interval:
                interval, due = wanted, now + wanted
            self._see_to_shared_queues(wanted=bool(interval))
            self._compare(store)
            if interval and now >= due:
                self._scan(store)
                due = time.monotonic() + interval

    def _see_to_shared_queues(self, *, wanted: bool) -> None:
        """Start scanning shared queues if no other member scans them, or stop."""
        if self._duty is None or self._duty.held == wanted:
            return
        if not wanted:
            self._duty.give_up()
        elif self._duty.take():
            log.info("%s scans the shared queues of group %s", self._manager.name, self._manager.group)

    def _compare(self, store: Store) -> None:
        """Tell once of each difference between the members' intervals."""
        found = sharing_group.expiry_intervals(store) if self._duty is not None else {}
        if found and found != self._logged_intervals:
            log.warning("%s", sharing_group.difference(self._manager.group, found))
        self._logged_intervals = found

    def _scan(self, store: Store) -> None:
        """One scan. One that fails is logged and tried again at the next interval."""
        try:
            worth = candidates(store, shared=self._duty is None or self._duty.held)
            if worth:
                count = scan(self._manager, worth, stopping=self._stop.is_set)
                log.info("Expired messages discarded: %d; queues scanned: %d", count, len(worth))
        except (sqlite3.Error, Failure):
            log.exception("AMQ9999E: scan for expired messages failed")
