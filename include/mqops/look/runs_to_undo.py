"""Which runs an undo of several of them is about: those since a time, or the passes of a handler's session.

The index of the runs is asked, so that it costs what there is to undo, and not what the lake has.

1. Runs are undone newest first: what a later run moved on is back before the earlier run looks for it.
2. So where a run cannot be undone because its files cannot be read, the earlier runs that share a queue with it are
   left, too, and then those that share one with these: what they moved may be where the later run has put it. An undo
   looks for each message before it moves it, so nothing would be lost or doubled where a queue has another name here
   than there (an alias); but such a message would be told as consumed.
3. The queues of a run are those that it read and, by its plan, those that it put messages on. Of a run that cannot be
   read they are what the index had of it before, as is its time. Where the index never had it, its time is the last
   change of its folder at the latest, and it may have shared every queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from mqops.clock import utc_text
from mqops.errors import LakeError
from mqops.lake.files import lake_errors
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.runs import Damaged, Runs
from mqops.prove.records import SESSION, has_taken, is_undoable

ANY = frozenset[str]()
"""The queues of a run of which they are not known."""


class InOrder(NamedTuple):
    """A run in the order of the undos. Parameters: `at` its time, ISO 8601 UTC; `queues` that it read and put messages
    on, none for any."""

    run: RunFolder
    at: str
    queues: frozenset[str]

    def may_have_moved_on(self, earlier: InOrder) -> bool:
        """Whether messages of another run may have been moved on by this one (rules 2 and 3)."""
        later = (self.at, self.run.run) > (earlier.at, earlier.run.run)
        return later and not (self.queues and earlier.queues and self.queues.isdisjoint(earlier.queues))


@dataclass(slots=True)
class ToUndo:
    """Parameters: `runs` to undo, newest first; `damaged` runs that cannot be read, for which no undo begins;
    `in_the_way` these, and those that were left because of one."""

    runs: list[InOrder]
    damaged: list[Damaged] = field(default_factory=list)
    in_the_way: list[InOrder] = field(default_factory=list)

    def left_for(self, run: InOrder) -> RunFolder | None:
        """The run because of which this one is left (rule 2), and in the way itself; None where it can be undone."""
        why = next((one.run for one in self.in_the_way if one.may_have_moved_on(run)), None)
        if why is not None:
            self.in_the_way.append(run)
        return why

    def cannot_be_read(self, run: InOrder, error: LakeError) -> Damaged:
        """A run that was found so before its undo began."""
        self.in_the_way.append(run)
        self.damaged.append(Damaged(run.run.queue_manager, run.run.run, error))
        return self.damaged[-1]


def run_alone(run: RunFolder) -> ToUndo:
    """A run that was named: the others do not matter."""
    return ToUndo([InOrder(run, "", ANY)])


def runs_since(lake: Path, queue_manager: str, since: datetime) -> ToUndo:
    """The runs of a queue manager that were begun and whose snapshot is from `since` or later.

    Parameters: `since` without a time zone is UTC. Raises `LakeError`.
    """
    at = utc_text(since if since.tzinfo else since.replace(tzinfo=UTC))
    return _to_undo(Runs(lake, queue_manager), lambda runs: runs.begun_since(at), lambda one: one.at >= at)


def runs_of_session(run: RunFolder) -> ToUndo:
    """The passes of the handler that made a run; the run alone if no handler made it, or if none of them has begun.

    Raises `LakeError`.
    """
    if passed := SESSION.find(run):
        session = passed.session
        runs = Runs(run.lake_folder.parent, run.queue_manager)
        found = _to_undo(runs, lambda runs: runs.of_session(session), lambda one: _may_be_of(session, one.run))
        if found.runs or found.damaged:
            return found
    return run_alone(run)


def _may_be_of(session: str, run: RunFolder) -> bool:
    try:
        passed = SESSION.find(run)
    except LakeError:
        return True
    return passed is not None and passed.session == session


def _to_undo(runs: Runs, question: Callable[[Runs], Iterable[RunLine]], concerns: Callable[[InOrder], bool]) -> ToUndo:
    """Without undos and loads. Parameters: `concerns` whether a run that cannot be read is one of them."""
    unread = dict[str, LakeError]()
    runs = replace(runs, damaged=unread)
    folders = (RunFolder.at(runs.lake, runs.queue_manager, line.run) for line in question(runs))
    found = ToUndo(_in_order(runs, [folder for folder in folders if is_undoable(folder)]))
    damaged = (RunFolder.at(runs.lake, runs.queue_manager, run) for run in unread)
    for one in _in_order(runs, [folder for folder in damaged if has_taken(folder)]):
        if concerns(one):
            found.in_the_way.append(one)
            found.damaged.append(Damaged(runs.queue_manager, one.run.run, unread[one.run.run]))
    return found


def _in_order(runs: Runs, folders: Sequence[RunFolder]) -> list[InOrder]:
    """These runs by what the index has of them (rule 3)."""
    known = runs.queues_of([folder.run for folder in folders])
    return [
        InOrder(folder, *known[folder.run]) if folder.run in known else InOrder(folder, _changed(folder), ANY)
        for folder in folders
    ]


def _changed(folder: RunFolder) -> str:
    with lake_errors(folder.path):
        return utc_text(datetime.fromtimestamp(folder.path.stat().st_mtime, UTC))
