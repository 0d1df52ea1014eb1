"""The SQLite file of one queue manager as one connection sees it: transactions, durability, and who may write now.

1. Writers queue on a kernel lock (`write.lock`) before SQLite's own: nobody polls, nobody is refused as busy.
2. A transaction is short: one MQI call. A unit of work is rows, not a transaction.
3. `durable=True` waits for the disk (synchronous FULL): commits that carry persistent messages. All else is written in
   order but not waited for; whatever a power failure takes of it belongs to units of work that never ended.
4. The folder of a member of a queue-sharing group holds links to the group's files: one store, one writer, one
   transaction for all members. Their connections see their own rows and the shared ones (`mqlite.sql`).
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mqlite import sql

DATABASE = "qm.db"
WRITE_LOCK = "write.lock"


GROUP_PREFIX = "+"  # of a queue-sharing group's folder; no folder of a queue manager begins so


def group_of(folder: Path) -> str:
    """The name of the queue-sharing group that the queue manager in `folder` belongs to, blank for none."""
    database = folder / DATABASE
    return database.readlink().parent.name.removeprefix(GROUP_PREFIX) if database.is_symlink() else ""


class WriteLock:
    """One writer at a time: among the threads of a process, then among processes."""

    def __init__(self, path: Path) -> None:
        self._threads = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire(self) -> None:
        self._threads.acquire()
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._threads.release()
            raise

    def release(self) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        self._threads.release()


_locks: dict[str, WriteLock] = {}
_leaked: list[object] = []


def write_lock(folder: Path) -> WriteLock:
    """The write lock of the queue manager in `folder`, opened once a process and never closed."""
    key = os.path.realpath(folder / WRITE_LOCK)
    if key not in _locks:
        _locks[key] = WriteLock(folder / WRITE_LOCK)
    return _locks[key]


def forget() -> None:
    """In a forked child: the parent's locks are not ours."""
    _leaked.append(dict(_locks))
    _locks.clear()


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
        self._db = sqlite3.connect(
            folder / DATABASE, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=60.0
        )
        for pragma in (sql.BUSY, sql.JOURNAL, sql.SYNC_NORMAL, sql.CHECKPOINT_PAGES, sql.CACHE):
            self._db.execute(pragma)
        if self.member:
            self._db.executescript(sql.MEMBER_SCHEMA)
            self._db.execute(sql.START_ACTING, (self.member,))
        self.execute = self._db.execute
        self._durable = False

    def one(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        """The first row, or None."""
        return self._db.execute(statement, parameters).fetchone()

    def all(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows."""
        return self._db.execute(statement, parameters).fetchall()

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[None]:
        """A transaction; an exception undoes it. `durable` waits for the disk."""
        self.begin(durable=durable)
        try:
            yield
        except BaseException:
            self.undo()
            raise
        self.end()

    def begin(self, *, durable: bool = False) -> None:
        """Start a transaction: the plain form of `write` for calls where each microsecond counts."""
        self._lock.acquire()
        try:
            if durable is not self._durable:
                self.execute(sql.SYNC_FULL if durable else sql.SYNC_NORMAL)
                self._durable = durable
            self.execute(sql.BEGIN)
        except BaseException:
            self._lock.release()
            raise

    def end(self) -> None:
        """Commit the transaction that `begin` started; undone where that fails."""
        try:
            self.execute(sql.COMMIT)
        except BaseException:
            self.undo()
            raise
        self._lock.release()

    def undo(self) -> None:
        """Roll back the transaction that `begin` started."""
        try:
            if self._db.in_transaction:
                self.execute(sql.ROLLBACK)
        finally:
            self._lock.release()

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
        return int(self._db.execute(sql.CHANGES).fetchone()[0])

    def close(self) -> None:
        """Close the connection."""
        self._db.close()
