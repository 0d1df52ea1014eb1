"""What a connection has got in a transaction that is still open, in a file that outlives its process.

A transaction kept open (`mqlite.store`, rule 5) is gone with a process that is killed, and so would be the fact that
the process had the messages. The next process raises their BackoutCount from here, so that a message that kills whoever
gets it is found out (P07).

`taken.N`, N the connection's number: how many, then the messages' numbers, 8 bytes each.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

MOST = 4095
NUMBER = struct.Struct("<q")
SIZE = NUMBER.size * (MOST + 1)


def path_of(folder: Path, connection: int) -> Path:
    """The file of a connection."""
    return Path(os.path.realpath(folder)) / f"taken.{connection}"


class Taken:
    """The file of this process's connection, made when first needed."""

    def __init__(self, folder: Path, connection: int) -> None:
        self._path = path_of(folder, connection)
        self._bytes: mmap.mmap | None = None
        self._count = 0

    def note(self, seq: int) -> bool:
        """The message of that number is got; False where there is no room to say so."""
        if self._count == MOST:
            return False
        if self._bytes is None:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.ftruncate(descriptor, SIZE)
            self._bytes = mmap.mmap(descriptor, SIZE)
            os.close(descriptor)
        self._count += 1
        NUMBER.pack_into(self._bytes, self._count * NUMBER.size, seq)
        NUMBER.pack_into(self._bytes, 0, self._count)
        return True

    def clear(self) -> None:
        """The store knows now."""
        if self._bytes is not None and self._count:
            self._count = 0
            NUMBER.pack_into(self._bytes, 0, 0)

    def close(self) -> None:
        """Nothing is under way any more."""
        if self._bytes is not None:
            self._bytes.close()
            self._path.unlink(missing_ok=True)


def taken_by(folder: Path, connection: int) -> list[int]:
    """The numbers of the messages that a dead connection had got and the store does not know of."""
    try:
        content = path_of(folder, connection).read_bytes()
    except FileNotFoundError:
        return []
    count = NUMBER.unpack_from(content)[0] if content else 0
    return [NUMBER.unpack_from(content, (place + 1) * NUMBER.size)[0] for place in range(count)]


def remove(folder: Path, connection: int) -> None:
    """The file of a connection that is no more."""
    path_of(folder, connection).unlink(missing_ok=True)
