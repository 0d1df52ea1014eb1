"""One writer at a time on a store: among the threads of a process, then among processes.

Writers queue on the kernel's lock of `write.lock`. What that lock cannot say stands in the file's bytes: the first,
whether the writer keeps its transaction open between calls (`mqlite.store`, rule 5); those from SLOTS on, one for each
process that waits. They are hints: a process that dies leaves its byte, and nothing but speed depends on it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
from pathlib import Path
from typing import Protocol

WRITE_LOCK = "write.lock"
SIZE, SLOTS = 1024, 64  # bytes


class Keeper(Protocol):
    """A store of this process that keeps its transaction open."""

    def end_kept(self) -> None:
        """Commit it, unless a call of its application is under way."""


class WriteLock:
    """The write lock of one queue manager (or queue-sharing group) in this process."""

    def __init__(self, path: Path) -> None:
        self._threads = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.fstat(self._descriptor).st_size < SIZE:
            os.ftruncate(self._descriptor, SIZE)
        self._bytes = mmap.mmap(self._descriptor, SIZE)
        self._slot = SLOTS + os.getpid() % (SIZE - SLOTS)
        self._counting = threading.Lock()
        self._waiting = 0
        self._keeper: Keeper | None = None

    def acquire(self) -> None:
        """Be the writer; waits as long as it takes."""
        if not self._acquired():
            keeper = self._keeper
            if keeper is not None:
                keeper.end_kept()
            self._wait()
        self._bytes[0] = 0

    def _acquired(self) -> bool:
        if not self._threads.acquire(blocking=False):
            return False
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            self._threads.release()
            if not isinstance(error, BlockingIOError | PermissionError):  # what POSIX allows to say "held"
                raise
            return False
        return True

    def _wait(self) -> None:
        self._count(1)
        try:
            self._threads.acquire()
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
            except BaseException:
                self._threads.release()
                raise
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._counting:
            self._waiting += more
            self._bytes[self._slot] = self._waiting > 0

    def release(self) -> None:
        """Let others write."""
        self._keeper = None
        self._bytes[0] = 0
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        self._threads.release()

    def keep(self, keeper: Keeper) -> None:
        """The writer stays one between its calls; `keeper` can be asked to stop."""
        self._keeper = keeper
        self._bytes[0] = 1

    @property
    def kept(self) -> bool:
        """Whether somebody keeps a transaction open, or died doing so."""
        return self._bytes[0] != 0

    @property
    def wanted(self) -> bool:
        """Whether others wait for it."""
        return self._bytes.find(b"\1", SLOTS) >= 0

    def forget_waiting(self) -> None:
        """Clear the bytes of all that wait, as after a death. Who does wait, waits a little longer for it."""
        self._bytes[SLOTS:] = bytes(SIZE - SLOTS)


_locks: dict[str, WriteLock] = {}
_leaked: list[object] = []


def write_lock(folder: Path) -> WriteLock:
    """The write lock of the queue manager in `folder`, opened once a process and never closed."""
    key = os.path.realpath(folder / WRITE_LOCK)
    if key not in _locks:
        _locks[key] = WriteLock(folder / WRITE_LOCK)
    return _locks[key]


def forget() -> None:
    """In a forked child: the parent's locks are not ours."""
    _leaked.append(dict(_locks))
    _locks.clear()
