"""The queue manager as whoever does its work sees it: a connection, a command, the recovery of what died.

Trigger messages are written by all three; two of them have no connection to do it in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mqlite import sql
from mqlite.attributes import Kind
from mqlite.manager import Manager, folder_name, message_id
from mqlite.objects import Attributes, Objects
from mqlite.store import Store


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
        for name, platform, ccsid, encoding, identity in self.store.all(sql.MEMBERS):
            if name != self.member:
                folder = self.manager.folder.with_name(folder_name(name))
                other = Manager(
                    folder=folder, name=name, platform=platform, ccsid=ccsid, encoding=encoding, identity=identity
                )
                others.append(
                    Engine(manager=other, store=self.store, objects=Objects(self.store, platform), member=name)
                )
        return [self, *others]

    @contextmanager
    def acting(self) -> Iterator[None]:
        """What is done inside is done as this queue manager, whoever's store it is."""
        with self.store.acting_for(self.member):
            yield

    def local_queue(self, name: str) -> LocalQueue | None:
        """The local queue of that name, None if there is none or it is logically deleted."""
        row = self.store.one(sql.QUEUE, (name,))
        local = self.objects.get(Kind.QLOCAL, name)
        if row is None or row[5] or local is None:
            return None
        return LocalQueue(number=row[0], name=name, local=local)

    def new_msg_id(self) -> bytes:
        """The MsgId of the message that is stored next in the caller's transaction, made from that message's number.

        Connections take theirs from ranges of their own, which begin behind this one.
        """
        row = self.store.one(sql.LAST_MESSAGE)
        return message_id(self.manager, row[0] + 1 if row else 1)
