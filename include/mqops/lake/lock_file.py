"""A lock file of the lake, held by one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from mqops.errors import MqopsError
from mqops.lake.files import FILE_MODE, lake_errors


@contextmanager
def locked(path: Path, *, wait: float, refused: MqopsError, place: Path) -> Iterator[None]:
    """Hold a lock file, which is private.

    Parameters: `wait` seconds to wait for the process that has it, for ever where it is below 0; `refused` the error
    that is raised after that; `place` what an error of the disk names.

    Raises:
        MqopsError: `refused`.
        LakeError: the lock file cannot be made.
    """
    lock = filelock.FileLock(path, mode=FILE_MODE)
    with lake_errors(place):
        try:
            lock.acquire(timeout=wait)
        except filelock.Timeout as error:
            raise refused from error
    try:
        yield
    finally:
        lock.release()
