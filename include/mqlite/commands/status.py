"""DISPLAY QSTATUS, QMSTATUS and CONN; CLEAR, PING and the statistics of queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqlite.attributes import Attribute, Kind, Value
from mqlite.attributes.rows import bits, name, text, word
from mqlite.attributes.status import CHLAUTH_TYPES, STATUS_TABLE, Status
from mqlite.commands import disposition
from mqlite.commands.filters import generic_match
from mqlite.commands.nouns import CHANNEL_NAME, NOUNS, QUEUE_NAME, kinds_of
from mqlite.commands.request import Request, Response, Row
from mqlite.conditions import CommandError, Condition
from mqlite.platform import Platform
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

STATUS_TYPE = word(
    "TYPE", c.MQIACF_Q_STATUS_TYPE, None, {"QUEUE": c.MQIACF_Q_STATUS, "HANDLE": c.MQIACF_Q_HANDLE}
)  # fmt: skip
CONNECTION_ID = bits("CONN", c.MQBACF_CONNECTION_ID, 24)
CONNECTION_TYPE = word(
    "TYPE", c.MQIACF_CONN_INFO_TYPE, None, {"CONN": c.MQIACF_CONN_INFO_CONN, "HANDLE": c.MQIACF_CONN_INFO_HANDLE}
)
LISTENER_NAME = NOUNS[Kind.LISTENER].name
CHLAUTH_PROFILE = text("CHLAUTH", c.MQCACH_CHANNEL_NAME, 20)
CHLAUTH_TYPE = word("TYPE", c.MQIACF_CHLAUTH_TYPE, None, CHLAUTH_TYPES)
STATISTICS_NAME = name("QSTATS", c.MQCA_Q_NAME)
QMGR_NAME = name("QMNAME", c.MQCA_Q_MGR_NAME)
IDENTITIES: Mapping[str, tuple[Attribute, ...]] = {
    "QSTATUS": (QUEUE_NAME, STATUS_TYPE),
    "QMSTATUS": (QMGR_NAME,),
    "CHSTATUS": (CHANNEL_NAME,),
    "CONN": (CONNECTION_ID, CONNECTION_TYPE),
    "LSSTATUS": (LISTENER_NAME,),
    "CHLAUTH": (CHLAUTH_PROFILE, CHLAUTH_TYPE),
}


def display_queue_status(admin: Administration, request: Request) -> Response:
    """DISPLAY QSTATUS: one row a local queue, or with TYPE(HANDLE) one row an open handle."""
    handles = request.options.get("TYPE") == "HANDLE"
    names = [found for _, found, _ in sorted(admin.find((Kind.QLOCAL,))) if generic_match(request.name, found)]
    if not names:
        raise CommandError(_missing_queue(admin, request.name), name=request.name)
    source = _handle_rows if handles else _queue_rows
    found = tuple(row for row in source(admin, names) if request.admits(row))
    if not found and not handles:
        raise CommandError(Condition.NOT_FOUND, name=request.name)
    if not found:
        raise CommandError(Condition.QUEUE_STATUS_NOT_FOUND, name=request.name)
    return Response(rows=tuple(trimmed(row, request.wanted) for row in found))


def _missing_queue(admin: Administration, name: str) -> Condition:
    others = (Kind.QALIAS, Kind.QREMOTE, Kind.QMODEL)
    return Condition.QUEUE_WRONG_TYPE if any(admin.get(kind, name) for kind in others) else Condition.NOT_FOUND


def _queue_rows(admin: Administration, names: list[str]) -> Iterator[Row]:
    for queue in names:
        identity = ((QUEUE_NAME, queue), (STATUS_TYPE, c.MQIACF_Q_STATUS))
        yield status_row(Status.QUEUE, Condition.QUEUE_STATUS_SHOWN, identity, admin.queue_status(queue))


def _handle_rows(admin: Administration, names: list[str]) -> Iterator[Row]:
    for queue in names:
        for handle in admin.queue_handles(queue):
            identity = ((QUEUE_NAME, queue), (STATUS_TYPE, c.MQIACF_Q_HANDLE))
            yield status_row(Status.HANDLE, Condition.QUEUE_STATUS_SHOWN, identity, handle)


def display_manager_status(admin: Administration, request: Request) -> Response:
    """DISPLAY QMSTATUS."""
    identity = ((QMGR_NAME, admin.queue_manager),)
    row = status_row(Status.QMGR, Condition.QMGR_STATUS_SHOWN, identity, admin.manager_status())
    return Response(rows=(trimmed(row, request.wanted),))


def display_connections(admin: Administration, request: Request) -> Response:
    """DISPLAY CONN: one row a connection, with TYPE(HANDLE) one an open queue, with ALL both.

    The name is (the beginning of) the connection's identifier.
    """
    wanted = request.name.rstrip("*").upper()
    rows = sorted(_connection_rows(admin, request.options.get("TYPE", "CONN")), key=lambda row: str(row.identity[0][1]))
    found = [
        trimmed(row, request.wanted)
        for row in rows
        if str(row.identity[0][1]).startswith(wanted) and request.admits(row)
    ]
    if not found:
        raise CommandError(Condition.CONNECTION_NOT_FOUND, name=request.name)
    return Response(rows=tuple(found))


def stop_connection(admin: Administration, request: Request) -> Response:
    """STOP CONN: the connection's next call answers MQRC_CONNECTION_BROKEN, its unit of work is backed out at once."""
    admin.stop_connection(request.name)
    return Response(done=Condition.CONN_STOPPED)


