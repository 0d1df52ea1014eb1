"""One writer at a time on a store: among the threads of a process, then among processes, by a kernel lock on a file."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

from mqlite.storage.lock_file import LockFile, LockFiles

WRITE_LOCK = "write.lock"


class WriteLock(LockFile):
    """The write lock of one queue manager (or queue-sharing group) in this process."""

    def __init__(self, path: Path) -> None:
        self._threads = threading.Lock()
        super().__init__(path)

    def acquire(self) -> None:
        """Become the writer. Waits without limit."""
        self._threads.acquire()
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._threads.release()
            raise

    def release(self) -> None:
        """Let others write."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        self._threads.release()


_locks = LockFiles(WRITE_LOCK, WriteLock)


def write_lock(folder: Path) -> WriteLock:
    """The write lock of the queue manager in `folder`."""
    return _locks.of(folder)


def forget() -> None:
    """In a forked child: the parent's locks are not ours."""
    _locks.forget()
