"""The queue manager as commands see it, on the engine's store: each change is one transaction."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from mqlite.attributes import QUEUE_KINDS, Kind, Value
from mqlite.channels import control
from mqlite.conditions import CommandError, Condition
from mqlite.connections import recovery
from mqlite.connections.connection import shown_application
from mqlite.expiry import scan as expiry_scan
from mqlite.failure import Failure
from mqlite.objects import sharing_group
from mqlite.objects.engine import Engine
from mqlite.objects.manager import COMMAND_QUEUES, Manager, connection_identifier, kept_attributes
from mqlite.publish_subscribe import subscriptions, topics
from mqlite.security import authority
from mqlite.storage import ended, service_lock, sql
from mqlite.storage.alive import alive_file
from mqlite.storage.channel_status import StatusFile
from mqlite.storage.rows import ConnectionRow, HandleRow, QueueRow
from mqlite.storage.store import Store
from mqlite.triggering import trigger_events as triggering
from mqwire import constants as c
from mqwire.names import reason_name

CHLAUTH, LISTENER_STATUS = "CHLAUTH", "LSSTATUS"  # kinds of the object table, besides `Kind`
NEED_FORCE = frozenset({"USAGE", "SHARE", "DEFSOPT"})  # an open handle was given on what they said


class EngineAdministration:
    """Implements `mqlite.administration.protocol.Administration`.

    Parameters: `user` who gives the commands, whose subscriptions they make; blank is the process's own.
    """

    def __init__(self, manager: Manager, store: Store | None = None, *, user: str = "") -> None:
        self._manager = manager
        self._user = user or authority.own_user()
        self._own_store = store is None
        self._store = store or Store(manager.folder)
        self._engine = Engine.of(manager, self._store)
        self._objects = self._engine.objects
        self._channels: StatusFile | None = None
        self._recover()

    def close(self) -> None:
        """Close what was opened here."""
        if self._channels is not None:
            self._channels.close()
        if self._own_store:
            self._store.close()

    @property
    def queue_manager(self) -> str:
        return self._manager.name

    @property
    def platform(self) -> str:
        return self._manager.platform

    @property
    def group(self) -> str:
        return self._manager.group

    def expiry_intervals(self) -> dict[str, int]:
        return sharing_group.expiry_intervals(self._store)

    @property
    def channels(self) -> StatusFile:
        if self._channels is None:
            self._channels = StatusFile(self._manager.folder)
        return self._channels

    def get(self, kind: Kind, name: str) -> dict[str, Value] | None:
        return self._objects.get(kind, name)

    def find(self, kinds: Iterable[Kind]) -> list[tuple[Kind, str, dict[str, Value]]]:
        return list(self._objects.find(kinds))

    def current(self, kind: Kind, name: str, values: Mapping[str, Value]) -> dict[str, Value]:
        if kind is Kind.QLOCAL:
            return {**values, **self._figures(name)}
        if kind is Kind.NAMELIST:
            listed = values.get("NAMES", [])
            return {**values, "NAMCOUNT": len(listed) if isinstance(listed, list) else 0}
        if kind is Kind.QMGR:
            return {**values, **kept_attributes(self._manager)}
        return dict(values)

    def define(self, kind: Kind, name: str, values: dict[str, Value], *, replace: bool) -> None:
        before = self._objects.get(kind, name) if replace else None
        if before is not None and kind is Kind.QLOCAL:
            self._check_open(name, before, values)
        with failures_as_command_errors(name), self._store.write(durable=True):
            if kind is Kind.SUB:
                values["SUBUSER"] = values["SUBUSER"] or self._user
                self._objects.save(kind, name, subscriptions.defined(self._objects, self._manager, values, before))
                return
            if kind is Kind.TOPIC:
                topics.check_definition(self._objects, name, str(values["TOPICSTR"]))
            before = self._objects.get(kind, name)
            if before is None and sharing_group.is_shared(values) and sharing_group.named_anywhere(self._store, name):
                raise CommandError(Condition.ALREADY_EXISTS, name=name)
            self._objects.define(kind, name, values, replace=replace)
            if before is not None and kind is Kind.QLOCAL:
                triggering.altered(self._engine, name, before, self._objects.get(kind, name) or before)

    def alter(self, kind: Kind, name: str, changes: dict[str, Value], *, force: bool) -> None:
        before = self._objects.get(kind, name)
        if before is not None and kind is Kind.QLOCAL and not force:
            self._check_open(name, before, changes)
        with self._store.write(durable=True):
            before = self._objects.get(kind, name)
            after = self._objects.alter(kind, name, changes)
            if before is not None and kind is Kind.QLOCAL:
                triggering.altered(self._engine, name, before, after)

    def delete(self, kind: Kind, name: str, *, purge: bool, with_authority: bool = True) -> None:
        if kind is Kind.CHANNEL:
            self._check_inactive(name)
        if kind is Kind.LISTENER and self.listener_started(name) is not None:
            raise CommandError(Condition.IN_USE, name=name, reason=c.MQRCCF_LISTENER_STILL_ACTIVE)
        self._recover()
        with failures_as_command_errors(name), self._store.write(durable=True):
            if kind is Kind.QLOCAL:
                self._empty(name, purge=purge, with_authority=with_authority)
            if kind is Kind.SUB:
                subscriptions.deleted(self._store, name, self._objects.get(kind, name) or {})
            else:
                self._objects.delete(kind, name)
                if with_authority:
                    object_type = "QUEUE" if kind in QUEUE_KINDS else str(kind)
                    self._store.execute(sql.DELETE_AUTHORITY, (object_type, name))
        if kind is Kind.CHANNEL:
            self.channels.forget(name)

    def clear(self, kind: Kind, name: str) -> None:
        self._recover()
        with self._store.write(durable=True):
            queue = self._queue(name)
            self._check_unused(name, queue)
            self._store.execute(sql.DELETE_ALL, (queue,))
            self._store.execute(sql.CHANGE_DEPTH, (-self._depth(name), queue))

    def discard_expired(self, queues: Iterable[str]) -> None:
        self._recover()
        expiry_scan.scan(self._manager, [self._queue(name) for name in queues])

    def queue_status(self, queue: str) -> dict[str, Value]:
        number = self._queue(queue)
        monitoring, put, got = self._store.one(sql.LAST_TIMES, (number,))
        oldest = self._store.value(sql.OLDEST, (number,))
        put_date, put_time = _moment(put if monitoring else "")
        get_date, get_time = _moment(got if monitoring else "")
        return {
            **self._figures(queue),
            "LGETDATE": get_date,
            "LGETTIME": get_time,
            "LPUTDATE": put_date,
            "LPUTTIME": put_time,
            "MEDIALOG": "",
            "MONQ": monitoring,
            "MSGAGE": _age(oldest) if monitoring else c.MQMON_NOT_AVAILABLE,
            "UNCOM": int(bool(self._store.value(sql.UNCOMMITTED, (number,)))),
        }

    def reset_statistics(self, queue: str) -> dict[str, Value]:
        with self._store.write():
            number = self._queue(queue)
            high, puts, gets, seconds = self._store.one(sql.STATISTICS, (number,))
            self._store.execute(sql.RESET_STATISTICS, (number,))
        return {"HIQDEPTH": high, "MSGSIN": puts, "MSGSOUT": gets, "RESETINT": seconds}

    def queue_handles(self, queue: str) -> list[dict[str, Value]]:
        self._recover()
        return [_handle(row) for row in self._store.rows(HandleRow, sql.HANDLES_ON, (self._queue(queue),))]

    def manager_status(self) -> dict[str, Value]:
        self._recover()
        running = self.service_running()
        return {
            "CHINIT": 2 if running else 0,
            "CMDSERV": 2,
            "CONNS": len(self._store.all(sql.CONNECTION_IDS)),
            "STATUS": 3 if ended.state(self._manager.folder) else 2,
        }

    def connections(self) -> list[tuple[str, dict[str, Value]]]:
        self._recover()
        units = dict(self._store.all(sql.UNITS))
        return [self._connection(row, units) for row in self._store.rows(ConnectionRow, sql.CONNECTIONS)]

    def connection_handles(self) -> list[tuple[str, dict[str, Value]]]:
        self._recover()
        return [
            (
                self._identifier(number),
                {"HSTATE": 0, "OBJNAME": queue, "OBJTYPE": c.MQOT_Q, "OPENOPTS": options},
            )
            for number, queue, options in self._store.all(sql.OPEN_HANDLES)
        ]

    def stop_connection(self, identifier: str) -> None:
        self._recover()
        for row in self._store.rows(ConnectionRow, sql.CONNECTIONS):
            if self._identifier(row.id) == identifier.upper():
                recovery.stop(self._engine, alive_file(self._manager.folder), row.id)
                return
        raise CommandError(Condition.CONNECTION_NOT_FOUND, name=identifier)

    def authority_records(self) -> list[authority.Record]:
        return authority.records(self._store)

    def set_authority(self, records: Iterable[authority.Record]) -> None:
        with self._store.write(durable=True):
            for record in records:
                authority.save(self._store, record)

    def delete_authority(self, records: Iterable[authority.Record]) -> None:
        with self._store.write(durable=True):
            for record in records:
                self._store.execute(sql.DELETE_OBJECT, (authority.RECORD, record.key))

    def channel_authentication(self) -> list[dict[str, Value]]:
        return [json.loads(text) for _, text in self._store.all(sql.OBJECTS_OF_KIND, (CHLAUTH,))]

    def set_channel_authentication(self, removed: Iterable[str], stored: Mapping[str, Mapping[str, Value]]) -> None:
        date, time = _moment(datetime.now(UTC).isoformat())
        with self._store.write(durable=True):
            for key in removed:
                self._store.execute(sql.DELETE_OBJECT, (CHLAUTH, key))
            for key, record in stored.items():
                text = json.dumps({**record, "ALTDATE": date, "ALTTIME": time}, ensure_ascii=False)
                self._store.execute(sql.SET_OBJECT, (CHLAUTH, key, text))

    def listener_started(self, name: str) -> dict[str, Value] | None:
        text = self._store.value(sql.OBJECT, (LISTENER_STATUS, name))
        return None if text is None else json.loads(text)

    def set_listener(self, name: str, *, running: bool) -> None:
        date, time = _moment(datetime.now(UTC).isoformat())
        with self._store.write():
            if running:
                started = json.dumps({"PID": os.getpid(), "STARTDA": date, "STARTTI": time})
                self._store.execute(sql.SET_OBJECT, (LISTENER_STATUS, name, started))
            else:
                self._store.execute(sql.DELETE_OBJECT, (LISTENER_STATUS, name))

    def authorized(self, user: str, object_type: str, name: str, wanted: set[str]) -> bool:
        try:
            authority.require(self._engine, user, object_type, name, wanted)
        except Failure:
            return False
        return True

    def service_running(self) -> bool:
        return service_lock.holder(self._manager.folder) != 0

    def ping_channel(self, name: str) -> None:
        control.ping(self._manager, name)

    def reset_channel(self, name: str, number: int) -> None:
        control.reset(self._manager, name, number)

    def resolve_channel(self, name: str, *, commit: bool) -> None:
        control.resolve(self._manager, name, commit=commit)

    def _recover(self) -> None:
        """Nothing of a dead connection is shown or stands in the way."""
        recovery.recover(self._engine, alive_file(self._manager.folder))

    def _connection(self, row: ConnectionRow, units: Mapping[int, int | None]) -> tuple[str, dict[str, Value]]:
        """Parameters: `units` connection → when the first put of its open unit of work was, tenths of a second."""
        began = units.get(row.id)
        date, time = _moment(datetime.fromtimestamp(began / 10, UTC).isoformat() if began else "")
        start_date, start_time = _moment(row.started)
        values: dict[str, Value] = {
            "STARTDA": start_date,  # of the instance of its channel; DISPLAY CONN does not show it
            "STARTTI": start_time,
            "APPLDESC": "",
            "APPLTAG": shown_application(row.application),
            "APPLTYPE": c.MQAT_USER,
            "CHANNEL": row.channel,
            "CONNAME": row.conn_name,
            "CONNOPTS": 0,
            "PID": row.pid,
            "TID": 1,
            "UOWSTDA": date,
            "UOWSTATE": c.MQUOWST_ACTIVE if row.id in units else c.MQUOWST_NONE,
            "UOWSTTI": time,
            "USERID": row.user,
        }
        return self._identifier(row.id), values

    def _identifier(self, connection: int) -> str:
        return connection_identifier(self._manager.identity, connection).hex().upper()

    def _queue(self, name: str) -> int:
        row = self._store.row(QueueRow, sql.QUEUE, (name,))
        if row is None:
            raise CommandError(Condition.NOT_FOUND, name=name)
        return row.id

    def _depth(self, name: str) -> int:
        row = self._store.row(QueueRow, sql.QUEUE, (name,))
        return row.depth if row else 0

    def _figures(self, name: str) -> dict[str, Value]:
        row = self._store.row(QueueRow, sql.QUEUE, (name,))
        if row is None:
            return {"CURDEPTH": 0, "IPPROCS": 0, "OPPROCS": 0}
        counts = self._store.open_counts(row.id, here=True)
        return {"CURDEPTH": row.depth, "IPPROCS": counts.input, "OPPROCS": counts.output}

    def _check_open(self, name: str, before: Mapping[str, Value], changes: Mapping[str, Value]) -> None:
        """What an open handle relies on changes only with FORCE; USAGE only while the queue is empty as well."""
        changed = {keyword for keyword in NEED_FORCE if keyword in changes and changes[keyword] != before.get(keyword)}
        if not changed:
            return
        self._recover()
        row = self._store.row(QueueRow, sql.QUEUE, (name,))
        if row and (self._store.one(sql.IS_OPEN, (row.id,)) or ("USAGE" in changed and row.depth)):
            raise CommandError(Condition.IN_USE, name=name, reason=c.MQRCCF_OBJECT_OPEN)

    def _check_unused(self, name: str, queue: int) -> None:
        if name == COMMAND_QUEUES[self.platform] or self._store.one(sql.IS_OPEN, (queue,)):  # the command server has it
            raise CommandError(Condition.IN_USE, name=name)
        if self._store.value(sql.UNCOMMITTED, (queue,)):
            raise CommandError(Condition.QUEUE_NOT_EMPTY, name=name)

    def _check_inactive(self, name: str) -> None:
        there = self.channels.read(name)
        if there is not None and there.active and self.service_running():
            raise CommandError(Condition.CHANNEL_IN_USE, name=name)

    def _empty(self, name: str, *, purge: bool, with_authority: bool) -> None:
        """Take a local queue's messages and row away, in the caller's transaction."""
        queue = self._queue(name)
        self._check_unused(name, queue)
        if self._depth(name) and not purge:
            raise CommandError(Condition.QUEUE_NOT_EMPTY, name=name)
        recovery.delete_queue(self._store, queue, name, with_authority=with_authority)


@contextmanager
def failures_as_command_errors(name: str) -> Iterator[None]:
    """The engine's failures as the command's: DEFINE SUB and DELETE SUB fail as MQSUB and MQCLOSE do.

    Parameters: `name` of the subscription, told where the failure names nothing that it is about.
    """
    try:
        yield
    except Failure as failure:
        raise CommandError(
            Condition.FAILED, name=f"{reason_name(failure.reason)} {failure.text or name}", reason=failure.reason
        ) from failure


def _handle(row: HandleRow) -> dict[str, Value]:
    return {
        "APPLDESC": "",
        "APPLTAG": shown_application(row.application),
        "APPLTYPE": c.MQAT_USER,
        "BROWSE": int(bool(row.options & c.MQOO_BROWSE)),
        "CHANNEL": row.channel,
        "CONNAME": row.conn_name,
        "HSTATE": 0,
        "INPUT": 0 if not row.input else c.MQQSO_EXCLUSIVE if row.exclusive else c.MQQSO_SHARED,
        "INQUIRE": int(bool(row.options & c.MQOO_INQUIRE)),
        "OPENOPTS": row.options,
        "OUTPUT": int(bool(row.output)),
        "PID": row.pid,
        "SET": int(bool(row.options & c.MQOO_SET)),
        "TID": 1,
        "USERID": row.user,
    }


def _age(oldest: int | None) -> int:
    """Seconds since a message was put, in tenths of a second of the clock; 0 where there is no message."""
    return max(0, int(datetime.now(UTC).timestamp() - oldest / 10)) if oldest else 0


def _moment(text: str) -> tuple[str, str]:
    """Date and time as DISPLAY shows them, from an ISO moment; blank where there is none."""
    return (text[:10], text[11:19].replace(":", ".")) if text else ("", "")
