"""The kill switch: a file in a run's folder, or in the queue manager's folder for all its runs, that says stop.

Every machine that shares the lake sees it: act looks for it before each unit of work. The file says who and when,
and it is written in one step. A run's folder that cannot be seen counts as an error, never as "go on".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mqops.command import command
from mqops.errors import LakeError, Stopped
from mqops.iso_time import moment
from mqops.lake.files import FILE_MODE, lake_errors, make_folder, mark, refuse_newer, write_json
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.model import AsJson
from mqops.printable import printable

NAME = "stop.json"
LIFTED = "stops_lifted.json"
"""Beside it: the stops that were taken back, oldest first."""
MOST_LIFTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(AsJson):
    """Who stopped it, when (UTC, ISO 8601), and why."""

    by: str = ""
    at: str = ""
    why: str = ""

    def __str__(self) -> str:
        """One line for people: who stopped it may have put anything into it."""
        return printable(f"by {self.by} at {self.at}" + (f" ({self.why})" if self.why else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedStop(Stop):
    """A stop that was taken back: by whom and when (UTC, ISO 8601), blank where nobody told."""

    lifted_by: str = ""
    lifted_at: str = ""

    def __str__(self) -> str:
        """One line for people."""
        who = f" by {self.lifted_by}" if self.lifted_by else ""
        when = f" at {self.lifted_at}" if self.lifted_at else ""
        return Stop.__str__(self) + printable(f"; taken back{who}{when}")

    def within(self, begin: datetime, end: datetime) -> bool:
        """Whether it was in force between two times. People write such files, too: of a stop whose beginning cannot be
        read it is known that it was in force when it was taken back."""
        over = moment(self.lifted_at) or end
        return (moment(self.at) or over) <= end and over >= begin


_STOP = Checked(Stop)
_LIFTED = Checked(list[LiftedStop])


def stop(folder: Path, what: Stop) -> Stop:
    """Stop a run (`RunFolder.path`) or every run of a queue manager (`RunFolder.lake_folder`).

    Returns the stop that is in force: the first one. On a full disk it is an empty file, which needs no room and counts
    as a stop: it does not say who stopped it.

    Raises:
        LakeError: it cannot be written.
    """
    earlier = stop_in(folder)
    if earlier is not None:
        return earlier
    make_folder(folder)
    try:
        write_json(folder / NAME, what.to_json())
    except LakeError:
        with lake_errors(folder / NAME):
            os.close(os.open(folder / NAME, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, FILE_MODE))
        mark(folder / NAME)
    return what


def lift(folder: Path, *, by: str = "", at: str = "") -> Stop | None:
    """Remove a stop and return it; None if there was none. What was taken back is kept (`lifted_in`).

    Parameters: `by` whom, and `at` which time (UTC, ISO 8601), it is taken back. Raises `LakeError`.
    """
    earlier = stop_in(folder)
    if earlier is not None:
        lifted = LiftedStop(by=earlier.by, at=earlier.at, why=earlier.why, lifted_by=by, lifted_at=at)
        with suppress(LakeError):  # on a full disk the stop is taken back all the same
            if (folder / LIFTED).exists():
                refuse_newer(folder / LIFTED, (folder / LIFTED).read_bytes())
            before = [one for one in lifted_in(folder) if (one.by, one.at) != (earlier.by, earlier.at)]
            write_json(folder / LIFTED, [one.to_json() for one in (*before, lifted)][-MOST_LIFTED:])
    with lake_errors(folder / NAME):
        (folder / NAME).unlink(missing_ok=True)
    mark(folder / NAME)
    return earlier


def stop_in(folder: Path) -> Stop | None:
    """The stop in a folder. A stop file that cannot be read counts as a stop."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        return _STOP.read(path)
    except LakeError:
        return Stop(by="an unreadable file", at=str(path)) if path.exists() else None


def lifted_in(folder: Path) -> list[LiftedStop]:
    """The stops of a folder that were taken back, oldest first; none where they cannot be read."""
    path = folder / LIFTED
    try:
        return _LIFTED.read(path) if path.exists() else []
    except LakeError:
        return []


def is_stopped(run: RunFolder) -> bool:
    """Whether the run or its queue manager is stopped.

    Raises:
        LakeError: this process cannot see the run's folder, so `mqops stop` could not stop it.
    """
    if (run.path / NAME).exists() or (run.lake_folder / NAME).exists():
        return True
    if not run.path.is_dir():
        raise LakeError(
            f"This process cannot see the folder {run.path}, so `mqops stop` could not stop it: "
            "mount the lake on this machine"
        )
    return False


def stops_of(run: RunFolder) -> list[str]:
    """The stops that are in force for a run, its own and its queue manager's, in words."""
    return [f"{what} was stopped {found}" for what, found, _resume in _in_force(run)]


def refuse_if_stopped(run: RunFolder) -> None:
    """Raise `Stopped` with who stopped it and how to go on."""
    for what, found, resume in _in_force(run):
        raise Stopped(
            f"{what} was stopped {found}. What was done is in the ledger, everything else is where it was. "
            f"To go on: `{resume}` (in Airflow: run mq_stop with Do = resume), then clear the task act, or "
            f"`{command('mqops', 'resume', run.run, '--finish')}`"
        )


def _in_force(run: RunFolder) -> Iterator[tuple[str, Stop, str]]:
    """What is stopped, the stop, and the command that takes it back."""
    name = run.queue_manager
    for folder, what, resume in (
        (run.path, f"Run {run.run}", command("mqops", "resume", run.run)),
        (run.lake_folder, f"All acting on {name}", command("mqops", "resume", "-m", name)),
    ):
        found = stop_in(folder)
        if found is not None:
            yield what, found, resume
