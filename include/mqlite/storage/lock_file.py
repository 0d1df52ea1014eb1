"""The files whose locks tell processes apart: opened once a process, and never closed.

Closing any descriptor of such a file would drop all the locks that its process holds on it. A queue manager that is
deleted and made again has new files, and a forked child opens its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

_leaked: list[object] = []


class LockFile:
    """A file that is open for locks. Parameters: `path` of the file, made if it is not there, private to its owner."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_at(self, path: str) -> bool:
        """Whether it is the file there."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        except FileNotFoundError:
            return False


F = TypeVar("F", bound=LockFile)


class LockFiles(Generic[F]):
    """The files of one kind that this process has open.

    Parameters: `name` of the file in a queue manager's folder; `opened` opens one.
    """

    def __init__(self, name: str, opened: Callable[[Path], F]) -> None:
        self._name = name
        self._opened = opened
        self._files: dict[str, F] = {}
        self._looking = threading.Lock()

    def of(self, folder: Path) -> F:
        """The file of the queue manager in `folder`, or of its queue-sharing group."""
        key = os.path.realpath(folder / self._name)
        with self._looking:
            found = self._files.get(key)
            if found is None or not found.is_at(key):
                _leaked.append(found)
                found = self._files[key] = self._opened(folder / self._name)
            return found

    def forget(self) -> None:
        """In a forked child: the parent's files are not ours."""
        _leaked.append(self._files)
        self._files = {}
        self._looking = threading.Lock()
