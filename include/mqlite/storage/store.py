"""The SQLite file of one queue manager as one connection sees it: transactions, durability, and who may write now.

1. Writers queue on a kernel lock (`write_lock`) before SQLite's own: no writer polls, and none fails as busy.
2. A transaction is short: one MQI call. A unit of work is rows, not a transaction.
3. `durable=True` waits for the disk: commits that carry persistent messages. All else is written in order but not
   waited for; whatever a power failure takes of it belongs to units of work that never ended. SQLite itself does not
   wait (synchronous NORMAL); its log is flushed here, before the next writer.
4. The folder of a member of a queue-sharing group holds links to the group's files: one store, one writer, one
   transaction for all members. Their connections see their own rows and the shared ones (`mqlite.storage.sql`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mqlite.failure import Failure
from mqlite.storage import sql
from mqlite.storage.database_format import refuse_newer
from mqlite.storage.rows import OpenCounts
from mqlite.storage.write_lock import write_lock
from mqwire import constants as c

R = TypeVar("R", bound=NamedTuple)
DATABASE = "qm.db"
GROUP_PREFIX = "+"  # of a queue-sharing group's folder; no folder of a queue manager begins so


def group_of(folder: Path) -> str:
    """The name of the queue-sharing group that the queue manager in `folder` belongs to, blank for none."""
    database = folder / DATABASE
    return database.readlink().parent.name.removeprefix(GROUP_PREFIX) if database.is_symlink() else ""


class Store:
    """One SQLite connection. Not for two threads at once.

    Parameters: `folder` of the queue manager.
    Attributes: `group` the queue-sharing group it belongs to, blank for none; `member` its name there, else blank.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.group = group_of(folder)
        self.member = self._acting = folder.name.replace("%2F", "/").replace("%25", "%") if self.group else ""
        self._lock = write_lock(folder)
        self._opened = 0
        self._open()
        self._log: int | None = None
        self._broken = False
        self.stopped: Callable[[], bool] = lambda: False  # whether STOP CONN has broken the connection

    def _open(self) -> None:
        self._db = sqlite3.connect(
            self.folder / DATABASE, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=60.0
        )
        refuse_newer(self._db, self.folder / DATABASE, sql.FORMAT)
        for pragma in (sql.BUSY, sql.JOURNAL, sql.SYNC_NORMAL, sql.CHECKPOINT_PAGES, sql.CACHE):
            self._db.execute(pragma)
        if self.member:
            self._db.executescript(sql.MEMBER_SCHEMA)
            self._db.execute(sql.START_ACTING, (self.member,))
        self.execute = self._db.execute
        self._opened += 1

    def park(self) -> None:
        """Before the process forks: a child must not inherit what SQLite remembers of its files' locks, all of which
        it would take for its own.
        """
        self._db.close()

    def unpark(self) -> None:
        """The process has forked, and this is the parent."""
        self._open()

    def one(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        """The first row, or None."""
        return self.execute(statement, parameters).fetchone()

    def value(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.execute(statement, parameters).fetchone()
        return None if row is None else row[0]

    def row(self, kind: type[R], statement: str, parameters: Sequence[Any] = ()) -> R | None:
        """The first row by name, or None.

        Parameters: `kind` the row of the statement, of `rows`.
        """
        row = self.execute(statement, parameters).fetchone()
        return None if row is None else tuple.__new__(kind, row)  # as kind(*row), in a third of the time

    def rows(self, kind: type[R], statement: str, parameters: Sequence[Any] = ()) -> list[R]:
        """All rows by name; `kind` as of `row`."""
        return [tuple.__new__(kind, row) for row in self.execute(statement, parameters)]

    def open_counts(self, queue: int, *, here: bool = False) -> OpenCounts:
        """How many handles have a queue open. Parameters: `here` without those of other members of the group."""
        statement = sql.OPEN_COUNTS_HERE if here else sql.OPEN_COUNTS
        return OpenCounts(*self.execute(statement, (queue,)).fetchone())

    def all(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows."""
        return self.execute(statement, parameters).fetchall()

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[None]:
        """A transaction. An exception rolls it back. `durable` waits for the disk."""
        self.begin()
        try:
            yield
        except BaseException:
            self.undo()
            raise
        self.end(durable=durable)

    def begin(self) -> None:
        """Start a transaction: the plain form of `write` for the calls that run most often.

        Raises Failure (MQRC_CONNECTION_BROKEN).
        """
        if self._broken:
            raise Failure(c.MQRC_CONNECTION_BROKEN)
        self._lock.acquire()
        try:
            if self.stopped():
                raise Failure(c.MQRC_CONNECTION_BROKEN)
            self.execute(sql.BEGIN)
        except BaseException:
            self._lock.release()
            raise

    def end(self, *, durable: bool = False) -> None:
        """Commit the transaction that `begin` started. It is rolled back if the commit fails."""
        try:
            self.execute(sql.COMMIT)
            if durable:
                self._flush()
        finally:
            self.undo()

    def undo(self) -> None:
        """Roll back what was done since `begin`, and let others write."""
        try:
            if self._db.in_transaction:
                self.execute(sql.ROLLBACK)
        finally:
            self._lock.release()

    def _flush(self) -> None:
        """Wait until SQLite's log is on the disk.

        Raises Failure (MQRC_CONNECTION_BROKEN): what was committed is seen by others, and nobody knows whether it
        stays. This connection does nothing more.
        """
        try:
            if self._log is None:
                self._log = self._opened_log()
            getattr(os, "fdatasync", os.fsync)(self._log)
        except OSError as error:
            self._broken = True
            raise Failure(
                c.MQRC_CONNECTION_BROKEN, f"the log cannot be written to the disk: {error.strerror}"
            ) from error

    def _opened_log(self) -> int:
        database = os.path.realpath(self.folder / DATABASE)
        folder = os.open(os.path.dirname(database), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)  # the log may be a new file
        finally:
            os.close(folder)
        return os.open(f"{database}-wal", os.O_RDWR | os.O_CLOEXEC)

    @contextmanager
    def acting_for(self, member: str) -> Iterator[None]:
        """See the rows of another member of the group; the way a dead one's work is undone, and triggers elsewhere."""
        before = self._acting
        if member != before:
            self._act_for(member)
        try:
            yield
        finally:
            if member != before:
                self._act_for(before)

    def _act_for(self, member: str) -> None:
        self.execute(sql.ACT_FOR, (member,))
        self._acting = member

    @property
    def changes(self) -> int:
        """A number that is another one once a different connection has written."""
        return int(self._db.execute(sql.CHANGES).fetchone()[0]) + (self._opened << 32)

    def close(self) -> None:
        """Close the connection."""
        if self._log is not None:
            os.close(self._log)
            self._log = None
        self._db.close()
