"""The objects of a queue manager: definitions by kind and name, and the queues that hold messages.

Attributes are values by MQSC keyword, as `mqlite.attributes` has them. Callers hold a write transaction of the store
for whatever changes something.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache

from mqlite.attributes import QUEUE_KINDS, Kind, Value, defaults
from mqlite.attributes.queues import SHARING_DISPOSITIONS
from mqlite.failure import Failure
from mqlite.storage import sql
from mqlite.storage.rows import ManagerRow, ObjectRow, QueueRow
from mqlite.storage.store import Store
from mqwire import constants as c

Attributes = dict[str, Value]
SHARED, IGNORE = SHARING_DISPOSITIONS["SHARED"], c.MQSQQM_IGNORE


@lru_cache(maxsize=1024)
def _parsed(kind: Kind, platform: str, text: str) -> Attributes:
    values: Attributes = json.loads(text)
    if kind in QUEUE_KINDS:
        return {**defaults(kind, platform=platform), **values}
    return values


class Objects:
    """The object table as one connection sees it."""

    def __init__(self, store: Store, platform: str) -> None:
        self._store = store
        self._platform = platform
        self._manager: Attributes = {}
        self._manager_version = 0

    def get(self, kind: Kind, name: str) -> Attributes | None:
        """The stored attributes of an object, None if there is none."""
        text = self._store.value(sql.OBJECT, (kind, name))
        return None if text is None else self._attributes(kind, text)

    def _attributes(self, kind: Kind, text: str) -> Attributes:
        """The attributes of an object as they are stored. Each MQOPEN reads some, mostly those of the one before. A
        queue that was defined before its kind got an attribute has that attribute's default."""
        return dict(_parsed(kind, self._platform, text))

    def find(self, kinds: Iterable[Kind]) -> Iterator[tuple[Kind, str, Attributes]]:
        """Every object of these kinds, by name within each kind."""
        for kind in kinds:
            for name, text in self._store.all(sql.OBJECTS_OF_KIND, (kind,)):
                yield kind, name, self._attributes(kind, text)

    def manager(self, version: int | None = None) -> Attributes:
        """The queue manager's own attributes, read again only after some object has changed.

        Parameters: `version` of the objects, where the caller has just read it.
        """
        if version is None:
            version = self._store.value(sql.MANAGER_VERSION)
        if version != self._manager_version:
            (row,) = self._store.rows(ObjectRow, sql.OBJECTS_OF_KIND, (Kind.QMGR,))
            self._manager = self._attributes(Kind.QMGR, row.attributes)
            self._manager_version = version
        return self._manager

    def queue(self, name: str) -> tuple[Kind, Attributes] | None:
        """The definition that MQOPEN finds under a queue's name."""
        for kind in QUEUE_KINDS:
            found = self.get(kind, name)
            if found is not None:
                return kind, found
        return None

    def reaches_group(self, queue_manager: str) -> bool:
        """Whether shared queues are here under this name: the group's, or with SQQMNAME(IGNORE) another member's."""
        if queue_manager == self._store.group:
            return bool(queue_manager)
        ignored = self._store.member and self.manager()["SQQMNAME"] == IGNORE
        return bool(ignored) and any(row.name == queue_manager for row in self._store.rows(ManagerRow, sql.MEMBERS))

    def define(self, kind: Kind, name: str, values: Mapping[str, Value], *, replace: bool = False) -> None:
        """Make an object; what `values` leaves out has its default. With `replace` the one that is there becomes so.

        Raises Failure (MQRC_OBJECT_ALREADY_EXISTS).
        """
        before = self.get(kind, name)
        if before is not None and not replace:
            raise Failure(c.MQRC_OBJECT_ALREADY_EXISTS, name)
        now = _stamps()
        attributes: Attributes = {**defaults(kind, platform=self._platform), **values, **now}
        if kind in {Kind.QLOCAL, Kind.QMGR}:
            made = before or {}
            attributes["CRDATE"] = made.get("CRDATE", now["ALTDATE"])
            attributes["CRTIME"] = made.get("CRTIME", now["ALTTIME"])
        if kind is Kind.QLOCAL:
            attributes.setdefault("DEFTYPE", c.MQQDT_PREDEFINED)
            shared = attributes.get("QSGDISP") == SHARED
            self._queue_row(name, int(str(attributes["DEFTYPE"])), 0, shared=shared)
        self.save(kind, name, attributes)

    def define_dynamic(self, name: str, values: Mapping[str, Value], creator: int) -> int:
        """Make a dynamic queue of a model's attributes; returns its queue number."""
        dynamic = int(str(values["DEFTYPE"]))
        temporary = dynamic == c.MQQDT_TEMPORARY_DYNAMIC
        now = _stamps()
        attributes = {**defaults(Kind.QLOCAL, platform=self._platform), **values, **now}
        attributes |= {"CRDATE": now["ALTDATE"], "CRTIME": now["ALTTIME"]}
        self.save(Kind.QLOCAL, name, attributes)
        number = self._queue_row(name, dynamic, creator if temporary else 0)
        self._store.execute(sql.MONITOR, (name,))
        return number

    def alter(self, kind: Kind, name: str, changes: Mapping[str, Value]) -> Attributes:
        """Change attributes of an object and return them all.

        Raises Failure (MQRC_UNKNOWN_OBJECT_NAME).
        """
        before = self.get(kind, name)
        if before is None:
            raise Failure(c.MQRC_UNKNOWN_OBJECT_NAME, name)
        after = {**before, **changes, **_stamps()}
        self.save(kind, name, after)
        return after

    def delete(self, kind: Kind, name: str) -> None:
        """Delete a definition; the messages of a queue are the caller's business."""
        self._store.execute(sql.DELETE_OBJECT, (kind, name))
        self._store.execute(sql.TOUCH_MANAGER)

    def save(self, kind: Kind, name: str, attributes: Attributes) -> None:
        """Store an object's attributes just as they are."""
        self._store.execute(sql.SET_OBJECT, (kind, name, json.dumps(attributes, ensure_ascii=False)))
        self._store.execute(sql.TOUCH_MANAGER)
        if kind is Kind.QLOCAL:
            row = self._store.row(QueueRow, sql.QUEUE, (name,))
            if row:
                self._store.execute(sql.TOUCH_QUEUE, (row.id,))
                self._store.execute(sql.MONITOR, (name,))
        elif kind is Kind.QMGR:
            self._store.execute(sql.MONITOR_ALL)

    def _queue_row(self, name: str, dynamic: int, creator: int, *, shared: bool = False) -> int:
        row = self._store.row(QueueRow, sql.QUEUE, (name,))
        if row:
            return row.id
        number = int(self._store.execute(sql.ADD_QUEUE, (name, dynamic, creator)).lastrowid or 0)
        if self._store.member and not shared:
            self._store.execute(sql.OWN_QUEUE, (self._store.member, number))
        return number


def _stamps() -> dict[str, Value]:
    now = datetime.now(UTC)
    return {"ALTDATE": now.strftime("%Y-%m-%d"), "ALTTIME": now.strftime("%H.%M.%S")}