def _connection_rows(admin: Administration, wanted: str) -> Iterator[Row]:
    sources = {
        "CONN": (Status.CONNECTION, c.MQIACF_CONN_INFO_CONN, admin.connections),
        "HANDLE": (Status.CONNECTION_HANDLE, c.MQIACF_CONN_INFO_HANDLE, admin.connection_handles),
    }
    for word_, (kind, number, source) in sources.items():
        if wanted in {word_, "ALL"}:
            for identifier, values in source():
                identity = ((CONNECTION_ID, identifier), (CONNECTION_TYPE, number))
                yield status_row(kind, Condition.CONN_SHOWN, identity, values)


def reset_statistics(admin: Administration, request: Request) -> Response:
    """RESET QSTATS: what went through local queues since the last time; z/OS does it with PERFMEV(ENABLED) only."""
    manager = admin.get(Kind.QMGR, admin.queue_manager) or {}
    if admin.platform == Platform.ZOS and not manager.get("PERFMEV"):
        raise CommandError(Condition.EVENTS_DISABLED)
    names = [found for _, found, _ in sorted(admin.find((Kind.QLOCAL,))) if generic_match(request.name, found)]
    if not names:
        raise CommandError(_missing_queue(admin, request.name), name=request.name)
    return Response(rows=tuple(_statistics_row(admin, queue) for queue in names))


def _statistics_row(admin: Administration, queue: str) -> Row:
    identity = ((STATISTICS_NAME, queue),)
    return status_row(Status.STATISTICS, Condition.STATISTICS_RESET, identity, admin.reset_statistics(queue))


def clear(admin: Administration, request: Request) -> Response:
    """CLEAR QLOCAL: every message goes; not while the queue is open or has uncommitted messages."""
    kind = _local(admin, request.name)
    disposition.check_found(admin, kind, request, admin.get(kind, request.name) or {})
    admin.clear(kind, request.name)
    return Response(done=Condition.QUEUE_CLEARED)


def _local(admin: Administration, queue: str) -> Kind:
    if admin.get(Kind.QLOCAL, queue) is not None:
        return Kind.QLOCAL
    if any(admin.get(kind, queue) is not None for kind in kinds_of("QUEUE")):
        raise CommandError(Condition.QUEUE_WRONG_TYPE, name=queue)
    raise CommandError(NOUNS[Kind.QLOCAL].missing, name=queue)


def ping(admin: Administration, request: Request) -> Response:
    """PING QMGR: it answers, so it is there."""
    return Response(done=Condition.QMGR_PINGED)


def status_row(
    kind: Status, shown: Condition, identity: tuple[tuple[Attribute, Value], ...], values: Mapping[str, Value]
) -> Row:
    """A status row in the order of its table."""
    table = STATUS_TABLE[kind]
    ordered = {keyword: values[keyword] for keyword in table if keyword in values}
    return Row(shown=shown, identity=identity, values=ordered, rows=table)


def trimmed(row: Row, wanted: frozenset[str] | None) -> Row:
    """The row with the wanted values only."""
    if wanted is None:
        return row
    values = {keyword: value for keyword, value in row.values.items() if keyword in wanted}
    return Row(shown=row.shown, identity=row.identity, values=values, rows=row.rows)
