"""Which files a run's form may name: those that the estate lists, and those that stand in its folder for them.

1. Rules tables: `rules/` beside the estate file, endings `.rules`. Suites: `expectations/`, endings `.yaml`, `.json`.
2. Only regular files that are inside the folder after symbolic links are followed, each once, and none whose name or
   folder begins with a dot: Kubernetes keeps the files of a ConfigMap in `..2026_11_26_...`, git-sync in `.worktrees`.
3. The name in the form is compared with the names of these files and never opened as it stands. What is opened later is
   the name, not where its link led then: those folders go when their content is replaced.

So who may only start runs cannot have another file read, nor learn by an error what is in it or whether it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mqops.errors import SettingsError
from mqops.estate import EstateFile
from mqops.estate_workflows import RulesWorkflow
from mqops.printable import printable

TABLES = "rules", (".rules",)
SUITES = "expectations", (".yaml", ".json")


def tables(estate: EstateFile) -> list[str]:
    """The rules tables that a form may name, relative to the estate file."""
    return sorted(_choices(estate, _listed_tables(estate), *TABLES))


def table(estate: EstateFile, name: str) -> Path:
    """The file of a rules table that a form names.

    Raises:
        SettingsError: a form may not name it, or the estate lists a path out of its folder.
    """
    return _chosen(estate, name, _choices(estate, _listed_tables(estate), *TABLES), "rules file", TABLES)


def suites(estate: EstateFile) -> list[str]:
    """The suites of expectations that a form may name, relative to the estate file."""
    return sorted(_choices(estate, _listed_suites(estate), *SUITES))


def suite(estate: EstateFile, name: str) -> Path:
    """The file of a suite that a form names. Raises `SettingsError` as `table` does."""
    return _chosen(estate, name, _choices(estate, _listed_suites(estate), *SUITES), "suite", SUITES)


def _chosen(estate: EstateFile, name: str, choices: set[str], what: str, kind: tuple[str, tuple[str, ...]]) -> Path:
    if name in choices:
        return estate.path.parent.absolute() / name
    folder, endings = kind
    allowed = " or ".join(f"*{ending}" for ending in endings)
    raise SettingsError(
        f"{what} {printable(name)} may not be chosen. A form takes what the estate lists, and files {allowed} in "
        f"{estate.path.parent / folder}: {', '.join(sorted(choices)) or 'there are none'}"
    )


def _choices(estate: EstateFile, listed: Iterable[str], folder: str, endings: tuple[str, ...]) -> set[str]:
    """The names; the listed ones must be below the estate file's folder, as ever, and may be missing."""
    below = estate.path.parent.absolute()
    inside = below.resolve()
    named = {name: file for name in listed if (file := (below / name).resolve()).is_relative_to(inside)}
    known = set(named.values())
    for path in _standing(below / folder, endings):
        if (file := path.resolve()) not in known:
            known.add(file)
            named[path.relative_to(below).as_posix()] = file
    return set(named)


def _standing(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    inside = folder.resolve()
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.suffix in endings and path.is_file() and path.resolve().is_relative_to(inside):
            yield path


def _listed_tables(estate: EstateFile) -> Iterator[str]:
    for queue_manager in estate.estate.queue_managers.values():
        for _, workflow in queue_manager.workflows(RulesWorkflow):
            yield workflow.rules


def _listed_suites(estate: EstateFile) -> Iterator[str]:
    for queue_manager in estate.estate.queue_managers.values():
        if queue_manager.snapshot_quality:
            yield from queue_manager.snapshot_quality.suites
