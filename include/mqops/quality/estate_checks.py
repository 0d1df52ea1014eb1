"""Expectations of suites that come from a folder of the estate (`checks`): the entry points of `mqops.checks` that its
`entry_points.txt` has, as a distribution's (`mqops.outside`), and modules beside it.

1. The folder is code. It runs with the rights of the process that reads a suite, on the command line and in Airflow's
   tasks; only the estate can name it, no suite, form or message.
2. It is used if nobody but this process's user and root can change it, or anything in it, or give it another name.
3. It stands last on Python's path: nothing in it takes the place of an installed module.
4. Python writes no bytecode there: with a umask of 002 it would make a `__pycache__` that a group can change (rule 2).

Source: Python Packaging User Guide, "Entry points specification", file format.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from configparser import ConfigParser, Error
from functools import cache, partial
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.errors import SettingsError
from mqops.given_file import read_errors, text_of
from mqops.outside import Group, Outside

if TYPE_CHECKING:
    from importlib.abc import PathEntryFinder

    from mqops.estate import EstateFile

POINTS = "entry_points.txt"


def in_estate() -> Mapping[str, Outside]:
    """The expectations of the folder that the estate names, by name; none where it names none.

    Raises:
        SettingsError: nothing of the estate can be used, or the folder cannot: others can change it, or its
            `entry_points.txt` is not valid.
    """
    from mqops.storage import estate_here  # noqa: PLC0415

    file = estate_here()
    return in_folder_of(file) if file else {}


def in_folder_of(file: EstateFile) -> Mapping[str, Outside]:
    """The same for an estate file. Raises `SettingsError`."""
    folder = file.checks
    return _in_folder(folder.resolve()) if folder else {}


@cache
def _in_folder(folder: Path) -> Mapping[str, Outside]:
    """The expectations of a folder, as they were when the process asked first."""
    _refuse_what_others_can_change(folder)
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        with read_errors(f"checks: {folder / POINTS}"):
            parser.read_string(text_of(folder / POINTS))
    except Error as error:
        raise SettingsError(f"checks: {folder / POINTS} is not valid: {' '.join(str(error).split())}") from error
    if other := [one for one in parser.sections() if one != Group.CHECKS]:
        raise SettingsError(f"checks: {folder / POINTS} has [{other[0]}]: only [{Group.CHECKS}] can stand there")
    sys.path_hooks.insert(0, partial(_finder, folder))
    sys.path_importer_cache.pop(str(folder), None)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    found = dict(parser[Group.CHECKS]) if parser.has_section(Group.CHECKS) else {}
    return {
        name: Outside(
            group=Group.CHECKS,
            name=name,
            points=(EntryPoint(name=name, value=value, group=Group.CHECKS),),
            folder=str(folder),
        )
        for name, value in found.items()
    }


class _WithoutBytecode(SourceFileLoader):
    """Rule 4, whenever a module is imported. Source: importlib, `SourceLoader.set_data`, which may write nothing."""

    def set_data(self, path: str, data: object, *, _mode: int = 0) -> None:
        pass


_FINDER = FileFinder.path_hook(
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (_WithoutBytecode, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


def _finder(folder: Path, path: str) -> PathEntryFinder:
    """What finds modules in the folder and in packages in it. Raises ImportError: the path is another one's."""
    if not Path(path).is_relative_to(folder):
        raise ImportError(path)
    return _FINDER(path)


def _refuse_what_others_can_change(folder: Path) -> None:
    """Rule 2. Raises `SettingsError`: name what others can change, or that cannot be read."""
    with read_errors(f"checks: {folder}"):
        every = [folder.parent, folder, *folder.rglob("*")]
        for path in every:
            real = path.resolve(strict=True)
            if path != folder.parent and not real.is_relative_to(folder):
                raise SettingsError(f"checks: {path} leads out of {folder}: put the file itself there")
            found = real.stat()
            sticky = real == folder.parent and found.st_mode & stat.S_ISVTX
            if found.st_uid not in {0, os.geteuid()}:
                raise SettingsError(f"checks: {path} belongs to user {found.st_uid}, who can change the code in it")
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
                raise SettingsError(f"checks: others can change {path}, which is code: chmod go-w it, and look at it")
