"""The one command table behind MQSC and PCF: verb and noun → the function that does it.

A command takes an `Administration` (the queue manager as commands see it) and a `Request`, and gives a `Response` or
raises `CommandError`. It knows neither MQSC text nor PCF bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mqlite.attributes import Kind
from mqlite.commands import authority, channel_authentication, channels, inquire, listeners, objects, refresh, status
from mqlite.commands.filters import Where
from mqlite.commands.request import Request, Response, Row
from mqlite.conditions import CommandError, Condition

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

__all__ = ["COMMANDS", "CommandError", "Condition", "Request", "Response", "Row", "Where", "run", "run_as"]

Run = Callable[["Administration", Request], Response]
DEFINABLE = tuple(str(kind) for kind in Kind if kind is not Kind.QMGR)

COMMANDS: Mapping[tuple[str, str], Run] = {
    **{("DEFINE", noun): objects.define for noun in DEFINABLE},
    **{("ALTER", noun): objects.alter for noun in (*DEFINABLE, "QMGR")},
    **{("DELETE", noun): objects.delete for noun in (*DEFINABLE, "QUEUE")},
    **{("DISPLAY", noun): inquire.display for noun in (*DEFINABLE, "QMGR", "QUEUE")},
    ("DISPLAY", "QSTATUS"): status.display_queue_status,
    ("DISPLAY", "QMSTATUS"): status.display_manager_status,
    ("DISPLAY", "CONN"): status.display_connections,
    ("STOP", "CONN"): status.stop_connection,
    ("DISPLAY", "CHSTATUS"): channels.display_status,
    ("RESET", "QSTATS"): status.reset_statistics,
    ("CLEAR", "QLOCAL"): status.clear,
    ("PING", "QMGR"): status.ping,
    ("PING", "CHANNEL"): channels.ping,
    ("START", "CHANNEL"): channels.start,
    ("STOP", "CHANNEL"): channels.stop,
    ("START", "LISTENER"): listeners.start,
    ("STOP", "LISTENER"): listeners.stop,
    ("DISPLAY", "LSSTATUS"): listeners.display_status,
    ("SET", "CHLAUTH"): channel_authentication.set_record,
    ("DISPLAY", "CHLAUTH"): channel_authentication.display_records,
    ("RESET", "CHANNEL"): channels.reset,
    ("RESOLVE", "CHANNEL"): channels.resolve,
    ("SET", "AUTHREC"): authority.set_records,
    ("DELETE", "AUTHREC"): authority.delete_records,
    ("DISPLAY", "AUTHREC"): authority.display_records,
    ("REFRESH", "SECURITY"): refresh.security,
    ("REFRESH", "QMGR"): refresh.manager,
}


def run_as(admin: Administration, user: str, request: Request) -> Response:
    """Do one command with the authority of a user. Raises CommandError, NOT_AUTHORIZED where that does not do."""
    request = objects.named(admin, request)
    authority.permit(admin, user, request)
    return authority.sift(admin, user, request, run(admin, request))


def run(admin: Administration, request: Request) -> Response:
    """Do one command. Raises CommandError, NOT_SUPPORTED where there is no such command."""
    command = COMMANDS.get((request.verb, request.noun))
    if command is None:
        raise CommandError(Condition.NOT_SUPPORTED, name=f"{request.verb} {request.noun}")
    return command(admin, objects.named(admin, request))
