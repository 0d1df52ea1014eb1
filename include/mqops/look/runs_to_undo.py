"""Which runs an undo of several of them is about: those since a time, or the passes of a handler's session.

The index of the runs is asked, so that it costs what there is to undo, and not what the lake has.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from mqops.clock import utc_text
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.runs import Runs
from mqops.prove.records import SESSION, is_undoable


def runs_since(lake: Path, queue_manager: str, since: datetime) -> list[RunFolder]:
    """The runs of a queue manager that were begun and whose snapshot is from `since` or later, newest first.

    Parameters: `since` without a time zone is UTC. Raises `LakeError`.
    """
    aware = since if since.tzinfo else since.replace(tzinfo=UTC)
    return _undoable(lake, Runs(lake, queue_manager).begun_since(utc_text(aware)))


def runs_of_session(run: RunFolder) -> list[RunFolder]:
    """The passes of the handler that made a run, the newest first; the run alone if no handler made it, or if none of
    them has begun.

    Raises `LakeError`.
    """
    lake, passed = run.lake_folder.parent, SESSION.find(run)
    passes = Runs(lake, run.queue_manager).of_session(passed.session) if passed else ()
    return _undoable(lake, passes) or [run]


def _undoable(lake: Path, lines: Iterable[RunLine]) -> list[RunFolder]:
    """Without undos and loads."""
    folders = (RunFolder.at(lake, line.queue_manager, line.run) for line in lines)
    return [folder for folder in folders if is_undoable(folder)]
