"""Which runs have recorded messages, and which snapshot the page `messages` shows where nobody chooses one."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.errors import SettingsError
from mqops.lake.pruned import removed
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.runs import MOST_LOOKED_AT, Runs
from mqops.workflow import COPIES, Workflow
from mqops_airflow.pages.shared import shared

MOST_RUNS = 50
"""Newest runs that the list offers, besides the one that is shown."""
DAY = timedelta(days=1)


class Recorded(NamedTuple):
    """Parameters: `runs` that have recorded messages, newest first; `newest` of them for each workflow and its queues,
    whose snapshot was not removed; `default` the run whose snapshot is shown, "" for none."""

    runs: list[RunLine]
    newest: list[RunLine]
    default: str


@shared
def recorded_runs(place: Path, name: str) -> Recorded:
    known = Runs(place, name).caught_up()
    found = known.with_messages(MOST_RUNS + 1)
    newest = [there for one in known.newest_of_each() if (there := _with_snapshot(known, one))]
    return Recorded(found, newest, default_run(newest) or (found[0].run if found else ""))


def _with_snapshot(known: Runs, newest: RunLine) -> RunLine | None:
    """The newest run of a workflow on the same queues whose snapshot was not removed."""
    runs = known.folder / "runs"
    if RunFolder(runs / newest.run).snapshot.is_dir():
        return newest
    earlier = known.before(newest, MOST_LOOKED_AT, workflow=newest.workflow)
    return next((one for one in earlier if one.messages and RunFolder(runs / one.run).snapshot.is_dir()), None)


def default_run(newest: Sequence[RunLine]) -> str:
    """The run whose snapshot shows most: a whole snapshot before a partial one, that before a copy of earlier messages
    (as of an undo). Of snapshots at most a day older than the newest, the one with most messages."""
    wide = _widest(newest)
    since = max((datetime.fromisoformat(one.at) for one in wide), default=datetime.now(UTC)) - DAY
    fresh = [one for one in wide if datetime.fromisoformat(one.at) >= since]
    return max(fresh, key=lambda one: one.messages).run if fresh else ""


def newest_run(newest: Sequence[RunLine]) -> str:
    """The run whose snapshot is shown of one queue: the newest, as what was on the queue before it may have been read
    since. A whole snapshot before a partial one, as of `default_run`."""
    return next((one.run for one in _widest(newest)), "")


def _widest(newest: Sequence[RunLine]) -> list[RunLine]:
    """Those of the runs whose snapshots are the least incomplete, in their order."""
    best = min(map(narrow, newest), default=0)
    return [one for one in newest if narrow(one) == best]


def named(queue: str, queues: str) -> list[str]:
    """The queues of a run that a name, or a pattern such as PAY*, means. Parameters: `queues` with commas."""
    return fnmatch.filter(queues.split(","), queue)


def narrow(line: RunLine) -> int:
    """How incomplete a snapshot is: 0 whole queues, 1 a part of them, 2 copies of earlier messages."""
    return 2 if line.workflow in COPIES else int(line.partial or line.workflow == Workflow.RECOVER)


def recorded_in(run: RunFolder) -> RunFolder:
    """The same run, if it has a snapshot. Raises `SettingsError`."""
    if not run.snapshot.is_dir():
        why = (
            removed(run.snapshot)
            or f"Run {run.run} of {run.queue_manager} has no snapshot: it was removed, or never made"
        )
        raise SettingsError(f"{why}.")
    return run
