"""The folder of one run: LAKE/<queue manager>/runs/<run key>/, its key and its locks. What a room keeps there in JSON
it declares itself (`mqops.lake.run_file`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import filelock

from mqops.counted import counted
from mqops.errors import InProgress, SettingsError
from mqops.lake.files import CHANGED, lake_errors, make_folder, mark, refuse_foreign
from mqops.lake.lock_file import locked
from mqops.run_key import GRAMMAR, is_run_key

LOCK_WAIT = 5
"""Other runs hold a run's lock only while they drain what it left on the ledger queue, which is soon done."""
MOST_NAMED = 5
"""Runs that an error names."""
LANE_WAIT = 0.5
"""Seconds to wait for a lane that another process works on, as long as for its lane token."""


def folder_of(lake: Path, queue_manager: str) -> Path:
    """The folder of a queue manager in the lake; two names never share one. `/` becomes `+2F`, `%` becomes `+25`.

    They are percent-encoded with `+` in place of `%`, which has a meaning of its own in the URIs that Spark makes.

    Raises:
        SettingsError: the queue manager has no name.
        LakeError: another user can change what is there.
    """
    folder = quote(queue_manager, safe="", errors="surrogateescape").replace("%", "+")
    if not folder.strip("."):
        raise SettingsError("A run needs the name of its queue manager")
    found = lake / folder
    refuse_foreign(lake, found, found / "runs", found / "ledger")
    return found


