"""The queue manager as its workers see it: a connection, a command, the recovery of a process that died.

Trigger messages are written by all three; two of them have no connection to do it in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mqlite.attributes import Kind
from mqlite.objects.definitions import Attributes, Objects
from mqlite.objects.manager import Manager, folder_name, message_id
from mqlite.storage import sql
from mqlite.storage.rows import ManagerRow, QueueRow
from mqlite.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue:
    """A local queue that is not (logically) deleted: its number, its name, its attributes as they are now."""

    number: int
    name: str
    local: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One queue manager on one store.

    Attributes: `member` its name if it belongs to a queue-sharing group, else blank.
    """

    manager: Manager
    store: Store
    objects: Objects
    member: str = ""

    @classmethod
    def of(cls, manager: Manager, store: Store) -> Engine:
        """The queue manager on a store that has been opened."""
        return cls(manager=manager, store=store, objects=Objects(store, manager.platform), member=store.member)

    def members(self) -> list[Engine]:
        """This queue manager, and then the others of its queue-sharing group, on the same store."""
        if not self.member:
            return [self]
        others = []
        for row in self.store.rows(ManagerRow, sql.MEMBERS):
            if row.name != self.member:
                folder = self.manager.folder.with_name(folder_name(row.name))
                other = Manager(folder=folder, **row._asdict())
                others.append(
                    Engine(manager=other, store=self.store, objects=Objects(self.store, row.platform), member=row.name)
                )
        return [self, *others]

    @contextmanager
    def acting(self) -> Iterator[None]:
        """What is done inside is done as this queue manager, whoever's store it is."""
        with self.store.acting_for(self.member):
            yield

    def local_queue(self, name: str) -> LocalQueue | None:
        """The local queue of that name, None if there is none or it is logically deleted."""
        row = self.store.row(QueueRow, sql.QUEUE, (name,))
        local = self.objects.get(Kind.QLOCAL, name)
        if row is None or row.deleted or local is None:
            return None
        return LocalQueue(number=row.id, name=name, local=local)

    def new_msg_id(self) -> bytes:
        """The MsgId of the message that is stored next in the caller's transaction, made from that message's number.

        Connections take theirs from ranges of their own, which begin behind this one.
        """
        return message_id(self.manager, (self.store.value(sql.LAST_MESSAGE) or 0) + 1)
