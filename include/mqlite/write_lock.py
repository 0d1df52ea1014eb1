"""One writer at a time on a store: among the threads of a process, then among processes.

Writers queue on the kernel's lock of `write.lock`. What that lock cannot say stands in the file's bytes:

| byte        | what                                                                                               |
|-------------|----------------------------------------------------------------------------------------------------|
| 0           | 1 while the writer keeps its transaction open between calls (`mqlite.store`, rule 5)               |
| 8 to 15     | the number of the connection that does; who finds byte 0 set once it has the lock knows that this  |
|             | one died, and what it had got has to be counted (`mqlite.taken`)                                   |
| from SLOTS  | 1 for each process that waits: hints, on which nothing but speed depends, and which are forgotten  |
|             | now and then, as a process that dies waiting leaves its own                                        |
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
from pathlib import Path
from typing import Protocol

from mqlite.lock_file import LockFile, LockFiles

WRITE_LOCK = "write.lock"
SIZE, SLOTS = 1024, 64  # bytes
STALE = 10.0  # seconds after which a waiting process may have died
NUMBER = struct.Struct("<q")


class Keeper(Protocol):
    """A store of this process that keeps its transaction open."""

    def end_kept(self) -> None:
        """Commit it, unless a call of its application is under way."""


class WriteLock(LockFile):
    """The write lock of one queue manager (or queue-sharing group) in this process."""

    def __init__(self, path: Path) -> None:
        self._threads = threading.Lock()
        super().__init__(path)
        size = os.fstat(self._descriptor).st_size
        if size < SIZE:
            os.pwrite(self._descriptor, bytes(SIZE - size), size)  # a hole could not be filled on a full disk (SIGBUS)
        self._bytes = mmap.mmap(self._descriptor, SIZE)
        self._slot = SLOTS + os.getpid() % (SIZE - SLOTS)
        self._counting = threading.Lock()
        self._waiting = 0
        self._forgotten = time.monotonic()
        self._keeper: Keeper | None = None

    def acquire(self) -> None:
        """Be the writer; waits as long as it takes."""
        if not self._acquired():
            keeper = self._keeper
            if keeper is not None:
                keeper.end_kept()
            self._wait()

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
        if self._keeper is not None:
            self._keeper = None
            self._bytes[0] = 0
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        self._threads.release()

    def keep(self, keeper: Keeper, connection: int) -> None:
        """The writer stays one between its calls; `keeper` can be asked to stop."""
        self._keeper = keeper
        NUMBER.pack_into(self._bytes, NUMBER.size, connection)
        self._bytes[0] = 1

    def died(self) -> int:
        """To be asked by the writer: the connection that died while it kept a transaction open, 0 for none."""
        return int(NUMBER.unpack_from(self._bytes, NUMBER.size)[0]) if self._bytes[0] and self._keeper is None else 0

    def counted(self) -> None:
        """What that one had got has been counted."""
        self._bytes[0] = 0

    @property
    def kept(self) -> bool:
        """Whether somebody keeps a transaction open, or died doing so."""
        return self._bytes[0] != 0

    @property
    def wanted(self) -> bool:
        """Whether others wait for it."""
        if self._bytes.find(b"\1", SLOTS) < 0:
            return False
        if time.monotonic() - self._forgotten < STALE:
            return True
        self.forget_waiting()
        return False

    def forget_waiting(self) -> None:
        """Clear the bytes of all that wait, as after a death. Who does wait, waits a little longer for it."""
        self._forgotten = time.monotonic()
        self._bytes[SLOTS:] = bytes(SIZE - SLOTS)


_locks = LockFiles(WRITE_LOCK, WriteLock)


def write_lock(folder: Path) -> WriteLock:
    """The write lock of the queue manager in `folder`."""
    return _locks.of(folder)


def forget() -> None:
    """In a forked child: the parent's locks are not ours."""
    _locks.forget()
