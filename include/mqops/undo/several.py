"""Which runs an undo of several of them is about: those since a time, or the passes of a handler's session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from mqops.lake.run import RunFolder, folder_of
from mqops.observe.recorded import OBSERVED
from mqops.prove.records import SESSION, is_undoable


def runs_since(lake: Path, queue_manager: str, since: datetime) -> list[RunFolder]:
    """The runs of a queue manager that were begun and whose snapshot is from `since` or later, newest first.

    Parameters: `since` without a time zone is UTC. Raises `LakeError`.
    """
    aware = since if since.tzinfo else since.replace(tzinfo=UTC)
    return [run for at, run in _begun(lake, queue_manager) if at >= aware]


def runs_of_session(run: RunFolder) -> list[RunFolder]:
    """The passes of the handler that made a run, the newest first; the run alone if no handler made it.

    Raises `LakeError`.
    """
    session = _session(run)
    lake = run.lake_folder.parent
    return [one for _at, one in _begun(lake, run.queue_manager) if session and _session(one) == session] or [run]


def _begun(lake: Path, queue_manager: str) -> list[tuple[datetime, RunFolder]]:
    """The time of each run's snapshot, and the run, the newest first; without undos, loads and mere plans."""
    return sorted(_timed(folder_of(lake, queue_manager)), key=lambda one: (one[0], one[1].run), reverse=True)


def _timed(folder: Path) -> Iterator[tuple[datetime, RunFolder]]:
    for path in folder.glob("runs/*/issued.json"):
        run = RunFolder(path.parent)
        if is_undoable(run):
            yield datetime.fromisoformat(OBSERVED.read(run).observed_at), run


def _session(run: RunFolder) -> str:
    found = SESSION.find(run)
    return found.session if found else ""
