"""One connection (hconn) of an application: its store, its open handles, its unit of work.

A connection belongs to the thread that made it unless it was made shareable (MQCNO_HANDLE_SHARE_*), and to the process
that made it: a forked child's copy answers MQRC_HCONN_ERROR. A thread has one connection to a queue manager that is
not shared: a second MQCONN gives the hconn of the first, with MQRC_ALREADY_CONNECTED (2002). Shared connections
it may have in any number, and connections to several queue managers, as programs of IBM's client library may.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mqlite.attributes import Kind
from mqlite.connections.asynchronous_puts import AsyncPuts
from mqlite.connections.recovery import recover
from mqlite.failure import Failure
from mqlite.messages import events
from mqlite.messages.message_rows import QueuedMessage
from mqlite.messages.properties import MessageHandle
from mqlite.objects.definitions import Objects
from mqlite.objects.engine import Engine
from mqlite.objects.manager import Manager, load, message_id
from mqlite.security.authority import privileged
from mqlite.storage import alive, ended, sql, write_lock
from mqlite.storage.channel_status import StatusFile
from mqlite.storage.store import Store
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c

LOOK_INTERVAL = 0.05  # seconds
LONGEST_APPLICATION = 28  # bytes of MQMD.PutApplName


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedGet:
    """A get that skips a back-out which its application asks for (K02).

    Attributes: `rows` the numbers of its message and of what came of the get, a COD report and its trigger messages;
    `undo` what only a back-out of the get itself does; `begin` enters it into the unit of work that is new by then.
    """

    rows: tuple[int, ...]
    undo: Callable[[], None] | None
    begin: Callable[[], None]


@dataclass(slots=True)
class UncommittedCounts:
    """How many uncommitted puts and gets of a unit of work are on a queue."""

    puts: int = 0
    gets: int = 0


@dataclass(slots=True)
class UnitOfWork:
    """What the current unit of work has touched.

    Attributes: `queues` by number of the queue; `names` of queues that got messages; `persistent` whether the
    commit has to wait for the disk; `messages` how many it holds; `undo` what a back-out has to do besides; `marked`
    the one get that may skip it (K04); `kept` numbers of the queues with trigger messages that wait for its end (T10a).
    """

    queues: dict[int, UncommittedCounts] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    persistent: bool = False
    messages: int = 0
    undo: list[Callable[[], None]] = field(default_factory=list)
    marked: MarkedGet | None = None
    kept: set[int] = field(default_factory=set)

    def enter(self, queue: int, name: str = "", *, puts: int = 0, gets: int = 0, persistent: bool) -> None:
        """The unit of work now holds one more put (on the queue of that name) or get."""
        held = self.queues.get(queue)
        if held is None:
            held = self.queues[queue] = UncommittedCounts()
        held.puts += puts
        held.gets += gets
        self.messages += 1
        if puts:
            self.names.add(name)
        if persistent:
            self.persistent = True

    def keep(self, queue: int, name: str, *, persistent: bool) -> None:
        """The unit of work now holds a trigger message that is there after it, however it ends."""
        self.kept.add(queue)
        self.names.add(name)
        self.messages += 1
        if persistent:
            self.persistent = True


class Connection:
    """What one MQCONN gave.

    Parameters: `shared` whether any thread may use it; `user` the identifier that messages put here carry; `longest`
    message, in bytes, that the program's channel definition lets through, 0 for what the queue manager does;
    `application` the name that the program gives itself (MQCNO, ApplName); `store` of the queue manager, if it is open.
    Attributes: `privileged` nothing has to be checked for the user.
    """

    def __init__(
        self,
        manager: Manager,
        *,
        user: str,
        shared: bool,
        channel: str = "",
        conn_name: str = "",
        longest: int = 0,
        application: str = "",
        store: Store | None = None,
    ) -> None:
        ended.check(manager.folder)
        self.manager = manager
        self.user = user
        self.privileged = privileged(manager, user)
        self.channel = channel
        self.application = application or application_name()
        self.lock = threading.RLock()
        self.store = store or Store(manager.folder)
        self.engine = Engine.of(manager, self.store)
        self.objects = self.engine.objects
        self._longest = longest_of(self.objects, channel, longest) if channel else sys.maxsize
        self.handles: dict[int, object] = {}
        self.messages: dict[int, MessageHandle] = {}
        self.unit = UnitOfWork()
        self.asynchronous = AsyncPuts()
        self.marks = itertools.count(1)
        self.shared = shared
        self.inside = threading.Lock()
        self._thread = None if shared else threading.get_ident()
        self._next_look = 0.0
        self._alive = alive.alive_file(manager.folder)
        recover(self.engine, self._alive)
        with self.store.write():
            if self.store.one(sql.ANYBODY) is None:
                triggering.restarted(self.store)
            row = (os.getpid(), user, self.application, channel, conn_name, datetime.now(UTC).isoformat())
            self.id = int(self.store.execute(sql.ADD_CONNECTION, row).lastrowid or 0)
            if self.store.member:
                self.store.execute(sql.OWN_CONNECTION, (self.store.member, self.id))
            self._alive.hold(self.id)
        self.store.stopped = self.is_stopped
        self._messages = itertools.count(1)
        first = message_id(manager, self.id << 32)
        self._prefix, self._first = first[:16], int.from_bytes(first[16:], "big")

    def check_thread(self) -> None:
        """Raises Failure (MQRC_HCONN_ERROR) in a thread this connection does not belong to."""
        if self._thread is not None and self._thread != threading.get_ident():
            raise Failure(c.MQRC_HCONN_ERROR, "connection of another thread")

    def check_length(self, length: int) -> None:
        """Raises Failure for a buffer of less than nothing (MQRC_BUFFER_LENGTH_ERROR), and for one that is longer than
        what client and server-connection channel agreed on (MQRC_DATA_LENGTH_ERROR: IBM MQ, "2010 (07DA)").
        """
        if length < 0:
            raise Failure(c.MQRC_BUFFER_LENGTH_ERROR)
        if length > self._longest:
            raise Failure(c.MQRC_DATA_LENGTH_ERROR, f"{length} bytes; MAXMSGL of the channel is {self._longest}")

    def is_stopped(self) -> bool:
        """Whether STOP CONN has broken it."""
        return self._alive.is_stopped(self.id)

    def check_stopped(self) -> None:
        """Raises Failure (MQRC_CONNECTION_BROKEN) after STOP CONN: only MQDISC works then."""
        if self.is_stopped():
            raise Failure(c.MQRC_CONNECTION_BROKEN)

    def is_quiescing(self) -> bool:
        """Whether the queue manager quiesces."""
        return self._alive.is_quiescing(self.id)

    def check_quiescing(self, asked: int) -> None:
        """Raises Failure (MQRC_Q_MGR_QUIESCING) if the call asks for it.

        Parameters: `asked` is not 0 if it does (MQ*_FAIL_IF_QUIESCING).
        """
        if asked and self.is_quiescing():
            raise Failure(c.MQRC_Q_MGR_QUIESCING)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """The call waits inside and touches nothing of the store: this process may fork."""
        held = self.inside.locked()
        if held:
            self.inside.release()
        try:
            yield
        finally:
            if held:
                self.inside.acquire()

    def new_msg_id(self) -> bytes:
        """24 bytes that no other message of this queue manager has: its name, its identity with a running number."""
        number = (self._first + next(self._messages)) & 0xFFFFFFFFFFFFFFFF
        return self._prefix + number.to_bytes(8, "big")

    def new_handle(self, opened: object) -> int:
        """A handle number for an open object. Raises Failure (MQRC_HANDLE_NOT_AVAILABLE) beyond MAXHANDS."""
        if len(self.handles) >= int(str(self.objects.manager()["MAXHANDS"])):
            raise Failure(c.MQRC_HANDLE_NOT_AVAILABLE)
        handle = next(self.marks)
        self.handles[handle] = opened
        return handle

    def announce(self, message: QueuedMessage, *, syncpoint: bool) -> None:
        """After the transaction of a put: the message is part of the unit of work, or available to all programs.

        So are the messages that it has caused.
        """
        if not syncpoint:
            events.message_available(self, message.name)
        elif message.stays:
            self.unit.keep(message.queue, message.name, persistent=message.persistent)
        else:
            self.unit.enter(message.queue, message.name, puts=message.rows, persistent=message.persistent)
        for caused in message.caused:
            self.announce(caused, syncpoint=syncpoint)

    def look_for_dead(self) -> bool:
        """Back out what dead processes left; True if there was any. Raises Failure (MQRC_CONNECTION_BROKEN)."""
        self.check_stopped()
        return recover(self.engine, self._alive)

    def look_often_enough(self) -> None:
        """Look for dead processes unless that was done a moment ago: it costs a kernel call for each connection."""
        now = time.monotonic()
        if now >= self._next_look:
            self.look_for_dead()
            self._next_look = now + LOOK_INTERVAL

    def leave(self) -> None:
        """Give up the connection's row, its byte and its store."""
        try:
            with self.store.write():
                self.store.execute(sql.DELETE_CONNECTION, (self.id,))
        finally:
            self._alive.release(self.id)
            self.store.close()


