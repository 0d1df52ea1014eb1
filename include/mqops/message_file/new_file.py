"""A new private file or folder of an export, in a folder where other users may make files, too.

1. It is made beside its place, under a name that nobody can foresee, and locked. It gets its name when it is whole and
   on disk. Nothing is ever replaced.
2. An export that was killed leaves it, unlocked. The next export to the same file removes what is left, if it is this
   user's own. Where other users can rename what is in the folder, nothing is removed: a name does not say then that an
   export made it. What is left there is named (`Place.left_behind`), for a person to remove.
3. Everything goes by descriptor (`mqops.lake.shared_folder`).
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mqops.errors import LakeError, SettingsError
from mqops.lake.files import FILE_MODE, FOLDER_MODE, lake_errors
from mqops.lake.shared_folder import ENTRY, FOLDER, is_at, is_own, lock, opened, others_can_rename, remove

_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC
PART = "part-00000.parquet"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an export writes. Parameters: `left_behind` paths that killed exports may have left, and that stay."""

    stream: BinaryIO
    left_behind: tuple[str, ...]


@contextmanager
def new_file(file: Path) -> Iterator[Place]:
    """A private file.

    Raises:
        SettingsError: the file is there already.
        LakeError: the disk refused, or another user has interfered.
    """
    with _new(file, _make_file) as (descriptor, left), open(descriptor, "wb", closefd=False) as stream:
        yield Place(stream, left)
        stream.flush()
        os.fsync(descriptor)


@contextmanager
def new_folder(file: Path) -> Iterator[Place]:
    """A private folder with one file of Parquet in it. Raises as `new_file`."""
    with (
        _new(file, _make_folder) as (folder, left),
        opened(PART, _NEW, FILE_MODE, within=folder) as descriptor,
        open(descriptor, "wb", closefd=False) as stream,
    ):
        yield Place(stream, left)
        stream.flush()
        os.fsync(descriptor)
        os.fsync(folder)


def _make_file(name: str, parent: int) -> int:
    return os.open(name, _NEW, FILE_MODE, dir_fd=parent)


def _make_folder(name: str, parent: int) -> int:
    os.mkdir(name, FOLDER_MODE, dir_fd=parent)
    descriptor = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    if is_own(descriptor) and not os.listdir(descriptor):
        return descriptor
    os.close(descriptor)
    raise LakeError(f"Another user has exchanged the new folder {name}: export to a folder of your own")


@contextmanager
def _new(file: Path, make: Callable[[str, int], int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The descriptor of what `make` makes, which gets the file's name at the end, and is removed after an error."""
    name = f".{file.name}.{secrets.token_hex(8)}"
    with lake_errors(file), opened(file.parent, FOLDER) as parent:
        left = _remove_left_behind(file, parent)
        _refuse_existing(file, parent)
        descriptor = make(name, parent)
        try:
            lock(descriptor)
            yield descriptor, left
            _name(descriptor, name, file, parent)
            os.fsync(parent)
        except BaseException:
            remove(descriptor, name, parent)
            raise
        finally:
            os.close(descriptor)


def _remove_left_behind(file: Path, parent: int) -> tuple[str, ...]:
    """Remove what killed exports to this file have left: their kind of name, unlocked; the paths of what stays."""
    own = re.compile(rf"\.{re.escape(file.name)}\.[0-9a-f]{{16}}")
    stay = others_can_rename(parent)
    left = [name for name in os.listdir(parent) if own.fullmatch(name) and (stay or not _removed(name, parent))]
    return tuple(str(file.parent / name) for name in sorted(left))


def _removed(name: str, parent: int) -> bool:
    """Remove one; whether it needs nobody's attention: it is gone, or an export is at work on it."""
    try:
        with opened(name, ENTRY, within=parent) as descriptor:
            if not is_own(descriptor):
                return False
            try:
                lock(descriptor)
            except OSError:
                return True
            remove(descriptor, name, parent)
            return name not in os.listdir(parent)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _name(descriptor: int, name: str, file: Path, parent: int) -> None:
    """Give an open file or folder its name, unless something has the name by now: nothing is ever replaced."""
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.rename(name, file.name, src_dir_fd=parent, dst_dir_fd=parent)  # it replaces an empty folder alone
        else:
            os.link(name, file.name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
            remove(descriptor, name, parent)
    except OSError:
        _refuse_existing(file, parent)
        raise
    if not is_at(descriptor, file.name, parent):
        raise LakeError(f"Another user has exchanged {file} while it was written: export to a folder of your own")


def _refuse_existing(file: Path, parent: int) -> None:
    with suppress(FileNotFoundError):
        os.stat(file.name, dir_fd=parent, follow_symlinks=False)
        raise SettingsError(f"{file} is there already: name a new file, nothing is overwritten")
