"""Which connections are alive: each holds one byte of `alive.lock`, at the offset of its number, by a POSIX lock.

The kernel drops the lock with the process, however it ends, and no process number is ever trusted. Its own connections
a process knows from memory. A forked child holds none of its parent's locks, and gets a file of its own. The byte
itself is 1 where STOP CONN has broken the connection, 2 where its queue manager quiesces.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

from mqlite.storage.lock_file import LockFile, LockFiles

FILE = "alive.lock"
# struct flock: Linux (type, whence, start, length, pid), macOS (start, length, pid, type, whence)
LINUX, DARWIN = struct.Struct("@hhqqi4x"), struct.Struct("@qqihh")


class AliveFile(LockFile):
    """One queue manager's lock file in this process."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._own: set[int] = set()

    def hold(self, connection: int) -> None:
        """Hold the byte of a connection of this process."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, connection)
        self._own.add(connection)

    def release(self, connection: int) -> None:
        """Let the byte of an ended connection go."""
        self._own.discard(connection)
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, connection)

    def stop(self, connection: int) -> None:
        """The connection, which may be another process's, is broken."""
        os.pwrite(self._descriptor, b"\1", connection)

    def is_stopped(self, connection: int) -> bool:
        """Whether the connection was broken."""
        return os.pread(self._descriptor, 1, connection) == b"\1"

    def quiesce(self, connection: int) -> None:
        """The queue manager of the connection quiesces."""
        os.pwrite(self._descriptor, b"\2", connection)

    def is_quiescing(self, connection: int) -> bool:
        """Whether its queue manager quiesces."""
        return os.pread(self._descriptor, 1, connection) == b"\2"

    def is_alive(self, connection: int) -> bool:
        """Whether the process of a connection still lives."""
        if connection in self._own:
            return True
        if sys.platform == "darwin":
            query = DARWIN.pack(connection, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
            return bool(DARWIN.unpack(fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query))[3] != fcntl.F_UNLCK)
        query = LINUX.pack(fcntl.F_WRLCK, os.SEEK_SET, connection, 1, 0)
        return bool(LINUX.unpack(fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query))[0] != fcntl.F_UNLCK)


_files = LockFiles(FILE, AliveFile)


def alive_file(folder: Path) -> AliveFile:
    """The lock file of the queue manager in `folder`, or of its queue-sharing group."""
    return _files.of(folder)


def forget() -> None:
    """In a forked child: the parent's files are not ours."""
    _files.forget()
