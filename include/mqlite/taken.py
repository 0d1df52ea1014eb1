"""What a connection has got in a transaction that is still open, in a file that outlives its process.

A transaction kept open (`mqlite.store`, rule 5) is gone with a process that is killed, and so would be the fact that
the process had the messages. Whoever writes next raises their BackoutCount from here first (`mqlite.write_lock` tells
it to), so that a message that kills whoever gets it is found out (P07).

`taken.N`, N the connection's number: how many, then for each the message's number and its BackoutCount when it was got,
8 bytes each. A message that no longer has that BackoutCount has been counted.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

MOST = 4095
ENTRY, NUMBER = struct.Struct("<qq"), struct.Struct("<q")
SIZE = ENTRY.size * (MOST + 1)


def path_of(folder: Path, connection: int) -> Path:
    """The file of a connection."""
    return Path(os.path.realpath(folder)) / f"taken.{connection}"


class Taken:
    """The file of this process's connection, made when first needed.

    Attributes: `connection` its number.
    """

    def __init__(self, folder: Path, connection: int) -> None:
        self.connection = connection
        self._path = path_of(folder, connection)
        self._bytes: mmap.mmap | None = None
        self._count = 0

    def note(self, seq: int, backouts: int) -> bool:
        """The message of that number and BackoutCount is got; False where there is no room to say so."""
        if self._count == MOST:
            return False
        if self._bytes is None:
            try:
                self._bytes = self._made()
            except OSError:
                return False
        self._count += 1
        ENTRY.pack_into(self._bytes, self._count * ENTRY.size, seq, backouts)
        NUMBER.pack_into(self._bytes, 0, self._count)
        return True

    def _made(self) -> mmap.mmap:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, bytes(SIZE), 0)  # a hole could not be filled on a full disk (SIGBUS)
            return mmap.mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)

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


def taken_by(folder: Path, connection: int) -> list[tuple[int, int]]:
    """The messages that a dead connection had got and the store does not know of: number and BackoutCount then."""
    try:
        content = path_of(folder, connection).read_bytes()
    except FileNotFoundError:
        return []
    count = NUMBER.unpack_from(content)[0] if len(content) == SIZE else 0
    return [ENTRY.unpack_from(content, (place + 1) * ENTRY.size) for place in range(count)]


def remove(folder: Path, connection: int) -> None:
    """The file of a connection that is no more."""
    path_of(folder, connection).unlink(missing_ok=True)
