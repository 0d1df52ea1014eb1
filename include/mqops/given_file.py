"""A settings file or a table that a person names, perhaps in a folder of others: it is read with an end, and without a
wait."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mqops.counted import counted
from mqops.errors import SettingsError

MOST = 32 << 20
"""Bytes of a settings file or a rules table."""
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def opener(path: str, _flags: int) -> int:
    """For `open`: a named pipe that nobody writes to is empty, where an open would wait for ever. One of the shell
    (`<(...)`) is read as ever. Raises `OSError`."""
    descriptor = os.open(path, _FLAGS)
    os.set_blocking(descriptor, True)
    return descriptor


def why_unread(error: OSError | UnicodeDecodeError) -> str:
    """Why a file could not be read: for a sentence that has its name."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {error.start} is not)"
    return error.strerror or str(error)


@contextmanager
def read_errors(what: str) -> Iterator[None]:
    """Reading a file that a person names. Parameters: `what` the file and what it is, as a sentence begins.

    Raises:
        SettingsError: it cannot be read, and why.
    """
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{what} cannot be read: {why_unread(error)}") from error


def text_of(path: Path) -> str:
    """The text of a file. Raises `OSError`, also for one of more than MOST bytes, and `UnicodeDecodeError`."""
    return bytes_of(path).decode("utf-8")


def table_text(path: Path) -> str:
    """The text of a rules table; bytes that are not UTF-8 are kept. Raises `SettingsError`: it cannot be read."""
    with read_errors(f"The rules table {path}"):
        return bytes_of(path).decode("utf-8", "surrogateescape")


def bytes_of(path: Path) -> bytes:
    """What is in a file. Raises `OSError` as `text_of`."""
    with open(path, "rb", opener=opener) as stream:
        return content_of(stream)


def content_of(stream: IO[bytes]) -> bytes:
    """What is in an open file. Raises `OSError`: it has more than MOST bytes."""
    content = stream.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(errno.EFBIG, f"It has more than {counted(MOST, 'byte')}, which no settings file and no table has")
    return content


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of an open file, however many. Raises `OSError`: one has more than MOST bytes."""
    while line := stream.readline(MOST + 1):
        if len(line) > MOST:
            raise OSError(errno.EFBIG, f"It has a line of more than {counted(MOST, 'byte')}")
        yield line
