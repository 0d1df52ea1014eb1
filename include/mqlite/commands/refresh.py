"""REFRESH SECURITY and REFRESH QMGR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqlite.attributes import Kind, valid_name
from mqlite.commands.disposition import differing_intervals
from mqlite.commands.filters import generic_match
from mqlite.commands.request import Request, Response
from mqlite.conditions import CommandError, Condition
from mqlite.platform import Platform
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration


def security(admin: Administration, request: Request) -> Response:
    """REFRESH SECURITY(*) TYPE(...): there is nothing to do. Passwords and authority records are read at each use.

    Raises CommandError for any other name: those are classes of z/OS security, which are not built.
    """
    if request.name not in {"", "*"}:
        raise CommandError(Condition.NAME_ERROR, name=request.name)
    return Response(done=Condition.SECURITY_REFRESHED)


def manager(admin: Administration, request: Request) -> Response:
    """REFRESH QMGR TYPE(EXPIRY) NAME(generic), on z/OS only: expired messages of the queues go now (E18).

    Raises CommandError: TYPE is missing, the platform does not have that TYPE, or NAME is not a queue name.
    """
    wanted = request.options.get("TYPE", "").upper()
    if not wanted:
        raise CommandError(Condition.REQUIRED_MISSING, parameter=c.MQIACF_REFRESH_TYPE)
    if wanted != "EXPIRY":
        raise CommandError(Condition.NOT_SUPPORTED, name=f"REFRESH QMGR TYPE({wanted})")
    if admin.platform != Platform.ZOS:
        reason = c.MQRCCF_PARM_VALUE_ERROR
        raise CommandError(Condition.UNKNOWN_PARAMETER, reason=reason, parameter=c.MQIACF_REFRESH_TYPE)
    pattern = request.options.get("NAME", request.name) or "*"
    stem = pattern.removesuffix("*")
    if stem and not valid_name(stem):
        raise CommandError(Condition.NAME_ERROR, name=pattern, parameter=c.MQCACF_OBJECT_NAME)
    admin.discard_expired([name for _, name, _ in admin.find((Kind.QLOCAL,)) if generic_match(pattern, name)])
    return Response(done=Condition.QMGR_REFRESHED, notes=differing_intervals(admin))