class _Own(threading.local):
    """This thread's connections that are not shared: queue manager's folder → hconn, ended ones too."""

    def __init__(self) -> None:
        self.numbers: dict[Path, int] = {}


_connections: dict[int, Connection] = {}
_own = _Own()
_gate = threading.RLock()
_numbers = itertools.count(1)
_leaked: list[object] = []


def store_lock() -> threading.RLock:
    """Held while a store is opened, so that no fork happens in the middle of it."""
    return _gate


def connect(
    manager: Manager,
    store: Store,
    *,
    user: str,
    shared: bool = False,
    channel: str = "",
    conn_name: str = "",
    longest: int = 0,
    application: str = "",
) -> int:
    """Connect to a queue manager whose store is open, and is the connection's from now on; returns the hconn.

    Parameters: as of `Connection`.

    Raises Failure (MQRC_Q_MGR_NOT_AVAILABLE, MQRC_CHANNEL_NOT_AVAILABLE).
    """
    if channel:
        check_channel(manager.folder, channel)
    number = next(_numbers)
    connection = Connection(
        manager,
        user=user,
        shared=shared,
        channel=channel,
        conn_name=conn_name,
        longest=longest,
        application=application,
        store=store,
    )
    _connections[number] = connection
    if not shared:
        _own.numbers[manager.folder] = number
    return number


