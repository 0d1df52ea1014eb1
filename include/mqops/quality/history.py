"""What earlier runs of a queue manager found, for checks that learn; read when the first of them asks."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from mqops.lake.run import RunFolder
from mqops.message_checks import QualitySummary
from mqops.quality.trend import quality_runs

MOST_READ = 300
"""Runs whose verdicts are read: of all suites of the queue manager, each of which may be checked in runs of its own."""


class History:
    """The verdicts of earlier runs. Parameters: `run` that is checked; `now` of the check, ISO 8601."""

    def __init__(self, run: RunFolder, now: str) -> None:
        self._run = run
        self.but = run.run
        self.now = datetime.fromisoformat(now) if now else None

    @cached_property
    def runs(self) -> list[QualitySummary]:
        """The newest first; none for a snapshot that is in no lake. Raises `LakeError`."""
        if self._run.path.parent.name != "runs" or not self._run.lake_folder.is_dir():
            return []
        return quality_runs(self._run.lake_folder.parent, self._run.queue_manager, MOST_READ)
