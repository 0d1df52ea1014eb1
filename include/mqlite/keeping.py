"""The thread that ends the transactions which stores keep open (`mqlite.store`, rule 5): when others want to write, or
when their application has not called for a tick.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

TICK = 0.001  # seconds


class KeptOpen(Protocol):
    """A store as this thread sees it."""

    @property
    def kept(self) -> int:
        """The number of the transaction that is kept open, 0 for none."""

    def end_idle(self, calls: int) -> int:
        """Commit it where others wait or no call came since there were `calls`; returns how many there are now."""


class _Watch:
    """The stores that keep a transaction open, and the thread that watches them."""

    def __init__(self) -> None:
        self._stores: dict[KeptOpen, int] = {}
        self._some = threading.Condition()
        self._thread: threading.Thread | None = None
        self.ending = threading.Lock()

    def add(self, store: KeptOpen) -> None:
        with self._some:
            self._stores[store] = -1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mqlite keeping", daemon=True)
                self._thread.start()
            self._some.notify()

    def _run(self) -> None:
        while True:
            with self._some:
                while not self._stores:
                    self._some.wait()
            time.sleep(TICK)
            with self.ending:
                for store, calls in list(self._stores.items()):
                    self._look(store, calls)

    def _look(self, store: KeptOpen, calls: int) -> None:
        calls = store.end_idle(calls)
        with self._some:
            if store.kept:
                self._stores[store] = calls
            else:
                self._stores.pop(store, None)


_watch = _Watch()


def watch(store: KeptOpen) -> None:
    """The store has begun to keep a transaction open."""
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
