"""Folders where other users may make files, too: what is made, looked at and removed there goes by descriptor.

A name that was looked at may lead to something else a moment later: another user has put a link there. So a folder is
opened once, without following a link; what is in it is reached through its descriptor (`dir_fd`), and what is removed
is removed from that folder. Only an entry of the folder itself can be lost, never one of a folder that a link leads to.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
"""How the folder is opened that a person has named: a link to it is followed."""
ENTRY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""How an entry of it is opened: a link is refused, and a pipe does not wait."""


@contextmanager
def opened(path: str | Path, flags: int, mode: int = 0o600, *, within: int | None = None) -> Iterator[int]:
    """The descriptor of a file or folder, closed at the end.

    Parameters: `flags` and `mode` as for `os.open`; `within` the descriptor of the folder that `path` is a name in.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, flags, mode, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> None:
    """Take the lock of an open file or folder. Raises `OSError` where another process has it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def others_can_rename(folder: int) -> bool:
    """Whether other users can give what is in an open folder another name.

    They can if the folder is theirs, or if they may write there and it is not sticky (as the system's temporary folder
    is). Then a name says nothing about what it belongs to: it may be any folder of this user.
    """
    found = os.fstat(folder)
    theirs = found.st_uid not in {0, os.geteuid()}
    return theirs or (bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) and not found.st_mode & stat.S_ISVTX)


def is_own(descriptor: int) -> bool:
    """Whether an open file or folder is a regular one of this process's user, and nobody else can change it."""
    found = os.fstat(descriptor)
    kind = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return kind and found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_at(descriptor: int, name: str, folder: int) -> bool:
    """Whether an open file or folder stands under that name in an open folder."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def remove(descriptor: int, name: str, folder: int) -> None:
    """Remove an open file, or an open folder with the files in it, that stands under a name in an open folder.

    What cannot be removed, and what stands under that name instead, stays.
    """
    if not is_at(descriptor, name, folder):
        return
    with suppress(OSError):
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.unlink(name, dir_fd=folder)
            return
        for one in os.listdir(descriptor):
            os.unlink(one, dir_fd=descriptor)
        os.rmdir(name, dir_fd=folder)
