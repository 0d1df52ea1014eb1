"""The folder of Data Docs: a new one, an empty one, or one that mqops made and nobody has put anything into.

1. What lies in any other folder is somebody else's: it is refused, and nothing in it is read, changed or removed.
2. No link is followed: a folder that is one is refused, and so is one with a link in it.
3. The pages are made in a new folder beside it, which then takes its place. So a reader never sees half of them, and
   nothing that came into the old folder meanwhile is written through.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqops.errors import SettingsError
from mqops.lake.files import lake_errors, make_durable, make_folder

MARKER = ".mqops_data_docs"
"""Lists the files that mqops made, a line each."""


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is not for Data Docs.

    Raises:
        SettingsError: it has something that mqops did not make.
        LakeError: it cannot be read.
    """
    with lake_errors(folder):
        if not os.path.lexists(folder):
            return
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise SettingsError(f"--docs {folder} is a link or a file: name a new folder")
        there = set(_entries(folder))
        if not there:
            return
        foreign = sorted(there - _made(folder))
    if foreign:
        raise SettingsError(
            f"--docs {folder} has what mqops did not make, such as {foreign[0]}, and would lose it: name a new folder"
        )


@contextmanager
def new_docs(folder: Path) -> Iterator[Path]:
    """A new folder to make the pages in, which takes the place of `folder` at the end. Raises as `refuse_foreign`."""
    refuse_foreign(folder)
    make_folder(folder.parent)
    with lake_errors(folder):
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield made
        with lake_errors(folder):
            (made / MARKER).write_text("".join(f"{one}\n" for one in sorted(_entries(made))), encoding="utf-8")
            make_durable(made)
            refuse_foreign(folder)
            _put_in_place(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put_in_place(made: Path, folder: Path) -> None:
    if not folder.exists():
        made.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    folder.rename(old)  # an empty folder is replaced
    made.rename(folder)
    shutil.rmtree(old)  # follows no link


def _entries(folder: Path) -> Iterator[str]:
    """Every file and link below a folder, and every empty folder, by its path there."""
    for at, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(at) / name).is_symlink()]
        for name in (*files, *links):
            yield (Path(at) / name).relative_to(folder).as_posix()
        if not folders and not files and Path(at) != folder:
            yield Path(at).relative_to(folder).as_posix()


def _made(folder: Path) -> set[str]:
    """What mqops made there, by its own list."""
    marker = folder / MARKER
    if not (os.path.lexists(marker) and stat.S_ISREG(marker.lstat().st_mode)):
        return set()
    listed = {MARKER, *marker.read_text(encoding="utf-8").splitlines()}
    return {one for one in listed if not (folder / one).is_symlink()}
