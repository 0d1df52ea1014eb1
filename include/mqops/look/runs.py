"""The runs of a lake, newest first, by their index (`mqops.look.runs_index`): what did not change is not read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar, Unpack

from mqops.clock import utc_now, utc_text
from mqops.errors import LakeError
from mqops.lake.run import folder_of, queue_manager_of, queue_managers
from mqops.lake.stop import stop_in
from mqops.look.core.run_state import BEGUN_AND_OPEN, RunLine, as_of
from mqops.look.run_row import row_of
from mqops.look.runs_fitting import Fitting
from mqops.look.runs_index import RunsIndex, asked, open_index
from mqops.look.words.run_name import name_of
from mqops.look.words.state import RunState
from mqops.workflow import COPIES

T = TypeVar("T")
MOST_LOOKED_AT = 50
"""Runs of which the newest is sought that has still what is needed: a retention removes that of the oldest."""


class Damaged(NamedTuple):
    """A run that cannot be read, and why: the text names the file, and says what to do."""

    queue_manager: str
    run: str
    error: LakeError

    def sentence(self) -> str:
        """It is named, with what to do."""
        return f"Run {self.run} of {self.queue_manager} cannot be read: {self.error}"


class Such(TypedDict, total=False):
    """Which runs. Parameters: `queue_manager`, `queue` and `workflow` "" for all; `states` none for all; `since` only
    runs whose snapshot is not older, UTC."""

    queue_manager: str
    queue: str
    workflow: str
    states: Collection[RunState]
    since: datetime | None


def list_runs(
    lake: Path, *, limit: int = 0, damaged: list[Damaged] | None = None, **such: Unpack[Such]
) -> list[RunLine]:
    """The runs that fit, newest first. Parameters: `limit` the newest of them, 0 for all; `damaged` gets the runs that
    cannot be read, whether they fit or not.

    Raises:
        LakeError: a run cannot be read, and `damaged` is None; or another user can change the lake.
    """
    found: list[RunLine] = []
    for runs in _runs(lake, such):
        unread = None if damaged is None else dict[str, LakeError]()
        found += replace(runs, damaged=unread).fitting(limit, **such)
        if damaged is not None:
            damaged += (Damaged(runs.queue_manager, run, error) for run, error in (unread or {}).items())
    found.sort(key=lambda line: (line.at, line.run), reverse=True)
    return found[:limit] if limit else found


def count_runs(lake: Path, *, most: int, **such: Unpack[Such]) -> int:
    """How many runs fit, by the index, without those that cannot be read. No more than `most` of a queue manager are
    counted. Raises `LakeError`: another user can change the lake."""
    return min(most, sum(replace(runs, damaged={}).number(most, **such) for runs in _runs(lake, such)))


def _runs(lake: Path, such: Such) -> list[Runs]:
    if name := such.get("queue_manager"):
        return [Runs(lake, name)]
    return [Runs(lake, name) for name in queue_managers(lake)]


def _fitting(**such: Unpack[Such]) -> Fitting:
    since = such.get("since")
    aware = since if since is None or since.tzinfo else since.replace(tzinfo=UTC)
    return Fitting(
        queue=such.get("queue", ""), workflow=such.get("workflow", ""), since=utc_text(aware) if aware else ""
    )


class _Wanted(NamedTuple):
    """A condition of the index. Parameters: `where` SQL, with a ? for each of the `values`."""

    where: str = "1"
    values: tuple[object, ...] = ()


def _few(where: str) -> str:
    """A condition that few runs fit: they are found by its own index, and sorted then. As it stands SQLite would read
    all runs in the order in which they are asked for."""
    return f"run IN (SELECT run FROM run WHERE {where})"  # noqa: S608 - ours


_NO_COPY = f"workflow NOT IN ({', '.join('?' * len(COPIES))})"
"""Not of an undo or a load, whose snapshots are not of a queue."""
_MAY_HAVE = f"(snapshot OR plan) AND (least_id IS NULL OR least_id <= ? AND greatest_id >= ?) AND {_NO_COPY}"
_BEHIND = (
    "SELECT queue_of.at, run FROM queue_of CROSS JOIN run USING (run) "  # noqa: S608 - ours
    f"WHERE queue = ? AND (queue_of.at, run) > (?, ?) AND snapshot AND {_NO_COPY} ORDER BY queue_of.at, run LIMIT ?"
)
_UNDOES = _few("undoes = ? AND undoes <> ''")
_MAY_GO_ON = _few("state IN ('unfinished', 'stopped')")
_QUEUES = """
WITH RECURSIVE named (queue) AS (
    SELECT MIN(queue) FROM queue_of
    UNION ALL SELECT (SELECT MIN(queue) FROM queue_of WHERE queue > named.queue)
    FROM named WHERE named.queue IS NOT NULL
) SELECT queue FROM named WHERE queue IS NOT NULL"""
"""Each queue once: a step in the index for each, and not for each run."""
_NEWEST_OF_EACH = """
WITH RECURSIVE works (workflow) AS (
    SELECT MIN(workflow) FROM run WHERE messages
    UNION ALL SELECT (SELECT MIN(workflow) FROM run WHERE messages AND workflow > works.workflow)
    FROM works WHERE works.workflow IS NOT NULL
), kinds (workflow, queues) AS (
    SELECT workflow, (SELECT MIN(queues) FROM run WHERE messages AND workflow = works.workflow)
    FROM works WHERE workflow IS NOT NULL
    UNION ALL SELECT workflow, (
        SELECT MIN(queues) FROM run WHERE messages AND workflow = kinds.workflow AND queues > kinds.queues
    ) FROM kinds WHERE kinds.queues IS NOT NULL
) SELECT (
    SELECT run FROM run WHERE messages AND workflow = kinds.workflow AND queues = kinds.queues
    ORDER BY at DESC, run DESC LIMIT 1
) FROM kinds WHERE queues IS NOT NULL"""
"""The newest run with messages of each workflow and its queues: a step in the index `by_queues` for each of them."""


def stored(states: Collection[RunState], *, stopped: bool) -> frozenset[RunState] | None:
    """The states that a row has whose run is in one of these states now (`as_of`): None for all where none is given.

    Parameters: `stopped` whether all runs of the queue manager are stopped.
    """
    if not states:
        return None
    if not stopped:
        return frozenset(states)
    return frozenset(states) | BEGUN_AND_OPEN if RunState.STOPPED in states else frozenset(states) - BEGUN_AND_OPEN


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a queue manager: questions, each of which costs what it answers. All raise `LakeError`: a run cannot
    be read.

    Parameters: `fresh` whether what changed was read just now; `index` the index that a look has open (`one_look`);
    `damaged` gets the runs that cannot be read, which raise nothing then and which no answer has; for who tells them
    beside the others.
    """

    lake: Path
    queue_manager: str
    fresh: bool = False
    index: RunsIndex | None = field(default=None, compare=False)
    damaged: dict[str, LakeError] | None = field(default=None, compare=False)

    @classmethod
    def in_folder(cls, folder: Path) -> Runs:
        """Parameters: `folder` LAKE/<queue manager>."""
        return cls(folder.parent, queue_manager_of(folder))

    @property
    def folder(self) -> Path:
        """LAKE/<queue manager>."""
        return self.index.folder if self.index else folder_of(self.lake, self.queue_manager)

    def caught_up(self, *, but: str = "") -> Runs:
        """The same runs for several questions of one look: changes are read now, and not for each question again.

        Parameters: `but` the key of a run that is about to change further, and is not asked about.
        """
        asked(self.folder, self.queue_manager, row_of, lambda _index: None, but=but)
        return replace(self, fresh=True)

    @contextmanager
    def one_look(self) -> Iterator[Runs]:
        """As `caught_up`, with an index that stays open meanwhile: for a look with many questions."""
        runs = self.caught_up()
        with open_index(runs.folder, self.queue_manager) as index:
            yield replace(runs, index=index)

    def such(self, wanted: _Wanted, *, limit: int = 0) -> list[RunLine]:
        """The runs that fit, as they are now. Parameters: `limit` the newest of them, 0 for all."""
        now, stopped = utc_now(), stop_in(self.folder) is not None

        def lines(index: RunsIndex) -> list[RunLine]:
            found = index.lines(wanted.where, wanted.values, limit=limit or -1)
            return [as_of(line, now, stopped=stopped) for line in found if self._whole(line)]

        return self.ask(lines)

    def fitting(self, limit: int = 0, **such: Unpack[Such]) -> list[RunLine]:
        """The runs that fit, as they are now, newest first. Parameters: as of `list_runs`."""
        return self.that_fit(_fitting(**such), such.get("states", ()), limit)

    def that_fit(self, wanted: Fitting, states: Collection[RunState], limit: int) -> list[RunLine]:
        """The runs that fit and that are in one of the states now, newest first. Parameters: `states` none for all;
        `limit` the newest of them, 0 for all."""
        now, stopped = utc_now(), stop_in(self.folder) is not None
        wanted = replace(wanted, states=stored(states, stopped=stopped))

        def lines(index: RunsIndex) -> list[RunLine]:
            found = (as_of(line, now, stopped=stopped) for line in wanted.lines(index) if self._whole(line))
            return list(islice((line for line in found if not states or line.state in states), limit or None))

        return self.ask(lines)

    def number(self, most: int, **such: Unpack[Such]) -> int:
        """How many runs fit, counted up to `most` by the index alone, without those that cannot be read. Parameters: as
        of `list_runs`."""
        states = stored(such.get("states", ()), stopped=stop_in(self.folder) is not None)
        wanted = replace(_fitting(**such), states=states)

        def number(index: RunsIndex) -> int:
            unread = len(list(replace(wanted, only=self.damaged).lines(index))) if self.damaged else 0
            return wanted.number(index, most + unread) - unread

        return self.ask(number)

    def newest(self, limit: int, *, queue: str = "", workflow: str = "") -> list[RunLine]:
        """The newest runs of a queue or a workflow."""
        return self.fitting(limit, queue=queue, workflow=workflow)

    def before(self, line: RunLine, limit: int, *, workflow: str) -> list[RunLine]:
        """The newest runs of a workflow on the same queues that are older than a run."""
        where = "workflow = ? AND queues = ? AND at <= ? AND run <> ?"
        return self.such(_Wanted(where, (workflow, line.queue, line.at, line.run)), limit=limit)

    def snapshots_before(self, line: RunLine, limit: int) -> list[RunLine]:
        """The newest runs with a snapshot of one of a run's queues, of any workflow, that are older."""
        queues = line.queue.split(",")
        looked = f"SELECT run FROM queue_of WHERE queue IN ({', '.join('?' * len(queues))}) AND at <= ?"  # noqa: S608 - only marks
        wanted = f"snapshot AND at <= ? AND run <> ? AND run IN ({looked})"
        return self.such(_Wanted(wanted, (line.at, line.run, *queues, line.at)), limit=limit)

    def since(self, at: str, limit: int) -> list[RunLine]:
        """The newest runs whose snapshots have messages and are not older. Parameters: `at` ISO 8601 UTC."""
        return self.such(_Wanted("messages AND at >= ?", (at,)), limit=limit)

    def one(self, run: str) -> RunLine | None:
        """The run of this key; None where the lake has none."""
        return next(iter(self.such(_Wanted("run = ?", (run,)))), None)

    def named(self, run: str) -> str:
        """A run in a sentence: by what it is; by its key where the lake has it no more."""
        line = self.one(run)
        return f'the run "{name_of(line)}"' if line else f"run {run}"

    def proved_since(self, at: str) -> list[RunLine]:
        """The runs that were proved since. Parameters: `at` ISO 8601 UTC."""
        return self.such(_Wanted(_few("proved_at >= ?"), (at,)))

    def proved_last(self, limit: int) -> list[str]:
        """The keys of the runs that were proved last, without undos, and without runs whose snapshots are not there
        (any more)."""
        such = "snapshot AND proved_at <> '' AND undoes = ''"
        statement = f"SELECT run FROM run WHERE {such} ORDER BY proved_at DESC LIMIT ?"  # noqa: S608 - ours
        return [str(run) for (run,) in self._rows(statement, limit)]

    def queues(self) -> list[str]:
        """The queues that a run has looked at."""
        return [str(queue) for (queue,) in self._rows(_QUEUES) if queue]

    def newest_of_each(self) -> list[RunLine]:
        """Of the runs whose snapshots have messages, the newest of each workflow and its queues, newest first."""
        return self.such(_Wanted(f"run IN ({_NEWEST_OF_EACH})"))

    def with_messages(self, limit: int) -> list[RunLine]:
        """The newest runs whose snapshots have messages."""
        return self.such(_Wanted("messages"), limit=limit)

    def in_states(self, *states: RunState) -> list[RunLine]:
        """The runs that are in one of the states now."""
        return self.fitting(states=states)

    def that_ask(self) -> list[RunLine]:
        """The runs that wait for an approval that somebody can still give."""
        return [line for line in self.such(_Wanted(_few("asks"))) if line.asks]

    def put_on(self, most: int) -> dict[str, str]:
        """The queues of this queue manager on which runs put messages, by their plans, each with the newest of these
        runs. Parameters: `most` runs that have moved messages, the newest."""
        newest = "SELECT run, at FROM run WHERE begun AND moved ORDER BY at DESC LIMIT ?"
        statement = (
            f"SELECT queue, run FROM put_on JOIN ({newest}) USING (run) WHERE queue <> '' AND queue_manager IN ('', ?) "  # noqa: S608
            "ORDER BY at, run"
        )
        return {str(queue): str(run) for queue, run in self._rows(statement, most, self.queue_manager)}

    def queues_of(self, runs: Collection[str]) -> dict[str, tuple[str, frozenset[str]]]:
        """Of each of the runs that the index has: its time, ISO 8601 UTC, and the queues that it read and that its plan
        puts messages on; none where they are not all known, as those of a plan of more than 1,000 groups."""

        def named(queues: set[str]) -> frozenset[str]:
            return frozenset() if "" in queues else frozenset(queues)

        both = "SELECT queue FROM queue_of WHERE run = ?1 UNION SELECT queue FROM put_on WHERE run = ?1"
        times = self._rows("SELECT run, at FROM run JOIN json_each(?) ON run = value", json.dumps(sorted(runs)))
        return {str(run): (str(at), named({str(queue) for (queue,) in self._rows(both, run)})) for run, at in times}

    def observed(self, runs: Iterable[RunLine]) -> list[tuple[RunLine, str, int]]:
        """Each run with each queue of its snapshot, and the number of messages on the queue."""

        def found(index: RunsIndex) -> list[tuple[RunLine, str, int]]:
            statement = "SELECT queue, messages FROM observed WHERE run = ? ORDER BY rowid"
            return [(run, *one) for run in runs for one in index.rows(statement, (run.run,))]

        return self.ask(found)

    def begun_since(self, at: str) -> list[RunLine]:
        """The runs that have begun to act, and whose snapshot is not older. Parameters: `at` ISO 8601 UTC."""
        return self.such(_Wanted("begun AND at >= ?", (at,)))

    def of_session(self, session: str) -> list[RunLine]:
        """The passes of a handler. Parameters: `session` the key of its first one."""
        return self.such(_Wanted(_few("session = ? AND session <> ''"), (session,)))

    def that_took(self, since: str) -> list[RunLine]:
        """The runs that were proved since (ISO 8601 UTC), of whose messages some were moved, discarded or gone."""
        return self.such(_Wanted(_few("takes AND proved_at >= ?"), (since,)))

    def that_may_have(self, least: bytes, greatest: bytes, limit: int) -> list[RunLine]:
        """The newest runs whose snapshot, or plan where that was removed, may have a MsgId from `least` to `greatest`.
        Undos and loads are left out."""
        return self.such(_Wanted(_few(_MAY_HAVE), (greatest, least, *sorted(COPIES))), limit=limit)

    def behind(self, line: RunLine, queue: str) -> Iterator[str]:
        """The runs of a queue whose snapshots began after that of a run, and are there, the oldest first. Undos and
        loads are left out."""
        after: tuple[object, ...] = (line.at, line.run)
        while found := self._rows(_BEHIND, queue, *after, *sorted(COPIES), MOST_LOOKED_AT):
            yield from (str(run) for _at, run in found)
            after = found[-1]

    def undos_of(self, runs: Iterable[str]) -> list[tuple[RunLine, str]]:
        """The undos of the runs, the newest first, each with the run that it undoes."""
        now, stopped = utc_now(), stop_in(self.folder) is not None

        def found(index: RunsIndex) -> list[tuple[RunLine, str]]:
            undos = [(as_of(one, now, stopped=stopped), run) for run in runs for one in index.lines(_UNDOES, (run,))]
            return sorted(undos, key=lambda one: (one[0].at, one[0].run), reverse=True)

        return self.ask(found)

    def begun(self) -> Begun:
        """The runs that have begun to act."""
        now, stopped = utc_now(), stop_in(self.folder) is not None

        def found(index: RunsIndex) -> Begun:
            def which(where: str) -> tuple[RunLine, ...]:
                return tuple(as_of(line, now, stopped=stopped) for line in index.lines(where))

            (proved,) = index.rows("SELECT COUNT(*) FROM run WHERE begun AND sound = 1").fetchone()
            return Begun(
                proved=proved,
                unproved=which(_few("begun AND sound = 0")),
                unfinished=which(f"{_MAY_GO_ON} AND begun AND sound"),
            )

        return self.ask(found)

    def not_begun(self, runs: Collection[str]) -> tuple[str, ...]:
        """The keys of the runs among these that are not in the lake, or that have not begun to act there."""
        statement = "SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM run WHERE run = value AND +begun)"
        return tuple(sorted(str(run) for (run,) in self._rows(statement, json.dumps(sorted(runs)))) if runs else ())

    def losses(self) -> Losses | None:
        """What tells whether a run that `not_begun` left out may be one of its answers by now; None where a copy of the
        index in memory answers, which forgets what it has seen."""
        statement = "SELECT made, runs, (SELECT COUNT(*) FROM run WHERE begun) FROM lost"
        return self.ask(lambda index: Losses(*index.rows(statement).fetchone()) if index.kept else None)

    def scanned_away(self) -> int:
        """Expired messages that scans made the queue manager discard."""
        ((sum_of,),) = self._rows("SELECT COALESCE(SUM(discarded), 0) FROM run WHERE state = 'scanned' AND discarded")
        return int(sum_of)

    def grew_during_scans(self, since: str = "") -> list[GrewDuringScans]:
        """The dead-letter queues that grew during scans. Parameters: `since` ISO 8601 UTC, "" for all scans."""
        statement = (
            "SELECT grew_on, SUM(grew), MAX(at || ' ' || run) FROM run WHERE grew AND at >= ? GROUP BY grew_on "
            "ORDER BY 3 DESC"
        )
        rows = self._rows(statement, since)
        return [GrewDuringScans(str(queue), int(number), str(newest).split(" ")[-1]) for queue, number, newest in rows]

    def checked(self, limit: int) -> list[str]:
        """The runs whose quality checks were written last, the newest first."""
        statement = "SELECT run FROM run WHERE verdict ORDER BY verdict DESC, run DESC LIMIT ?"
        return [str(run) for (run,) in self._rows(statement, limit)]

    def _rows(self, statement: str, *values: object) -> Sequence[tuple[str | int, ...]]:
        return self.ask(lambda index: index.rows(statement, values).fetchall())

    def ask(self, question: Callable[[RunsIndex], T]) -> T:
        """The answer to a question to the index, complete (`mqops.look.runs_index.asked`)."""
        if self.index:
            with suppress(sqlite3.DatabaseError):  # as where none is open
                return question(self.index)
        return asked(self.folder, self.queue_manager, row_of, question, caught_up=self.fresh, damaged=self.damaged)

    def _whole(self, line: RunLine) -> bool:
        return line.run not in (self.damaged or ())


class Begun(NamedTuple):
    """Runs that have begun to act. Parameters: `proved` how many are proved, have not acted since, and balance;
    `unproved` the others; `unfinished` those that are proved and can go on."""

    proved: int
    unproved: tuple[RunLine, ...]
    unfinished: tuple[RunLine, ...]


class Losses(NamedTuple):
    """The runs that an index has seen go. Parameters: `made` which index it is; `runs` how many that had begun to act
    it has seen that are not there any more; `begun` how many are there. Where an older copy of the runs is restored
    with its index, that has never seen those that are not in the copy: they are missed in `begun` only."""

    made: str
    runs: int
    begun: int


class GrewDuringScans(NamedTuple):
    """A dead-letter queue. Parameters: `messages` by which it grew during scans (`ExpirySummary.came`); `run` the
    newest of these scans."""

    queue: str
    messages: int
    run: str
