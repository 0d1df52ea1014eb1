"""The folder of a DAG run in the lake, and what the first task of the run hands on to the others in it.

1. A DAG run has a folder of its own, named by DAG id and run id, never one that already holds a snapshot (law 4).
2. The first task writes RUN/handed_on.json: queues, rules table, limits. Every other task finds the folder again by DAG
   id and run id and reads the file. If the first task fails, nothing of the folder stays.
3. Nothing of this is read from XComs: who may trigger a DAG may write them, and could name another folder or table.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from mqops.counted import counted
from mqops.errors import LakeError, SettingsError
from mqops.lake.files import make_folder, write_json
from mqops.lake.handed_on import HANDED_ON, HandedOn
from mqops.lake.run import RunFolder
from mqops.lake.shared import not_shared
from mqops.prove.records import SUMMARY
from mqops_airflow.runs.requester import requester
from mqops_airflow.runs.workplace import estate_to_look, lake

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate import EstateFile

XCom: TypeAlias = Mapping[str, object]
"""What a task returns: a JSON object that Airflow shows to people. No task reads it (rule 3)."""
LONGEST = 80
MOST_TRIES = 100
"""Folders of one DAG run."""
ACTING = "acting"
"""LAKE/<queue manager>/acting has a file for each run that may act and was not proved, by the name of the run."""


def run_key(dag_id: str, run_id: str) -> str:
    """A name that tells the run and is unlike every other run's, also where somebody chooses the run id for that."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{dag_id}.{run_id}")[:LONGEST].strip(".-")
    return f"{readable or 'run'}-{hashlib.sha256(f'{dag_id} {run_id}'.encode()).hexdigest()[:16]}"


def unused(lake: Path, queue_manager: str, key: str) -> RunFolder:
    """The folder of run `key`, or of `key.2` and so on where that run has left files (cleared, it runs again).

    Raises:
        SettingsError: it has run `MOST_TRIES` times.
    """
    made = folders(lake, queue_manager, key)
    if not made:
        return RunFolder.at(lake, queue_manager, key)
    number, last = made[-1]
    if not any(last.path.iterdir()):
        return last
    if number == MOST_TRIES:
        raise SettingsError(f"run {key} was cleared {counted(number - 1, 'time')}: start a new run instead")
    return RunFolder.at(lake, queue_manager, f"{key}.{number + 1}")


def folders(lake: Path, queue_manager: str, key: str) -> list[tuple[int, RunFolder]]:
    """The folders that run `key` has made, with their numbers, oldest first. The other runs of the lake are not listed:
    every task asks this."""
    first = RunFolder.at(lake, queue_manager, key).path
    names = (first, *(first.with_name(f"{first.name}.{number}") for number in range(2, MOST_TRIES + 1)))
    return [(number, RunFolder(path)) for number, path in enumerate(names, 1) if path.is_dir()]


def run_of(estate: EstateFile, dag_id: str, run_id: str) -> RunFolder | None:
    """The last folder that a DAG run has made, None where it has made none. Raises `LakeError`."""
    key = run_key(dag_id, run_id)
    for name in estate.estate.queue_managers:
        for _number, folder in reversed(folders(lake(estate), name, key)):
            if is_of(folder, dag_id, run_id):
                return folder
    return None


def is_of(folder: RunFolder, dag_id: str, run_id: str) -> bool:
    """Whether a DAG run has made this folder. Raises `LakeError`."""
    kept = HANDED_ON.find(folder)
    return kept is not None and (kept.dag_id, kept.run_id) == (dag_id, run_id)


@contextmanager
def own_folder(context: Context, lake_folder: Path, queue_manager: str) -> Iterator[RunFolder]:
    """Make the run's own folder; if the task fails with it, nothing of it stays.

    Raises:
        LakeError: the disk refuses.
    """
    run = context["dag_run"]
    folder = unused(lake_folder, queue_manager, run_key(run.dag_id, run.run_id)).create()
    try:
        yield folder
    except BaseException:
        folder.discard()
        raise


def hand_on(context: Context, folder: RunFolder, found: Mapping[str, object]) -> dict[str, object]:
    """Keep what the first task found, and who started the run, for the tasks behind it.

    Returns:
        the same with the folder's path, for people to see as XCom.

    Raises:
        LakeError: the disk refuses.
    """
    run, found = context["dag_run"], {**found, "requested_by": requester(context)}
    if found.get("acts"):
        write_json(_acting(folder.lake_folder) / folder.run, {})
    HANDED_ON.write(folder, HandedOn(dag_id=run.dag_id, run_id=run.run_id, found=found))
    return {**found, "folder": str(folder.path)}


def not_proved(lake_folder: Path) -> Iterator[RunFolder]:
    """The runs that may act and were not proved. What is no such run any more is forgotten: how many ended ones the
    lake has costs nothing. Parameters: `lake_folder` LAKE/<queue manager>. Raises `LakeError`, `OSError`."""
    for path in sorted(_acting(lake_folder).iterdir()):
        run = RunFolder(lake_folder / "runs" / path.name)
        if SUMMARY.exists(run) or not run.path.is_dir():
            path.unlink(missing_ok=True)
        elif HANDED_ON.exists(run):
            yield run


def _acting(lake_folder: Path) -> Path:
    """The folder with a file for each run that may act. Where it is not there, a version that kept none may have left
    such runs: they are noted first, and stand there all at once, or not yet."""
    place = lake_folder / ACTING
    if place.is_dir():
        return place
    new = lake_folder / f".{ACTING}.{uuid4().hex}"
    make_folder(new)
    for path in (lake_folder / "runs").iterdir():
        run = RunFolder(path)
        if HANDED_ON.exists(run) and not SUMMARY.exists(run):
            write_json(new / run.run, {})
    with suppress(OSError):  # another process was first
        new.rename(place)
    shutil.rmtree(new, ignore_errors=True)
    return place


def handed_on(dag_run: Any, queue_manager: str) -> dict[str, object]:
    """What the first task of this DAG run handed on, and `folder`, the run's path. Templates call it by this name.
    Raises as `found_folder`."""
    folder, kept = _found(dag_run, queue_manager)
    return {**kept.found, "folder": str(folder.path)}


def found_folder(dag_run: Any, queue_manager: str) -> RunFolder:
    """The folder of this DAG run.

    Raises:
        LakeError: the file cannot be read, or another DAG run wrote it.
        SettingsError: the first task has handed on nothing, or what it made is not to be seen here.
    """
    return _found(dag_run, queue_manager)[0]


def _found(dag_run: Any, queue_manager: str) -> tuple[RunFolder, HandedOn]:
    key = run_key(dag_run.dag_id, dag_run.run_id)
    made = folders(lake(estate_to_look()), queue_manager, key)
    for _number, folder in reversed(made):
        if (kept := HANDED_ON.find(folder)) is not None:
            if (kept.dag_id, kept.run_id) != (dag_run.dag_id, dag_run.run_id):
                path = HANDED_ON.path(folder)
                raise LakeError(f"{path} belongs to run {kept.run_id} of {kept.dag_id}; start a new run")
            return folder, kept
    missing = RunFolder.at(lake(estate_to_look()), queue_manager, key).path
    if not made:  # Airflow starts no task behind one that failed
        raise SettingsError(
            f"{not_shared(missing, f'the first task of run {dag_run.run_id} of {dag_run.dag_id}')}. Only where a "
            "person marked the first task, or somebody removed the folder: clear the first task and what is behind it"
        )
    raise SettingsError(
        f"the lake has no files of run {dag_run.run_id} of {dag_run.dag_id}: clear the first task and what is behind it"
    )
