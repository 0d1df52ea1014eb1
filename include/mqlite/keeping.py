"""The thread that ends the transactions which stores keep open (`mqlite.store`, rule 5): when others want to write, or
when their application has not called for a tick.
"""

from __future__ import annotations

import atexit
import threading
import time
from typing import Protocol

TICK = 0.005  # seconds
LONGEST = 0.05  # seconds that a transaction is kept open, however busy its application


class Ended(RuntimeError):
    """The interpreter is shutting down: no transaction can be kept open any more."""


class KeptOpen(Protocol):
    """A store as this thread sees it."""

    @property
    def kept(self) -> int:
        """The number of the transaction that is kept open, 0 for none."""

    def end_kept(self) -> None:
        """Commit it, unless a call of its application is under way."""

    def end_idle(self, calls: int, *, old: bool) -> int:
        """Commit it where it is old, others wait, or no call came since there were `calls`; returns how many now."""


class _Watch:
    """The stores that keep a transaction open, and the thread that watches them."""

    def __init__(self) -> None:
        self._stores: dict[KeptOpen, tuple[int, float]] = {}  # calls when last looked at, and since when it is kept
        self._some = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False
        self.ending = threading.Lock()

    def add(self, store: KeptOpen) -> None:
        with self._some:
            if self._ended:
                raise Ended
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="mqlite keeping", daemon=True)
                thread.start()
                self._thread = thread
            self._stores[store] = (-1, time.monotonic())
            self._some.notify()

    def end(self) -> None:
        """The interpreter shuts down: no daemon thread may be within a transaction when it stops them all."""
        with self._some:
            self._ended = True
            stores, self._stores = list(self._stores), {}
            self._some.notify()
        with self.ending:  # the thread has had its last look
            for store in stores:
                store.end_kept()

    def _run(self) -> None:
        while True:
            with self._some:
                while not (self._stores or self._ended):
                    self._some.wait()
                if self._ended:
                    return
            time.sleep(TICK)
            with self.ending:
                for store, (calls, since) in list(self._stores.items()):
                    self._look(store, calls, since)

    def _look(self, store: KeptOpen, calls: int, since: float) -> None:
        first = calls < 0  # it may be about to keep one
        calls = store.end_idle(calls, old=time.monotonic() - since > LONGEST)
        with self._some:
            if self._stores.get(store, (0, 0.0))[1] != since:
                return  # it has begun to keep another one
            if store.kept or first:
                self._stores[store] = (calls, since)
            else:
                del self._stores[store]


_watch = _Watch()


def watch(store: KeptOpen) -> None:
    """The store begins to keep a transaction open.

    Raises:
        RuntimeError: nobody would end it: no thread can be started, or the interpreter shuts down (`Ended`).
    """
    _watch.add(store)


def hold_still() -> None:
    """Until `go_on`, the thread touches no store: this process forks."""
    _watch.ending.acquire()


def go_on() -> None:
    """The process has forked, and this is the parent."""
    _watch.ending.release()


def forget() -> None:
    """In a forked child, which has no such thread."""
    global _watch  # noqa: PLW0603
    _watch = _Watch()


@atexit.register
def _end() -> None:
    _watch.end()
