"""START and STOP LISTENER, and DISPLAY LSSTATUS.

There is no network: a listener that was started is one that says so, until STOP LISTENER. Channels find a queue manager
by the PORT of a listener that is defined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqlite.attributes import Kind, Value
from mqlite.attributes.status import STATUS_TABLE, Status
from mqlite.commands.filters import generic_match
from mqlite.commands.request import Request, Response, Row
from mqlite.commands.status import LISTENER_NAME, status_row, trimmed
from mqlite.conditions import CommandError, Condition
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

DEFAULT = "SYSTEM.DEFAULT.LISTENER.TCP"


def start(admin: Administration, request: Request) -> Response:
    """START LISTENER; without a name the default one (IBM MQ, "START LISTENER").

    Raises CommandError: there is no such listener, or it runs, and IGNSTATE(YES) does not say that this is no error.
    """
    name = _named(admin, request)
    if admin.listener_started(name) is not None and not _ignored(request):
        raise CommandError(Condition.LISTENER_RUNNING, name=name)
    admin.set_listener(name, running=True)
    return Response(done=Condition.LISTENER_STARTED)


def stop(admin: Administration, request: Request) -> Response:
    """STOP LISTENER. Raises CommandError: there is no such listener, or it does not run."""
    name = _named(admin, request)
    if admin.listener_started(name) is None and not _ignored(request):
        raise CommandError(Condition.LISTENER_NOT_ACTIVE, name=name)
    admin.set_listener(name, running=False)
    return Response(done=Condition.LISTENER_STOPPED)


def display_status(admin: Administration, request: Request) -> Response:
    """DISPLAY LSSTATUS: the listeners that run. Raises CommandError if there is none."""
    found = []
    for _, name, values in sorted(admin.find((Kind.LISTENER,)), key=lambda each: each[1]):
        started = admin.listener_started(name) if generic_match(request.name, name) else None
        if started is not None:
            row = _row(name, values, started)
            if request.admits(row):
                found.append(trimmed(row, request.wanted))
    if not found:
        raise CommandError(Condition.LISTENER_STATUS_NOT_FOUND, name=request.name)
    return Response(rows=tuple(found))


def _row(name: str, values: dict[str, Value], started: dict[str, Value]) -> Row:
    defined = {keyword: values[keyword] for keyword in STATUS_TABLE[Status.LISTENER] if keyword in values}
    figures = {**defined, **started, "STATUS": c.MQSVC_STATUS_RUNNING}
    return status_row(Status.LISTENER, Condition.LISTENER_STATUS_SHOWN, ((LISTENER_NAME, name),), figures)


def _ignored(request: Request) -> bool:
    return request.options.get("IGNSTATE") == "YES"


def _named(admin: Administration, request: Request) -> str:
    name = request.name or DEFAULT
    if admin.get(Kind.LISTENER, name) is None:
        raise CommandError(Condition.NOT_FOUND, name=name)
    return name
