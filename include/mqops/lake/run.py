"""The folder of one run: LAKE/<queue manager>/runs/<run key>/, and the names of what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import filelock

from mqops.errors import InProgress, SettingsError
from mqops.lake.files import lake_errors, make_folder
from mqops.run_key import GRAMMAR, is_run_key

LOCK_WAIT = 5
"""Other runs hold a run's lock only while they drain what it left on the ledger queue, which is soon done."""
LANE_WAIT = 0.5
"""Seconds to wait for a lane that another process works on, as long as for its ticket."""


def folder_of(lake: Path, queue_manager: str) -> Path:
    """The folder of a queue manager in the lake; two names never share one. `/` becomes `+2F`, `%` becomes `+25`.

    They are percent-encoded with `+` in place of `%`, which has a meaning of its own in the URIs that Spark makes.

    Raises:
        SettingsError: the queue manager has no name.
    """
    folder = quote(queue_manager, safe="", errors="surrogateescape").replace("%", "+")
    if not folder.strip("."):
        raise SettingsError("A run needs the name of its queue manager")
    return lake / folder


def queue_manager_of(folder: Path) -> str:
    """The queue manager whose folder `folder_of` gave."""
    return unquote(folder.name.replace("+", "%"))


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps its snapshot, plan, summaries and retry counts."""

    path: Path

    @classmethod
    def at(cls, lake: Path, queue_manager: str, run: str) -> RunFolder:
        """The folder of a run.

        Raises:
            SettingsError: the queue manager has no name, or `run` cannot be the key of a run.
        """
        folder = folder_of(lake, queue_manager)
        if not is_run_key(run):
            raise SettingsError(f"{run!r} is not the key of a run, which is {GRAMMAR}")
        return cls(folder / "runs" / run)

    @classmethod
    def planned(cls, lake: Path, queue_manager: str, run: str) -> RunFolder:
        """The folder of a run that has a plan.

        Raises:
            SettingsError: the lake has none.
        """
        found = cls.at(lake, queue_manager, run)
        if not found.plan_json.exists():
            raise SettingsError(f"{lake} has no run {run} of {queue_manager} with a plan")
        return found

    def create(self) -> RunFolder:
        """Make the folder, private. Raises `LakeError` where that fails."""
        make_folder(self.path)
        return self

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
        """Folder of Parquet files: what is to become of each message."""
        return self.path / "plan"

    @property
    def observe_json(self) -> Path:
        """Summary of the snapshot, written once it is durable."""
        return self.path / "observe.json"

    @property
    def plan_json(self) -> Path:
        """Summary of the plan with its digest."""
        return self.path / "plan.json"

    @property
    def issued_json(self) -> Path:
        """Note that the tickets of a plan were issued, with the number of lanes."""
        return self.path / "issued.json"

    @property
    def canary_json(self) -> Path:
        """The canaries: what stood on the watched queues before they moved, and what was decided."""
        return self.path / "canary.json"

    @property
    def act_json(self) -> Path:
        """Summary of the last execution of act."""
        return self.path / "act.json"

    @property
    def summary_json(self) -> Path:
        """The proved outcome."""
        return self.path / "summary.json"

    @property
    def tries(self) -> Path:
        """Retry counts of earlier runs for the snapshot's messages, a JSON object a line."""
        return self.path / "tries.jsonl"

    @property
    def expiry_json(self) -> Path:
        """Summary of a scan for expired messages."""
        return self.path / "expiry.json"

    @property
    def backout_json(self) -> Path:
        """Backout reprocessing: which queue names which backout queue, replay cap and quarantine."""
        return self.path / "backout.json"

    @property
    def replays(self) -> Path:
        """How often the snapshot's messages were put back before, a JSON object a line."""
        return self.path / "replays.jsonl"

    @property
    def undo_json(self) -> Path:
        """An undo: which run it undoes, and which undos of that run there were before."""
        return self.path / "undo.json"

    @property
    def outcomes_json(self) -> Path:
        """What was last seen of the messages that the run moved, in numbers."""
        return self.path / "outcomes.json"

    @property
    def anatomy_json(self) -> Path:
        """What the dead-letter queue was made of, and its growth."""
        return self.path / "anatomy.json"

    @property
    def anatomy_prom(self) -> Path:
        """The same as OpenMetrics text."""
        return self.path / "anatomy.prom"

    @contextmanager
    def lock(self, *, wait: float = LOCK_WAIT) -> Iterator[None]:
        """Hold the run for one execution of act, or while its markers are drained.

        Parameters: `wait` seconds for whoever holds it.

        Raises:
            InProgress: another process holds it.
            LakeError: the lock file cannot be made.
        """
        lock = filelock.FileLock(self.path / "act.lock", mode=0o600)
        with lake_errors(self.path):
            try:
                lock.acquire(timeout=wait)
            except filelock.Timeout as error:
                raise InProgress(f"Another process acts on run {self.run}; wait for it to end") from error
        try:
            yield
        finally:
            lock.release()

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
