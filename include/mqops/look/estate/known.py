"""What checks look at: the figures of a queue manager, and what its folder in the lake has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from mqops.clock import utc_now
from mqops.lake.run import RunFolder
from mqops.look.accounted import LedgerNow
from mqops.look.core.run_state import RunLine
from mqops.look.depths import Sample
from mqops.look.estate.expiring import Expiring
from mqops.look.figures import Figures
from mqops.look.runs import MOST_LOOKED_AT, Runs
from mqops.look.words.run_name import name_of
from mqops.workflow import COPIES

DAY = timedelta(days=1)
MOST_OF_A_DAY = 200
"""Runs of the last day that are looked at."""
MOST_ACTED = 200
"""Runs whose plans tell on which queues messages were put, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a queue manager.

    Parameters: `figures` what it says, or said last; `runs` None where they cannot be read; `broken_triggers` queue
    → why it cannot trigger; `switched_off` queues on which triggering is off, and no message waits there; `poison`
    queue → what a browse of now has found of messages that loop: of other queues the newest snapshot tells;
    `not_inquired` queues that the connection's user may not inquire; `ledger` as it was verified last; `expiring`
    as it was counted last; `sampled` the depths of the last day, oldest first, as looks found them.
    """

    name: str
    lake: Path
    figures: Figures
    runs: Runs | None = None
    broken_triggers: Mapping[str, str] = field(default_factory=dict)
    switched_off: Sequence[str] = ()
    poison: Mapping[str, str] = field(default_factory=dict)
    not_inquired: Sequence[str] = ()
    ledger: LedgerNow | None = None
    expiring: Expiring | None = None
    sampled: Sequence[Sample] = ()

    def path(self, run: RunLine) -> Path:
        """The folder of a run."""
        return RunFolder.at(self.lake, self.name, run.run).path

    def of_last_day(self) -> list[RunLine]:
        """The runs of the last day that have looked at whole queues, newest first."""
        if self.runs is None:
            return []
        since = (datetime.fromisoformat(utc_now()) - DAY).isoformat()
        found = (run for run in self.runs.since(since, 2 * MOST_OF_A_DAY) if run.workflow not in COPIES)
        return list(islice((run for run in found if not run.partial), MOST_OF_A_DAY))

    def observed(self, runs: Iterable[RunLine]) -> list[tuple[RunLine, str, int]]:
        """Each run with each queue of its snapshot, and the messages there. Raises `LakeError`."""
        return self.runs.observed(runs) if self.runs else []

    def put_on(self) -> dict[str, str]:
        """The queues on which runs put messages, each with the newest of these runs. Raises `LakeError`."""
        return self.runs.put_on(MOST_ACTED) if self.runs else {}

    def named(self, run: str) -> str:
        """A run by what it is; its key where the lake has it no more. Raises `LakeError`."""
        line = self.runs.one(run) if self.runs else None
        return name_of(line) if line else run

    def is_recorded(self, queue: str) -> bool:
        """Whether a snapshot has messages of a queue. Raises `LakeError`."""
        looked = self.runs.newest(MOST_LOOKED_AT, queue=queue) if self.runs else ()
        return any(
            messages and RunFolder(self.path(run)).snapshot.is_dir()
            for run, name, messages in self.observed(looked)
            if name == queue
        )
