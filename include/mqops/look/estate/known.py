"""What checks look at: the figures of a queue manager, and what its folder in the lake has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from mqops.clock import utc_now
from mqops.kept import kept
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.look.accounted import LedgerNow
from mqops.look.core.run_state import RunLine
from mqops.look.estate.expiring import Expiring
from mqops.look.expiry_forecast import COPIES
from mqops.look.figures import Figures

DAY = timedelta(days=1)
MOST_OF_A_DAY = 200
"""Runs of the last day that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a queue manager.

    Parameters: `figures` what it says, or said last; `folder` LAKE/<queue manager>; `runs` newest first, none where
    they cannot be read; `broken_triggers` queue → why it cannot trigger; `switched_off` queues on which triggering is
    off, and no message waits there; `poison` queue → what a browse of now has found of messages that loop: of other
    queues the newest snapshot tells; `ledger` as it was verified last; `expiring` as it was counted last.
    """

    name: str
    lake: Path
    folder: Path
    figures: Figures
    runs: Sequence[RunLine] = ()
    broken_triggers: Mapping[str, str] = field(default_factory=dict)
    switched_off: Sequence[str] = ()
    poison: Mapping[str, str] = field(default_factory=dict)
    ledger: LedgerNow | None = None
    expiring: Expiring | None = None

    def path(self, run: RunLine) -> Path:
        """The folder of a run."""
        return self.folder / "runs" / run.run

    def of_last_day(self) -> list[RunLine]:
        """The runs of the last day that have looked at whole queues, newest first."""
        since = (datetime.fromisoformat(utc_now()) - DAY).isoformat()
        whole = (run for run in self.runs if run.messages and run.workflow not in COPIES and not run.partial)
        return list(islice((run for run in whole if run.at >= since), MOST_OF_A_DAY))

    def observed(self, runs: Iterable[RunLine]) -> Iterable[tuple[RunLine, str, int]]:
        """Each run with each queue of its snapshot, and the messages there. Raises `LakeError`."""
        return ((run, queue, messages) for run in runs for queue, messages in _observed(self.path(run)))

    def is_recorded(self, queue: str) -> bool:
        """Whether a snapshot has messages of a queue. Raises `LakeError`."""
        looked = (run for run in self.runs if run.messages and queue in run.queue.split(","))
        return any(
            messages and RunFolder(self.path(run)).snapshot.is_dir()
            for run, name, messages in self.observed(looked)
            if name == queue
        )


@kept(most=4096)
def _observed(run: Path) -> tuple[tuple[str, int], ...]:
    """The queues of a run's snapshot with their messages. Both are written once."""
    path = RunFolder(run).observe_json
    found = read_json(path) if path.exists() else {}
    return tuple((str(one["queue"]), int(one.get("messages", 0))) for one in found.get("queues", ()))
