"""What was written is brought to disk."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append(descriptor: int, content: bytes) -> None:
    """Write behind the end of an open file; returns when it is on disk. Raises `OSError`: the file is as it was."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
        raise
