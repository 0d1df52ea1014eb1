"""Whether the service of a queue manager runs: a lock that ends with its process says so, not a number in a file.

The service holds a POSIX lock on `service.lock` for life. Anyone can ask the kernel who holds it, which needs no lock
of one's own; the answer is a process id only while that process lives. Closing any descriptor of the file would lose
the lock, so a process that holds it answers from memory.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

FILE = "service.lock"
# struct flock: Linux (type, whence, start, length, pid), macOS (start, length, pid, type, whence)
LINUX, DARWIN = struct.Struct("@hhqqi4x"), struct.Struct("@qqihh")

_held: set[Path] = set()


class AlreadyRunning(Exception):
    """The service of this queue manager is already running."""


class ServiceLock:
    """Held by the service from its start to its end."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as taken:
            os.close(self._descriptor)
            raise AlreadyRunning from taken
        self._folder = folder.resolve()
        _held.add(self._folder)

    def release(self) -> None:
        """Give the lock up."""
        _held.discard(self._folder)
        os.close(self._descriptor)


def holder(folder: Path) -> int:
    """Process id of the running service, 0 if there is none."""
    if folder.resolve() in _held:
        return os.getpid()
    try:
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        if sys.platform == "darwin":
            asked = fcntl.fcntl(descriptor, fcntl.F_GETLK, DARWIN.pack(0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET))
            _, _, pid, kind, _ = DARWIN.unpack(asked)
        else:
            asked = fcntl.fcntl(descriptor, fcntl.F_GETLK, LINUX.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            kind, _, _, _, pid = LINUX.unpack(asked)
    finally:
        os.close(descriptor)
    return int(pid) if kind != fcntl.F_UNLCK else 0


def wait_until_ended(folder: Path) -> None:
    """Wait, without polling, until no service holds the lock."""
    descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)
