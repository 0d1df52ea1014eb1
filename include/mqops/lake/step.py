"""How far a step is that reads or decides messages, for people: RUN/step.json and a line of the log a second.

1. The logger is `mqops.lake.step`. A task's log has it, and the command line shows it on standard error.
2. A step of less than a second says nothing. The log has the same line again after half a minute only. Nothing is
   decided by what a step says, and what cannot be written stops nothing.
3. With Spark the tasks write their counts to RUN/progress, a file for each try of a task, as those of act do later; the
   driver adds them up. A task that Spark tries again is counted twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from uuid import uuid4

import pyarrow as pa

from mqops.clock import utc_now
from mqops.counted import counted, time_to_go
from mqops.errors import LakeError
from mqops.formats import numbered
from mqops.lake.files import replace_report
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked, RunFile
from mqops.lake.task_files import listening
from mqops.printable import printable

EVERY = 1.0
"""Seconds between two lines."""
SAME_EVERY = 30.0
"""Seconds until the log has the same line again: the step is still at work."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgress:
    """How far a step is.

    Parameters: `step` observe or decide; `at` when it was so, ISO 8601 UTC; `done` messages; `of` how many are
    expected, 0 where that is not known; `seconds` since it began.
    """

    step: str
    at: str
    done: int
    of: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Messages a second since the step began."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def line(self) -> str:
        """For people: "observe: 12,000 of 200,000 messages, 9,000 a second, 21 s to go"."""
        if not self.done and self.of:
            return f"{self.step}: {counted(self.of, 'message')} to go"
        of = f"{self.done:,} of {counted(self.of, 'message')}" if self.of > self.done else counted(self.done, "message")
        to_go = time_to_go(self.of - self.done, self.per_second)
        return f"{self.step}: {of}, {self.per_second:,.0f} a second{f', {to_go}' if to_go else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfTask:
    """What one task of Spark says: `done` messages."""

    done: int = 0


STEP = RunFile("step.json", StepProgress)
_OF_TASK = Checked(_OfTask)


class Step:
    """A step from its first message to its last: a context. Parameters: `of` messages that are expected, 0 where that
    is not known."""

    def __init__(self, run: RunFolder, name: str, of: int = 0) -> None:
        self._run = run
        self._name = name
        self._of = max(0, of)
        self._done = 0
        self._began = self._told_at = self._logged_at = time.monotonic()
        self._line = ""

    def __enter__(self) -> Step:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(LakeError):
            if STEP.exists(self._run):
                STEP.remove(self._run)

    def reach(self, done: int) -> None:
        """So many messages are done."""
        self._done = done
        if time.monotonic() - self._told_at >= EVERY:
            self.tell()

    def tell(self) -> None:
        """Say how far the step is."""
        now = self._told_at = time.monotonic()
        told = StepProgress(
            step=self._name, at=utc_now(), done=self._done, of=self._of, seconds=round(now - self._began, 1)
        )
        replace_report(STEP.path(self._run), numbered(STEP.name, asdict(told)))
        if told.line != self._line or now - self._logged_at >= SAME_EVERY:
            self._line, self._logged_at = told.line, now
            _log.info("Run %s: %s", printable(self._run.run), printable(told.line))

    def counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches, each of which is done when the next one is asked for."""
        for batch in batches:
            yield batch
            self.reach(self._done + batch.num_rows)

    @contextmanager
    def heard_from_tasks(self) -> Iterator[None]:
        """While this lasts, what tasks of Spark tell by `told_by_task` is told."""

        def hear() -> None:
            self.reach(sum(map(_done_in, self._run.progress.glob("*.json"))))

        with listening(self._run, hear, every=EVERY, at_end=False):
            yield


def told_by_task(run: RunFolder, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, counted in a file of RUN/progress that the driver reads."""
    place, done, written_at = run.progress / f"{uuid4().hex}.json", 0, time.monotonic()
    for batch in batches:
        yield batch
        done += batch.num_rows
        if time.monotonic() - written_at >= EVERY:
            written_at = time.monotonic()
            replace_report(place, asdict(_OfTask(done=done)))


def _done_in(path: Path) -> int:
    with suppress(LakeError):
        return _OF_TASK.read(path).done
    return 0


def read_step(run: RunFolder) -> StepProgress | None:
    """How far a step of a run is; None where none has said so. Parameters: as it was said last."""
    with suppress(LakeError):
        return STEP.find(run)
    return None