def longest_of(objects: Objects, channel: str, given: int) -> int:
    """Bytes of the longest message between a client, whose channel definition has `given`, and its server-connection
    channel: the lesser of the two, of which 0 is what the queue manager takes (IBM MQ, "MAXMSGL").
    """
    served = objects.get(Kind.CHANNEL, channel) or {}
    any_length = int(str(objects.manager()["MAXMSGL"]))
    return min(length or any_length for length in (given, int(str(served.get("MAXMSGL", 0)))))


def check_channel(folder: Path, channel: str) -> None:
    """Raises Failure (MQRC_CHANNEL_NOT_AVAILABLE) for a server-connection channel that was stopped."""
    status = StatusFile(folder)
    try:
        there = status.read(channel)
    finally:
        status.close()
    if there is not None and there.wanted == "STOP":
        raise Failure(c.MQRC_CHANNEL_NOT_AVAILABLE, channel)


def already_connected(name: str) -> int | None:
    """The hconn of this thread's connection to the queue manager of that name that is not shared, if it has one.

    A thread is known by what is local to it: the number of one that ended comes again.

    Raises Failure (MQRC_Q_MGR_NAME_ERROR, MQRC_Q_MGR_NOT_AVAILABLE).
    """
    open_now = {
        folder: number
        for folder, number in _own.numbers.items()
        if number in _connections and not _connections[number].is_stopped()
    }
    return open_now.get(load(name).folder) if open_now else None


def connection_of(number: int, *, ending: bool = False) -> Connection:
    """The connection of an hconn.

    Parameters: `ending` it will be disconnected. Raises Failure (MQRC_HCONN_ERROR, MQRC_CONNECTION_BROKEN).
    """
    found = _connections.get(number)
    if found is None:
        raise Failure(c.MQRC_HCONN_ERROR)
    found.check_thread()
    if not ending:
        found.check_stopped()
    return found


def known(number: object) -> Connection | None:
    """The connection of an hconn, None for anything that is not one."""
    return _connections.get(number) if isinstance(number, int) else None


def forget(number: int) -> None:
    """The hconn is no longer valid."""
    _connections.pop(number, None)


def application_name() -> str:
    """The program's name, as MQMD.PutApplName has it: the last 28 bytes of its path, each as a Latin-1 character, which
    is how fields of the MQI are names here. No character is cut in two.
    """
    program = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c", "-m") else sys.executable or "python"
    with suppress(OSError):  # the working directory is gone
        program = os.path.abspath(program)
    return os.fsencode(program)[-LONGEST_APPLICATION:].lstrip(_BEHIND_A_FIRST).decode("latin-1")


_BEHIND_A_FIRST = bytes(range(0x80, 0xC0))
"""Bytes that no character of UTF-8 begins with."""


def shown_application(name: str) -> str:
    """The name of a program for people and commands.

    Parameters: `name` as `application_name` has it, or in plain text as an earlier version wrote it.
    """
    try:
        return name.encode("latin-1").decode(errors="replace")
    except UnicodeEncodeError:
        return name


def _before_fork() -> None:
    """No thread is inside the store when the process is copied: a child must not inherit SQLite's own locks held."""
    _gate.acquire()
    _stopped[:] = list(_connections.values())
    for connection in _stopped:
        connection.inside.acquire()
    for connection in _stopped:
        connection.store.park()


def _in_parent() -> None:
    for connection in _stopped:
        with suppress(sqlite3.Error):  # its files are gone: its next call says so
            connection.store.unpark()
        connection.inside.release()
    _stopped.clear()
    _gate.release()


def _in_child() -> None:
    """A forked child has no connection: neither SQLite's files nor the locks may be used in two processes."""
    global _gate  # noqa: PLW0603
    _gate = threading.RLock()
    _stopped.clear()
    _leaked.append(dict(_connections))
    _connections.clear()
    alive.forget()
    write_lock.forget()
    events.renew()


_stopped: list[Connection] = []
os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
