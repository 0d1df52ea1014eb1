"""The SQLite file of one queue manager as one connection sees it: transactions, durability, and who may write now.

1. Writers queue on a kernel lock (`mqlite.write_lock`) before SQLite's own: nobody polls, nobody is refused as busy.
2. A transaction is short: one MQI call. A unit of work is rows, not a transaction.
3. `durable=True` waits for the disk: commits that carry persistent messages. All else is written in order but not
   waited for; whatever a power failure takes of it belongs to units of work that never ended. SQLite itself does not
   wait (synchronous NORMAL); its log is flushed here, before the next writer.
4. The folder of a member of a queue-sharing group holds links to the group's files: one store, one writer, one
   transaction for all members. Their connections see their own rows and the shared ones (`mqlite.sql`).
5. `keep_open=True`: what belongs to a unit of work need not be written with the call that did it. The transaction stays
   open for the calls that follow, each a savepoint in it, and ends with the first that does not ask for it (as MQCMIT
   does), after a moment without a call (`mqlite.keeping`), or when another store wants to write or to read and its turn
   is over.
   A call that begins `lightly` in it needs no savepoint, and what it leaves for `later` is written when somebody asks
   for it, or with MQCMIT (`mqlite.deferred`).
   A process that dies takes it along, which is a back-out; `mqlite.taken` remembers what it had got. (Between `begin`
   and `end` of one store nobody may read by another of the same queue manager: it would wait for this one.)
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mqlite import keeping, sql
from mqlite.deferred import Deferred
from mqlite.failure import Failure
from mqlite.taken import Taken, taken_by
from mqlite.write_lock import write_lock
from mqwire import constants as c

DATABASE = "qm.db"
GROUP_PREFIX = "+"  # of a queue-sharing group's folder; no folder of a queue manager begins so
TURN = 0.02  # seconds that a store may keep its transaction open while others wait
_numbers = itertools.count(1)
log = logging.getLogger("mqlite.store")


def group_of(folder: Path) -> str:
    """The name of the queue-sharing group that the queue manager in `folder` belongs to, blank for none."""
    database = folder / DATABASE
    return database.readlink().parent.name.removeprefix(GROUP_PREFIX) if database.is_symlink() else ""


class Store:
    """One SQLite connection. Not for two threads at once.

    Parameters: `folder` of the queue manager.
    Attributes: `group` the queue-sharing group it belongs to, blank for none; `member` its name there, else blank;
    `kept` the number of the transaction that is kept open, 0 for none; `taken` what was got in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.group = group_of(folder)
        self.member = self._acting = folder.name.replace("%2F", "/").replace("%25", "%") if self.group else ""
        self._lock = write_lock(folder)
        self._opened = 0
        self._open()
        self.kept, self._turn = 0, 0.0
        self.taken: Taken | None = None
        self._call = threading.Lock()  # from the begin of a call's transaction to its end
        self._deferred = Deferred()  # nothing unless a transaction is kept open
        self._light = self._releasing = False  # how the call that is under way began
        self._calls = 0
        self._log: int | None = None
        self._broken = False
        self.stopped: Callable[[], bool] = lambda: False  # whether STOP CONN has broken the connection

    def _open(self) -> None:
        self._db = sqlite3.connect(
            self.folder / DATABASE, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=60.0
        )
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
        self.end_kept()
        self._db.close()

    def unpark(self) -> None:
        """The process has forked, and this is the parent."""
        self._open()

    def one(self, statement: str, parameters: Sequence[Any] = (), *, settled: bool = True) -> Any:
        """The first row, or None.

        Parameters: `settled` whether the answer depends on messages or on the figures of queues.
        """
        self._see_all(settled=settled)
        return self._db.execute(statement, parameters).fetchone()

    def all(self, statement: str, parameters: Sequence[Any] = (), *, settled: bool = True) -> list[Any]:
        """All rows; `settled` as of `one`."""
        self._see_all(settled=settled)
        return self._db.execute(statement, parameters).fetchall()

    def _see_all(self, *, settled: bool) -> None:
        if self._lock.kept and not self.kept:
            self._see_others()
        elif settled and self._deferred.waiting and not self._light and not self._releasing:
            with self._call:
                try:
                    self._settle()
                except BaseException:
                    self._leave()
                    raise

    def _see_others(self) -> None:
        """Have whoever keeps a transaction open commit it, so that what it did is seen."""
        self._lock.acquire()
        try:
            self._count_the_dead()
        finally:
            self._lock.release()

    def _settle(self) -> None:
        """Write what is deferred."""
        if self._deferred.waiting:
            self._write_all(available=False)
        self._deferred.clear()

    def _write_all(self, *, available: bool) -> None:
        """Where this fails, nothing of the transaction stays, and MQCMIT will say so (2003)."""
        assert self.taken is not None
        try:
            self._deferred.write(self._db, self.taken.connection, available=available)
        except BaseException:
            if self._db.in_transaction:
                self.execute(sql.ROLLBACK)
            raise

    def _count_the_dead(self) -> None:
        """What a process had got that died with its transaction open is got once more than it says (P07)."""
        died = self._lock.died()
        if not died:
            return
        with self._db:
            self.execute(sql.BEGIN)
            for taken in taken_by(self.folder, died):
                self.execute(sql.TAKEN_BY_THE_DEAD, taken)
        self._lock.counted()

    @contextmanager
    def write(self, *, durable: bool = False, releasing: bool = False) -> Iterator[None]:
        """A transaction; an exception undoes it. `durable` waits for the disk; `releasing` as of `begin`."""
        self.begin(releasing=releasing)
        try:
            yield
        except BaseException:
            self.undo()
            raise
        self.end(durable=durable)

    def begin(self, *, lightly: bool = False, releasing: bool = False) -> None:
        """Start a transaction, or go on in the one that is kept open: the plain form of `write` for hot calls.

        Parameters: `lightly` the call looks for available messages, and what may fail comes before its only change;
        `releasing` the call ends the unit of work: what is deferred is `released` with it.
        """
        self._call.acquire()
        try:
            if self._broken:
                raise Failure(c.MQRC_CONNECTION_BROKEN)
            self._calls += 1
            if self.kept:
                self._light, self._releasing = lightly, releasing
                if not lightly:
                    try:
                        self._go_on()
                    except BaseException:
                        self._leave()
                        raise
                return
            self._lock.acquire()
            try:
                if self.stopped():
                    raise Failure(c.MQRC_CONNECTION_BROKEN)
                self._count_the_dead()
                self.execute(sql.BEGIN)
            except BaseException:
                self._leave()
                raise
        except BaseException:
            self._end_call()
            raise

    def _go_on(self) -> None:
        if not self._releasing:
            self._settle()
        self.execute(sql.SAVEPOINT)
        if self._releasing:
            self._write_all(available=True)

    def change_more(self) -> None:
        """The call that began lightly has more than one change to make."""
        if self._light:
            self._light = False
            self._go_on()

    def put_later(self, row: tuple[Any, ...], *, most: int, checked: int) -> bool:
        """A call that puts one message in a unit of work, deferred; False where it has to `begin`.

        Parameters: `row` the values of `sql.PUT`; `most` messages that the queue takes, which was so in the transaction
        `checked`.
        """
        if not checked or checked != self.kept:
            return False
        with self._call:
            if checked != self.kept or self._broken or self._turn_is_over():
                return False
            self._calls += 1
            return self._deferred.put(self._db, row, most)

    def next(self, statement: str, parameters: Sequence[Any]) -> Any:
        """The message that a call finds which takes messages: the first row, or None. Its number is in front."""
        row = self.execute(statement, parameters).fetchone()
        if row is not None and self._light and self._deferred.has_taken(row[0]):
            self._settle()
            row = self.execute(statement, parameters).fetchone()
        return row

    def take(self, queue: int, seq: int, owner: int, *, later: bool) -> None:
        """The call gets the message of that number for its unit of work.

        Parameters: `later` it may be hidden later: other calls look for other messages.
        """
        if not self._light:
            self.execute(sql.TAKE, (owner, seq))
            self.execute(sql.LOWER_DEPTH, (queue,))
            return
        figures = self._deferred.figures(self._db, queue)
        if not later:
            self.execute(sql.TAKE, (owner, seq))
        self._deferred.got(figures, hide=seq if later else 0)

    def released(self) -> dict[int, tuple[int, int]]:
        """What MQCMIT has just written: queue number → messages that became available, messages that are gone."""
        return self._deferred.changes() if self._releasing else {}

    def end(self, *, durable: bool = False, keep_open: bool = False) -> None:
        """Commit the transaction that `begin` started; undone where that fails.

        Parameters: `keep_open` it stays open for the next call (rule 5).
        """
        try:
            if not (keep_open and self._keep()):
                self._commit(durable=durable)
        finally:
            self._end_call()

    def _end_call(self) -> None:
        self._light = self._releasing = False
        self._call.release()

    @property
    def may_keep(self) -> bool:
        """Whether a transaction may stay open. Not in a queue-sharing group, whose members serve each other."""
        return self.taken is not None and not self.member and not self._turn_is_over()

    def _turn_is_over(self) -> bool:
        return self._lock.wanted and not (self.kept and time.monotonic() < self._turn)

    def forget_waiting(self) -> None:
        """Somebody died, who may have waited to write."""
        self._lock.forget_waiting()

    def _keep(self) -> bool:
        if self.kept:
            if not self._light:
                self.execute(sql.RELEASE)
            return True
        assert self.taken is not None
        try:
            keeping.watch(self)
        except RuntimeError:
            return False
        self.kept, self._turn = next(_numbers), time.monotonic() + TURN
        self._lock.keep(self, self.taken.connection)
        return True

    def _commit(self, *, durable: bool = False) -> None:
        try:
            if not self._releasing:
                self._settle()
            self.execute(sql.COMMIT)
            if durable:
                self._flush()
        finally:
            self._leave()

    def _leave(self) -> None:
        """Whatever is still open is rolled back, and others may write."""
        try:
            if self._db.in_transaction:
                self.execute(sql.ROLLBACK)
            self._deferred.clear()
            if self.taken is not None:
                self.taken.clear()
        finally:
            self.kept = 0
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
            raise Failure(c.MQRC_CONNECTION_BROKEN, f"the disk does not take the log: {error.strerror}") from error

    def _opened_log(self) -> int:
        database = os.path.realpath(self.folder / DATABASE)
        folder = os.open(os.path.dirname(database), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)  # the log may be a new file
        finally:
            os.close(folder)
        return os.open(f"{database}-wal", os.O_RDWR | os.O_CLOEXEC)

    def undo(self) -> None:
        """Roll back what was done since `begin`."""
        try:
            if not (self.kept and self._db.in_transaction):
                self._leave()
            elif not self._light:
                self.execute(sql.ROLLBACK_CALL)
                self.execute(sql.RELEASE)
        finally:
            self._end_call()

    def end_kept(self) -> None:
        """Commit the transaction that is kept open, unless a call is under way: its end will do it."""
        if self.kept and self._call.acquire(blocking=False):
            try:
                if self.kept:
                    self._commit()
            except Exception:  # the unit of work is not whole then, and MQCMIT will say so (2003)
                log.exception("a transaction that was kept open could not be committed")
            finally:
                self._call.release()

    def end_idle(self, calls: int, *, old: bool) -> int:
        """`end_kept` where it is old, others wait for their turn, or no call came since there were `calls`; returns how
        many now.
        """
        if old or self._calls == calls or self._turn_is_over():
            self.end_kept()
        return self._calls

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
        self.end_kept()
        if self._log is not None:
            os.close(self._log)
            self._log = None
        self._db.close()
