"""LAKE/<queue manager>/runs.sqlite: a row for each run, so that a look costs the same however many runs there are.

1. A row holds while the run's folder has the time that the row has. Every file of a run is written beside its place and
   renamed, so each change gives the folder another time (`mqops.lake.files.write_bytes`). What changed within the last
   seconds may change again within the same tick of the clock: its row has the time 0, and it is read again. So has
   one whose proof cannot be read: a copy that is written over it in its place gives the folder no other time.
2. A look asks for the times of these folders only: of runs that changed within the last hour, and of those that were
   marked by who wrote to them (`mqops.lake.changed_runs`). It lists the names of all runs only where the folder of the
   runs has changed, and no mark of a run that was made or removed says why: somebody restored one from a copy.
3. Where marks say why, a run that came or went at the same moment by other hands is not seen: so the names are listed
   within an hour of the last list (`RECENT_NS`) all the same.
4. A row has the state that the run's files say, as of the time at which they were read. A question whose time is over
   is read again.
5. The index may be deleted: it is made again from the runs. So is one that is damaged, or of another version. Who may
   only read the lake works on a copy in memory.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple, TypeVar

from mqops.clock import utc_now
from mqops.errors import LakeError
from mqops.lake.changed_runs import claim, drop, marked
from mqops.lake.files import CHANGED, SETTLED_NS, lake_errors, make_folder
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.runs_tables import SCHEMA, VERSION
from mqops.look.words.state import RunState
from mqops.printable import printable
from mqops.run_key import is_run_key

INDEX = "runs.sqlite"
RECENT_NS = 3600 * 10**9
"""A run that changed longer ago than that is looked at only where it is marked."""
LOCK_WAIT = 60.0
"""Seconds to wait for a process that writes what it has read."""
_BESIDE = tuple(one.name for one in fields(RunLine) if one.name not in {"run", "queue_manager", "state"})
"""What the line of a row has besides its columns."""
_OVERDUE = "SELECT run FROM run WHERE asks AND until <> '' AND until < ?"
"""Whose question nobody can answer any more: their state is another one now, though no file of theirs has changed."""
_wrong: dict[Path, set[str]] = {}
"""LAKE/<queue manager> → the runs whose rows were found wrong where this process may not change the index."""
T = TypeVar("T")
log = logging.getLogger(__name__)


class SaidOfLedger(NamedTuple):
    """What a summary of a run says of the ledger's end (`mqops.ledger.proofs`). Parameters: `seq` and `hash` of the
    last line then; `error` why that cannot be read, blank where it can."""

    seq: int = 0
    hash: str = ""
    error: str = ""


class Row(NamedTuple):
    """What the index has of a run besides its line. Parameters: `undoes` the run that it undoes, and `session` the
    first pass of the handler that it is a pass of, blank for none; `verdict` when quality checks were written, in
    nanoseconds, 0 for none; `grew_on` the dead-letter queue that a scan for expired messages has seen to grow, by
    `grew` messages; `snapshot` and `plan` bytes of these folders, 0 where there is none; `msg_ids` the least and the
    greatest MsgId of the snapshot, else of the plan, None where they are not known; `observed` its snapshot's
    queues, with their messages; `put_on` the queues (name, queue manager) on which it puts messages by its plan, a
    blank name where the plan does not say all of them; `proofs` what its summaries say of the ledger's end."""

    line: RunLine
    undoes: str = ""
    session: str = ""
    verdict: int = 0
    grew_on: str = ""
    grew: int = 0
    snapshot: int = 0
    plan: int = 0
    msg_ids: tuple[bytes, bytes] | None = None
    observed: tuple[tuple[str, int], ...] = ()
    put_on: tuple[tuple[str, str], ...] = ()
    proofs: tuple[SaidOfLedger, ...] = ()


class Listed(NamedTuple):
    """What the index knows of the folder of the runs, in nanoseconds. Parameters: `changed` the time that it had at the
    last look, `whole` that it had when the names of all runs were listed last, 0 for neither; `at` when that was."""

    changed: int
    whole: int
    at: int


