"""The mover's port on the engine: opens, gets and puts as a message channel agent, in its own connection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mqlite.calls import get as getting
from mqlite.calls import opening
from mqlite.calls import put as putting
from mqlite.calls.opening import OpenObject
from mqlite.channels.port import ChannelMessage, Refused
from mqlite.connections import unit_of_work
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.objects.manager import Manager
from mqlite.objects.resolve import resolve
from mqlite.platform import Platform
from mqlite.reports import reports
from mqlite.security import authority
from mqwire import constants as c
from mqwire.structures import MQMD

SOURCE_OPTIONS = c.MQOO_INPUT_SHARED | c.MQOO_BROWSE
TARGET_OPTIONS = c.MQOO_OUTPUT | c.MQOO_SET_ALL_CONTEXT
ROOM = 1 << 30  # any message fits
NO_TOKEN = bytes(16)


class EnginePort:
    """Implements `mqlite.channels.port.Port`. For the thread that made it."""

    def __init__(self, manager: Manager, channel: str) -> None:
        self._manager = manager
        with refusing():
            where = f"pid {os.getpid()}"
            self._connection = Connection(manager, user="mqm", shared=False, channel=channel, conn_name=where)
        self._sources: dict[str, OpenObject] = {}
        self._targets: dict[tuple[str, str, str, str], OpenObject] = {}

    @property
    def queue_manager(self) -> str:
        return self._manager.name

    @property
    def ccsid(self) -> int:
        return self._manager.ccsid

    @property
    def encoding(self) -> int:
        return self._manager.encoding

    @property
    def appl_type(self) -> int:
        return c.MQAT_CHANNEL_INITIATOR if self._manager.platform == Platform.ZOS else c.MQAT_UNIX

    @property
    def appl_name(self) -> str:
        return f"{self._manager.name[:4]}CHIN" if self._manager.platform == Platform.ZOS else "amqrmppa"

    @property
    def changes(self) -> int:
        """A number that changes when another connection has written to the queue manager's store."""
        return self._connection.store.changes

    def dead_letter_queue(self) -> str:
        return str(self._connection.objects.manager()["DEADQ"])

    def get(self, queue: str, *, wait: float = 0, token: bytes = b"", correl_id: bytes = b"") -> ChannelMessage | None:
        options = c.MQGMO_SYNCPOINT | (c.MQGMO_WAIT if wait else 0)
        return self._read(queue, options, wait=wait, token=token, correl_id=correl_id)

    def browse(self, queue: str, correl_id: bytes) -> bytes | None:
        found = self._read(queue, c.MQGMO_BROWSE_FIRST, wait=0, token=b"", correl_id=correl_id)
        return found.body if found else None

    def browse_all(self, queue: str) -> Iterator[bytes]:
        found = self._read(queue, c.MQGMO_BROWSE_FIRST, wait=0, token=b"", correl_id=b"")
        while found is not None:
            yield found.body
            found = self._read(queue, c.MQGMO_BROWSE_NEXT, wait=0, token=b"", correl_id=b"")

    def put(
        self, queue: str, queue_manager: str, md: MQMD, body: bytes, *, syncpoint: bool = True, user: str = "",
        alternate: str = "",
    ) -> None:  # fmt: skip
        scope = c.MQPMO_SYNCPOINT if syncpoint else c.MQPMO_NO_SYNCPOINT
        request = putting.PutRequest(
            md=bytearray(md.pack()), options=c.MQPMO_SET_ALL_CONTEXT | scope, context=0, body=body
        )
        with refusing():
            putting.put(self._connection, self._target(queue, queue_manager, user, alternate), request)

    def check_report(self, queue: str, queue_manager: str, *, user: str) -> None:
        with refusing():
            reports.check_target(self._connection, user, queue, queue_manager)

    def commit(self) -> None:
        with refusing():
            unit_of_work.commit(self._connection)
            self._close_targets()

    def back_out(self) -> None:
        with refusing():
            unit_of_work.back_out(self._connection)
            self._close_targets()

    def close(self) -> None:
        with refusing():
            unit_of_work.disconnect(self._connection, 0, keep=False)

    def _read(self, queue: str, options: int, *, wait: float, token: bytes, correl_id: bytes) -> ChannelMessage | None:
        match = (c.MQMO_MATCH_MSG_TOKEN if token else 0) | (c.MQMO_MATCH_CORREL_ID if correl_id else 0)
        request = getting.GetRequest(
            md=bytearray(MQMD(correl_id=correl_id or c.MQCI_NONE).pack()),
            options=options,
            match=match,
            token=token or NO_TOKEN,
            wait=int(wait * 1000),
            room=ROOM,
        )
        try:
            found = getting.get(self._connection, self._source(queue), request)
        except Failure as failure:
            if failure.reason == c.MQRC_NO_MSG_AVAILABLE:
                return None
            raise Refused(failure.reason) from failure
        return ChannelMessage(md=MQMD.unpack(found.md), body=found.body, token=found.token) if found else None

    def _source(self, queue: str) -> OpenObject:
        """The queue open for input; it stays open for the life of the port."""
        if queue not in self._sources:
            self._sources[queue] = self._open(queue, "", SOURCE_OPTIONS)
        return self._sources[queue]

    def _target(self, queue: str, queue_manager: str, user: str, alternate: str) -> OpenObject:
        """The queue open for output by a user; it stays open until the unit of work ends."""
        names = (queue, queue_manager, user, alternate)
        if names not in self._targets:
            if alternate:
                self._check_agent(queue, queue_manager, user)
                options = TARGET_OPTIONS | c.MQOO_ALTERNATE_USER_AUTHORITY
                self._targets[names] = self._open(queue, queue_manager, options, alternate)
            else:
                self._targets[names] = self._open(queue, queue_manager, TARGET_OPTIONS, user)
        return self._targets[names]

    def _check_agent(self, queue: str, queue_manager: str, user: str) -> None:
        """The channel's own user may put on a queue in others' names (IBM MQ, "PUT authority (PUTAUT)").

        Raises Refused (MQRC_NOT_AUTHORIZED ...).
        """
        if not user:
            return
        connection = self._connection
        with refusing():
            found = resolve(connection.objects, self._manager.name, queue, queue_manager)
            name = authority.queue_that_counts(connection, found)
            authority.require_in_place(connection, user, "QUEUE", name, {"SETALL"})

    def _open(self, queue: str, queue_manager: str, options: int, user: str = "") -> OpenObject:
        with refusing():
            return opening.open_queue(
                self._connection, name=queue, queue_manager=queue_manager, dynamic_name="", options=options, user=user
            )

    def _close_targets(self) -> None:
        for opened in self._targets.values():
            opening.close(self._connection, opened.handle, c.MQCO_NONE)
        self._targets.clear()


@contextmanager
def refusing() -> Iterator[None]:
    """The engine's failures as the port's."""
    try:
        yield
    except Failure as failure:
        raise Refused(failure.reason) from failure