def run_folders(folder: Path) -> Iterator[tuple[str, int]]:
    """The key of each run in a queue manager's folder, and when the run's folder changed, in nanoseconds.

    Raises:
        LakeError: the folder cannot be read.
    """
    runs = folder / "runs"
    with lake_errors(runs):
        if not runs.is_dir():
            return
        with os.scandir(runs) as entries:
            for entry in entries:
                if is_run_key(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield entry.name, entry.stat(follow_symlinks=False).st_mtime_ns


def queue_manager_of(folder: Path) -> str:
    """The queue manager whose folder `folder_of` gave."""
    return unquote(folder.name.replace("+", "%"))


def queue_managers(lake: Path) -> list[str]:
    """The queue managers that have runs in a lake."""
    return sorted(queue_manager_of(path.parent) for path in lake.glob("*/runs"))


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps its snapshot and its plan."""

    path: Path

    @classmethod
    def at(cls, lake: Path, queue_manager: str, run: str) -> RunFolder:
        """The folder of a run.

        Raises:
            SettingsError: the queue manager has no name, or `run` cannot be the key of a run.
            LakeError: another user can change what is there.
        """
        folder = folder_of(lake, queue_manager)
        if not is_run_key(run):
            raise SettingsError(f"{run!r} is not the key of a run, which is {GRAMMAR}")
        return cls(folder / "runs" / run)

    def create(self) -> RunFolder:
        """Make the folder, private. Raises `LakeError` where that fails."""
        make_folder(self.path)
        make_folder(self.lake_folder / CHANGED)
        return self

    def discard(self) -> None:
        """Remove the folder of a run that was never begun, and that nobody will carry out. Raises `LakeError`."""
        if self.issued_json.exists():
            return  # markers of it may be on the ledger queue
        with lake_errors(self.path):
            shutil.rmtree(self.path, ignore_errors=True)
        mark(self.plan_json)

    @property
    def run(self) -> str:
        """The run's key."""
        return self.path.name

    @property
    def lake_folder(self) -> Path:
        """The queue manager's folder in the lake."""
        return self.path.parent.parent

    @property
    def queue_manager(self) -> str:
        """The queue manager's name."""
        return queue_manager_of(self.lake_folder)

    @property
    def snapshot(self) -> Path:
        """Folder of Parquet files: every message whole."""
        return self.path / "snapshot"

    @property
    def plan(self) -> Path:
        """Folder of Parquet files: the action for each message."""
        return self.path / "plan"

    @property
    def plan_json(self) -> Path:
        """Summary of the plan with its digest: a run without it has no plan (`mqops.decide.recorded`)."""
        return self.path / "plan.json"

    @property
    def issued_json(self) -> Path:
        """Note that the lane tokens of a plan were issued: the run was begun (`mqops.ledger.noted`)."""
        return self.path / "issued.json"

    @property
    def progress(self) -> Path:
        """Folder of what the Spark tasks of act have done so far; it is there while they act."""
        return self.path / "progress"

    @property
    def tries(self) -> Path:
        """Retry counts of earlier runs for the snapshot's messages, a JSON object a line."""
        return self.path / "tries.jsonl"

    @property
    def quality_json(self) -> Path:
        """What quality checks found in the snapshot: the verdict of the run (`mqops.quality.results`)."""
        return self.path / "quality" / "quality.json"

    @property
    def quality_checks(self) -> Path:
        """Each quality check of the snapshot, in a folder of its own: result, failures, Data Docs."""
        return self.path / "quality" / "checks"

    @property
    def gated(self) -> Path:
        """What the gate says of the messages that it holds back, one a line (`mqops.decide.gate`)."""
        return self.path / "gated.jsonl"

    @property
    def replays(self) -> Path:
        """How often the snapshot's messages were put back before, a JSON object a line."""
        return self.path / "replays.jsonl"

    @contextmanager
    def lock(self, *, wait: float = LOCK_WAIT, does: str = "") -> Iterator[None]:
        """Hold the run for one execution of act, or while its markers are drained.

        Parameters: `wait` seconds to wait for the process that has it; `does` what that process does, by default it
        acts on the run.

        Raises:
            InProgress: another process holds it.
            LakeError: the lock file cannot be made, or another user can change the run.
        """
        refuse_foreign(self.lake_folder.parent, self.lake_folder, self.path.parent, self.path)
        refused = InProgress(f"Another process {does or f'acts on run {self.run}'}; wait for it to end")
        with locked(self.path / "act.lock", wait=wait, refused=refused, place=self.path):
            yield

    @contextmanager
    def lane_lock(self, lane: int) -> Iterator[bool]:
        """Hold a lane while it is worked on; gives False, and holds nothing, where another process has it.

        Raises:
            LakeError: the lock file cannot be made.
        """
        lock = filelock.FileLock(self.path / f"lane-{lane}.lock", mode=0o600)
        with lake_errors(self.path):
            try:
                lock.acquire(timeout=LANE_WAIT)
            except filelock.Timeout:
                yield False
                return
        try:
            yield True
        finally:
            lock.release()


def find_run(lake: Path, *, key: str, queue_manager: str = "", planned: bool = False) -> RunFolder:
    """The folder of a run that the lake has.

    Parameters: `key` of the run, or the beginning of it if no other run's key begins so; `queue_manager` "" if only one
    queue manager has a run with this key; `planned` whether the run must have a plan.

    Raises:
        SettingsError: the lake has no such run, or several queue managers have one, or it has no plan; or the keys of
            several runs begin so.
        LakeError: another user can change the run's folder.
    """
    whole = RunFolder.at(lake, queue_manager or "any", key)
    if queue_manager and whole.path.is_dir() and (whole.plan_json.exists() or not planned):
        return whole
    name, places = whole.run, [whole.path.parent] if queue_manager else sorted(lake.glob("*/runs"))
    found = [RunFolder(place / name) for place in places if (place / name).is_dir()]
    if not found:  # all runs are listed only where no key is given in full
        begun = (path for place in places for path in sorted(place.glob("*")) if path.name.startswith(name))
        found = [RunFolder(path) for path in begun if path.is_dir()]
    if len({run.run for run in found}) > 1:
        raise SettingsError(
            f"{lake} has {counted(len(found), 'run')} whose keys begin with {key}: name one of "
            f"{', '.join(run.run for run in found[:MOST_NAMED])}{', ...' if len(found) > MOST_NAMED else ''}"
        )
    if len(found) > 1:
        names = ", ".join(run.queue_manager for run in found)
        raise SettingsError(f"{lake} has runs {found[0].run} of {names}: name the queue manager with -m")
    if not found:
        of = f" of {queue_manager}" if queue_manager else ""
        raise SettingsError(f"{lake} has no run {key}{of}{' with a plan' if planned else ''}")
    if planned and not found[0].plan_json.exists():
        raise SettingsError(f"Run {found[0].run} has no plan, so it moved nothing: start a new run")
    return found[0]