class RunsIndex:
    """The index of a queue manager's runs. Parameters: `kept` whether what is read is kept on disk."""

    def __init__(self, database: sqlite3.Connection, folder: Path, queue_manager: str, *, kept: bool) -> None:
        self._database = database
        self.folder = folder
        self._queue_manager = queue_manager
        self.kept = kept

    def lines(self, where: str = "1", values: Sequence[object] = (), *, limit: int = -1) -> Iterator[RunLine]:
        """The runs that fit, newest first. Parameters: `where` a condition in SQL, with a ? for each of the `values`;
        `limit` -1 for all."""
        statement = f"SELECT run, state, line FROM run WHERE {where} ORDER BY at DESC, run DESC LIMIT ?"  # noqa: S608 - ours
        for run, state, line in self.rows(statement, (*values, limit)):
            yield self.line(run, state, line)

    def line(self, run: str, state: str, line: str) -> RunLine:
        """The line of a run, from these columns of its row."""
        return RunLine(run=run, queue_manager=self._queue_manager, state=RunState(state), **json.loads(line))

    def rows(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """The answer to a statement."""
        return self._database.execute(statement, values)

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """For several statements that are one question: none of them sees what others write meanwhile."""
        self.rows("BEGIN")
        try:
            yield
        finally:
            self._database.rollback()  # nothing was written

    def catch_up(self, read: Callable[[RunFolder], Row | None], *, but: str = "") -> dict[str, LakeError]:
        """Read what changed; the runs that cannot be read, each with the reason. Their rows stay as they were, and they
        are read again at the next look.

        Parameters: `read` the row of a run, None where it was removed meanwhile; `but` the key of a run that is left
        for the next reader.

        Raises:
            LakeError: the folder of the runs cannot be read.
        """
        claims = claim(self.folder) if self.kept else {run: list[Path]() for run in marked(self.folder)}
        runs, now = self.folder / "runs", time.time_ns()
        known = dict(self.rows("SELECT run, changed FROM run WHERE changed = 0 OR changed > ?", (now - RECENT_NS,)))
        for run in claims:
            known |= dict(self.rows("SELECT run, changed FROM run WHERE run = ?", (run,)).fetchall() or [(run, -1)])
        if not self.kept:
            known |= dict.fromkeys(_wrong.get(self.folder, ()), 0)
        with lake_errors(runs):
            listed = self._listed()
            at_last = runs.stat().st_mtime_ns if runs.is_dir() else 0
            gone, fresh = set[str](), list[tuple[int, Row]]()
            marks_say_why = any(known[run] == -1 or not (runs / run).is_dir() for run in claims)
            lists = at_last != listed.whole and (
                now - listed.at >= RECENT_NS or (at_last != listed.changed and not marks_say_why)
            )
            listed = Listed(at_last, at_last, now) if lists else listed._replace(changed=at_last)
            if lists:
                names = set(os.listdir(runs)) if at_last else set()
                have = {run for (run,) in self.rows("SELECT run FROM run")}
                gone = have - names
                known |= {run: -1 for run in names - have if is_run_key(run) and run not in known}
        known |= {run: -1 for (run,) in self.rows(_OVERDUE, (utc_now(),)).fetchall()}
        failed = dict[str, LakeError]()
        forgets = known.pop(but, None) is not None and claims.pop(but, None) is None  # no mark tells the next reader
        for run, kept in known.items():
            try:
                if (changed := _changed(runs / run)) is None:
                    gone.add(run)
                elif changed != kept and (row := read(RunFolder(runs / run))) is not None:
                    settled = changed < now - SETTLED_NS and not any(one.error for one in row.proofs)
                    fresh.append((changed if settled else 0, row))
            except LakeError as error:
                failed[run] = error
                claims.pop(run, None)
        if lists and (failed or forgets or at_last >= now - SETTLED_NS):
            listed = Listed(0, 0, now)
        self._write(fresh, gone & self._those(gone), listed)
        for paths in claims.values():
            drop(paths)
        return failed

    def read_again(self, runs: Collection[str]) -> None:
        """Have the next look read these runs, although their folders have the times that their rows have. Who may only
        read the lake reads them at each look from now on."""
        if not self.kept:
            _wrong.setdefault(self.folder, set()).update(runs)
        self._database.executemany("UPDATE run SET changed = 0 WHERE run = ?", [(run,) for run in runs])

    def _those(self, runs: Iterable[str]) -> set[str]:
        """The runs among these that the index has."""
        return {run for run in runs if self.rows("SELECT 1 FROM run WHERE run = ?", (run,)).fetchone()}

    def _listed(self) -> Listed:
        return Listed(*self.rows("SELECT changed, whole, at FROM listed").fetchone())

    def _write(self, fresh: Sequence[tuple[int, Row]], gone: Iterable[str], listed: Listed) -> None:
        gone, fresh = sorted(gone), [one for one in fresh if not self._has(*one)]
        rows = [_values(changed, row) for changed, row in fresh]
        if not rows and not gone and listed == self._listed():
            return
        self.rows("BEGIN IMMEDIATE")
        try:
            lines = {row.line.run: row.line for _changed, row in fresh}
            self._count_lost(gone, fresh)
            for run in (*gone, *(str(row[0]) for row in rows)):
                self._find_by(run, lines.get(run))
                for table in ("run", "queue_of", "observed", "put_on", "proof"):
                    self.rows(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608 - ours
            for row in rows:
                self.rows(f"INSERT INTO run VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - only marks
            for _changed, row in fresh:
                self._write_beside(row)
            self.rows("UPDATE listed SET changed = ?, whole = ?, at = ?", listed)
        except BaseException:
            self.rows("ROLLBACK")
            raise
        self.rows("COMMIT")

    def _count_lost(self, gone: Iterable[str], fresh: Iterable[tuple[int, Row]]) -> None:
        """Count the runs that had begun to act, and that are gone, or have not begun any more: a person did that."""
        others = [*gone, *(row.line.run for _changed, row in fresh if not row.line.begun)]
        lost = sum(1 for run in others if self.rows("SELECT 1 FROM run WHERE run = ? AND +begun", (run,)).fetchone())
        if lost:
            self.rows("UPDATE lost SET runs = runs + ?", (lost,))

    def _has(self, changed: int, row: Row) -> bool:
        """Whether the index has this row of a run. What stands beside it changes with it, but for the proofs."""
        run = row.line.run
        proofs = self.rows("SELECT seq, hash, error FROM proof WHERE run = ?", (run,)).fetchall()
        written = self.rows("SELECT * FROM run WHERE run = ?", (run,)).fetchone()
        return written == _values(changed, row) and set(proofs) == set(row.proofs)

    def _find_by(self, run: str, line: RunLine | None) -> None:
        """Bring `found_by` to what a run's line says now, None where the run is gone. Its row has the line of before,
        and most changes of a run change none of these."""
        before = self.rows("SELECT run, state, line FROM run WHERE run = ?", (run,)).fetchall()
        kept = {one for columns in before for one in _found_by(self.line(*columns))}
        now, change = set(_found_by(line) if line else ()), self._database.executemany
        where = "queue = ? AND person = ? AND workflow = ? AND state = ? AND at = ? AND run = ?"
        change(f"DELETE FROM found_by WHERE {where}", kept - now)  # noqa: S608 - ours
        change("INSERT INTO found_by VALUES (?, ?, ?, ?, ?, ?)", now - kept)

    def _write_beside(self, row: Row) -> None:
        line, write = row.line, self._database.executemany
        queues = {(queue, line.at, line.run) for queue in line.queue.split(",")}
        write("INSERT INTO queue_of VALUES (?, ?, ?)", queues)
        write("INSERT INTO observed VALUES (?, ?, ?)", [(line.run, *one) for one in row.observed])
        write("INSERT INTO put_on VALUES (?, ?, ?)", [(line.run, *one) for one in row.put_on])
        write("INSERT INTO proof VALUES (?, ?, ?, ?)", {(one.seq, one.hash, line.run, one.error) for one in row.proofs})


def _changed(run: Path) -> int | None:
    """When a run's folder changed; None where there is no such folder."""
    try:
        found = os.lstat(run)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns if stat.S_ISDIR(found.st_mode) else None


def _found_by(line: RunLine) -> Iterator[tuple[str, ...]]:
    """The rows of a run in `found_by`: for each of its queues and people, and for none of them (`runs_fitting`)."""
    for queue in {"", *line.queue.split(",")}:
        for person in {"", line.requested_by, line.approved_by}:
            yield queue, person, line.workflow, line.state.value, line.at, line.run


def _values(changed: int, row: Row) -> tuple[object, ...]:
    line = row.line
    told = {name: value for name in _BESIDE if (value := getattr(line, name))}
    sound = bool(line.proved_since and line.state is not RunState.UNBALANCED)
    takes = bool(line.moved or line.discarded or line.gone)
    return (
        *(line.run, changed, line.at, line.state.value, line.workflow, line.queue, line.proved_at),
        *(
            int(line.begun),
            int(sound),
            int(line.asks),
            line.until,
            line.moved,
            int(takes),
            line.discarded,
            line.messages,
            row.undoes,
            row.session,
        ),
        *(row.verdict, row.grew_on, row.grew, line.proved_at or line.at, row.snapshot, row.plan),
        *(row.msg_ids or (None, None)),
        json.dumps(told, ensure_ascii=False),
    )


class _Damaged(sqlite3.DatabaseError):
    """The index is of another version."""


def asked(
    folder: Path,
    queue_manager: str,
    read: Callable[[RunFolder], Row | None],
    question: Callable[[RunsIndex], T],
    *,
    caught_up: bool = False,
    but: str = "",
    damaged: dict[str, LakeError] | None = None,
) -> T:
    """The answer to a question to the index, with all that changed. One that cannot be used is made again, or is done
    without. The answer is complete: it does not read on when the index is closed.

    Parameters: `folder` LAKE/<queue manager>; `read` as of `RunsIndex.catch_up`; `caught_up` whether what changed
    was read just now; `but` as of `RunsIndex.catch_up`; `damaged` gets the runs that cannot be read, None where the
    answer is of no use without them.

    Raises:
        LakeError: a run cannot be read, and `damaged` is None.
    """

    def catch_up(index: RunsIndex) -> None:
        failed = index.catch_up(read, but=but)
        if damaged is not None:
            damaged.update(failed)
        elif failed:
            raise next(iter(failed.values()))

    for made_again in (False, True) if folder.is_dir() and os.access(folder, os.W_OK) else ():
        try:
            with closing(_on_disk(folder)) as database:
                index = RunsIndex(database, folder, queue_manager, kept=True)
                if not caught_up or made_again:
                    catch_up(index)
                return question(index)
        except sqlite3.DatabaseError as error:
            if made_again or getattr(error, "sqlite_errorcode", None) in _BUSY_OR_FULL:
                break
            log.warning("The index of the runs %s is made again: %s", printable(folder / INDEX), printable(error))
            with suppress(OSError):
                (folder / INDEX).unlink()
    with closing(_in_memory(folder / INDEX)) as database:
        index = RunsIndex(database, folder, queue_manager, kept=False)
        catch_up(index)
        return question(index)


@contextmanager
def open_index(folder: Path, queue_manager: str) -> Iterator[RunsIndex | None]:
    """The index on disk as `asked` left it, open for several questions; None for who may only read the lake, and where
    it cannot be used. Parameters: `folder` LAKE/<queue manager>."""
    with ExitStack() as opened:
        index = None
        with suppress(sqlite3.DatabaseError, LakeError):
            if folder.is_dir() and os.access(folder, os.W_OK):
                database = opened.enter_context(closing(_on_disk(folder)))
                index = RunsIndex(database, folder, queue_manager, kept=True)
        yield index


_BUSY_OR_FULL = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}
)
"""With these errors the index is not damaged."""


def _on_disk(folder: Path) -> sqlite3.Connection:
    path = folder / INDEX
    with lake_errors(path):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    make_folder(folder / CHANGED)
    database = _connected(str(path))
    if _version(database) not in {0, VERSION}:
        database.close()
        raise _Damaged("another version of mqops made it")
    return _with_tables(database)


def _in_memory(path: Path) -> sqlite3.Connection:
    memory = _connected(":memory:")
    if path.exists():
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as there,
        ):
            if _version(there) == VERSION:
                there.backup(memory)
    return _with_tables(memory)


def _connected(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _with_tables(database: sqlite3.Connection) -> sqlite3.Connection:
    if _version(database) != VERSION:
        with suppress(sqlite3.OperationalError):  # another process was first
            database.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        database.rollback()  # what an error has left open, in which nothing could be written
    return database
