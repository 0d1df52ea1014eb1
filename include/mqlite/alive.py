"""Which connections are alive: each holds one byte of `alive.lock`, at the offset of its number, by a POSIX lock.

The kernel drops the lock with the process, however it ends, and no process number is ever trusted. A process opens the
file once and never closes it, because closing any descriptor of it would drop all its locks; its own connections it
knows from memory. A forked child holds none of its parent's locks, and gets a file of its own.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

FILE = "alive.lock"
# struct flock: Linux (type, whence, start, length, pid), macOS (start, length, pid, type, whence)
LINUX, DARWIN = struct.Struct("@hhqqi4x"), struct.Struct("@qqihh")

_files: dict[str, AliveFile] = {}


class AliveFile:
    """One queue manager's lock file in this process."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._own: set[int] = set()

    def is_at(self, path: str) -> bool:
        """Whether it is the file there."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        except FileNotFoundError:
            return False

    def hold(self, connection: int) -> None:
        """Hold the byte of a connection of this process."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, connection)
        self._own.add(connection)

    def release(self, connection: int) -> None:
        """Let the byte of an ended connection go."""
        self._own.discard(connection)
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, connection)

    def is_alive(self, connection: int) -> bool:
        """Whether the process of a connection still lives."""
        if connection in self._own:
            return True
        if sys.platform == "darwin":
            query = DARWIN.pack(connection, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
            return bool(DARWIN.unpack(fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query))[3] != fcntl.F_UNLCK)
        query = LINUX.pack(fcntl.F_WRLCK, os.SEEK_SET, connection, 1, 0)
        return bool(LINUX.unpack(fcntl.fcntl(self._descriptor, fcntl.F_GETLK, query))[0] != fcntl.F_UNLCK)


def alive_file(folder: Path) -> AliveFile:
    """The lock file of the queue manager in `folder` (or of its queue-sharing group), opened once a process."""
    key = os.path.realpath(folder / FILE)
    found = _files.get(key)
    if found is None or not found.is_at(key):
        _leaked.append(found)  # of a queue manager that was deleted and made again
        found = _files[key] = AliveFile(folder / FILE)
    return found


def forget() -> None:
    """In a forked child: the parent's files are not ours. They stay open, because closing is nobody's business here."""
    _leaked.append(dict(_files))
    _files.clear()


_leaked: list[object] = []
