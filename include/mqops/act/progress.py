"""Progress of acting, for people: lines in the log while messages move, and where a run stands when an error ends it.

1. The logger is `mqops.act.progress`. A task's log has it, and the command line shows it on standard error.
2. Each unit of work is a line at debug level in the process that made it. At info level there is one line a second at
   most, where anything was done since the last one, and one at the end.
3. Progress is a report. The markers on the ledger queue are the truth, and nothing is decided by it.
4. With Spark the tasks that move messages write their counts to RUN/progress, a file for each attempt of a task, once
   a second at most; the driver reads these files once a second. The lake is what both share, also with Spark Connect.
   A file that cannot be written or read stops nothing.
5. RUN/progress.json is the same for other programs, such as a page: `LiveProgress`, replaced with each line of the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from uuid import uuid4

from mqops.act.core.progress import LiveProgress, ProgressJson, Tally, TallyJson, UnitDone
from mqops.actions import moved_word
from mqops.clock import utc_now
from mqops.command import command
from mqops.counted import counted
from mqops.errors import LOST_CONNECTION, LakeError, MQError, MqopsError, OutcomeUnknown, Stopped
from mqops.formats import numbered
from mqops.lake.files import replace_report
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked, RunFile
from mqops.lake.task_files import listening
from mqops.ledger.core.marker import About
from mqops.printable import printable

_log = logging.getLogger(__name__)

PROGRESS = RunFile("progress.json", ProgressJson)
_TALLY = Checked(TallyJson)
EVERY = 1.0
"""Seconds between two lines, and between two files of a task."""


class Progress:
    """One execution of act, from its first unit of work to its end: a context.

    An error that leaves it says at its end which run it was, how many messages had moved, and the command that goes on.

    Parameters: `lengths` rows of each lane; `about` what the "issued" marker says of the plan; `reached` lane →
    its position in the ledger; `put` what is said of messages that are put, by the plan's actions.
    """

    def __init__(
        self,
        run: RunFolder,
        lengths: Sequence[int],
        about: About,
        reached: Mapping[int, int],
        *,
        put: str = moved_word(()),
    ) -> None:
        self._run = run
        self.lengths = lengths
        self._planned = counted(sum(lengths), "message")
        self._put = put
        self._about = about
        self._own = Tally(reached=dict(reached))
        self._others: Sequence[Tally] = ()
        self._began = self._shown_at = time.monotonic()
        self._shown: Tally | None = None

    def __enter__(self) -> Progress:
        if any(self.lengths):
            _log.info("Run %s: %s to act on", printable(self._run.run), printable(self._planned))
            self._keep(self._tally(), 0.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if any(self.lengths) and self._shown != self._tally():
            self._show()
        if isinstance(error, MqopsError):
            error.args = (f"{str(error).rstrip('.')}. {self._where(error)}",)

    def add(self, unit: UnitDone) -> None:
        """A unit of work was committed by this process."""
        log_unit(unit)
        self._own.add(unit)
        self._show_in_time()

    def merge_others(self, others: Sequence[Tally]) -> None:
        """What the processes that act have done until now, where others than this one do."""
        self._others = others
        self._show_in_time()

    def finished(self, lanes: Sequence[int]) -> None:
        """These lanes have come to their ends, in this execution or in an earlier one."""
        for lane in lanes:
            self._own.reach(lane, self.lengths[lane])

    def _tally(self) -> Tally:
        return self._own.merge(self._others)

    def _show_in_time(self) -> None:
        if time.monotonic() - self._shown_at >= EVERY and self._tally() != self._shown:
            self._show()

    def _show(self) -> None:
        self._shown = self._tally()
        self._shown_at = time.monotonic()
        self._keep(self._shown, self._shown_at - self._began)
        line = self._shown.line(sum(self.lengths), self._shown_at - self._began, self._put)
        _log.info("Run %s: %s", printable(self._run.run), printable(line))

    def _keep(self, tally: Tally, seconds: float) -> None:
        done = LiveProgress(at=utc_now(), planned=sum(self.lengths), seconds=round(seconds, 1), tally=tally)
        replace_report(PROGRESS.path(self._run), numbered(PROGRESS.name, done.to_json()))

    def _where(self, error: MqopsError) -> str:
        """Which run, how many messages had moved, and the command that goes on."""
        tally = self._tally()
        lost = isinstance(error, OutcomeUnknown) or (isinstance(error, MQError) and error.reason in LOST_CONNECTION)
        about = "at least " if lost or self._others else ""  # a unit of work may have been committed and not reported
        before = sum(tally.reached.values()) - tally.done
        stands = f"{about}{tally.moved:,} of {self._planned} had moved"
        stands += f", {tally.discarded:,} were discarded" if tally.discarded else ""
        stands += f", {before:,} were done before" if before > 0 else ""
        if isinstance(error, Stopped):  # it names the run and the command itself
            return f"{stands[0].upper()}{stands[1:]}."
        undone = str(self._about.get("undoes") or "")
        return f"Run {self._run.run}: {stands}. To go on: `{command_to_go_on(self._run, undone)}`"


def command_to_go_on(run: RunFolder, undone: str = "") -> str:
    """The command that goes on with a run. Parameters: `undone` the run that it undoes, "" if it is not an undo."""
    words = ("undo", undone) if undone else ("resume", run.run, "--finish")
    return command("mqops", *words, "-m", run.queue_manager, "--lake", run.lake_folder.parent.resolve())


def log_unit(unit: UnitDone) -> None:
    """The line of a unit of work at debug level."""
    _log.debug(
        "Lane %d, rows %d to %d: %d moved, %d discarded, %d failed, %d left, %d gone",
        *(unit.lane, unit.first, unit.next - 1),
        *(unit.moved, unit.discarded, unit.failed, unit.left, unit.absent),
    )


class ProgressFile:
    """What one process has done, in a file of RUN/progress that the driver reads: a context."""

    def __init__(self, run: RunFolder) -> None:
        self._path = run.progress / f"{uuid4().hex}.json"
        self._tally = Tally()
        self._written_at = float("-inf")

    def __enter__(self) -> ProgressFile:
        return self

    def __exit__(self, *_error: object) -> None:
        self._write()

    def add(self, unit: UnitDone) -> None:
        """A unit of work was committed by this process."""
        log_unit(unit)
        self._tally.add(unit)
        if time.monotonic() - self._written_at >= EVERY:
            self._write()

    def _write(self) -> None:
        self._written_at = time.monotonic()
        replace_report(self._path, self._tally.to_json())


def read_live_progress(run: RunFolder) -> LiveProgress | None:
    """How far the last execution of act had come when it last said so; None where it has said nothing."""
    with suppress(LakeError):
        if said := PROGRESS.find(run):
            tally = Tally(**said["tally"])
            return LiveProgress(at=said["at"], planned=said["planned"], seconds=said["seconds"], tally=tally)
    return None


@contextmanager
def heard_from_tasks(run: RunFolder, progress: Progress) -> Iterator[None]:
    """While this lasts, `progress` hears what the tasks write to RUN/progress. The run's lock is held."""

    def hear() -> None:
        progress.merge_others(_tallies(run))

    with listening(run, hear, every=EVERY, at_end=True):
        yield


def _tallies(run: RunFolder) -> list[Tally]:
    found = []
    for path in run.progress.glob("*.json"):
        with suppress(LakeError):
            found.append(Tally(**_TALLY.read(path)))
    return found
