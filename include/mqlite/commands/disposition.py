"""QSGDISP: whether a command is about a queue manager's own object or about one that its queue-sharing group shares.

1. Only local queues are shared, not those of the system, and only in a group. GROUP and COPY definitions are not built.
2. ALTER, DELETE and CLEAR mean the queue manager's own queue unless they say SHARED. The other one they do not find.
3. A shared queue names its coupling facility structure (CFSTRUCT), as it has to on z/OS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqlite.attributes import Kind, Value, attribute
from mqlite.attributes.queues import SHARING_DISPOSITIONS
from mqlite.commands.nouns import NOUNS
from mqlite.commands.request import Request
from mqlite.conditions import CommandError, Condition
from mqlite.objects.sharing_group import PRIVATE, SHARED, difference, is_shared
from mqlite.platform import Platform
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

KEYWORD = "QSGDISP"
WORDS = {"DELETE": SHARING_DISPOSITIONS, "CLEAR": {"PRIVATE": PRIVATE, "SHARED": SHARED}}


def check_definition(
    admin: Administration, kind: Kind, request: Request, values: Mapping[str, Value], there: Mapping[str, Value] | None
) -> None:
    """Of DEFINE. Parameters: `values` that the object will have; `there` those of the one to be replaced, or None.

    Raises CommandError (MQRCCF_Q_MGR_NOT_IN_QSG ...).
    """
    wanted = values.get(KEYWORD, PRIVATE)
    if wanted != PRIVATE:
        _check_group(admin)
    if wanted not in (PRIVATE, SHARED) or (wanted == SHARED and kind is not Kind.QLOCAL):
        raise CommandError(Condition.VALUE_ERROR, name=request.name, parameter=c.MQIA_QSG_DISP)
    if wanted == SHARED and request.name.startswith("SYSTEM."):
        raise CommandError(Condition.NAME_ERROR, name=request.name)
    if wanted == SHARED and not values["CFSTRUCT"]:
        raise CommandError(Condition.REQUIRED_MISSING, parameter=attribute(kind, "CFSTRUCT").selector)
    if there is not None and there.get(KEYWORD, PRIVATE) != wanted:
        raise CommandError(NOUNS[kind].exists, name=request.name)


def check_found(admin: Administration, kind: Kind, request: Request, there: Mapping[str, Value]) -> None:
    """Of ALTER, DELETE and CLEAR: the object that is there is the one meant. Raises CommandError where not."""
    wanted = request.attributes.get(KEYWORD, PRIVATE)
    word = request.options.get(KEYWORD)
    if word is not None:
        if admin.platform != Platform.ZOS:
            reason = Condition.UNKNOWN_PARAMETER.value.reason
            raise CommandError(Condition.NOT_BUILT, name=KEYWORD, reason=reason, parameter=c.MQIA_QSG_DISP)
        if word.upper() not in WORDS[request.verb]:
            raise CommandError(Condition.VALUE_ERROR, name=request.name, parameter=c.MQIA_QSG_DISP)
        wanted = WORDS[request.verb][word.upper()]
    if wanted != PRIVATE:
        _check_group(admin)
    if wanted != (SHARED if is_shared(dict(there)) else PRIVATE):
        raise CommandError(NOUNS[kind].missing, name=request.name)


def _check_group(admin: Administration) -> None:
    if not admin.group:
        raise CommandError(Condition.NOT_IN_GROUP, parameter=c.MQIA_QSG_DISP)


def differing_intervals(admin: Administration) -> tuple[str, ...]:
    """What to say where the members of the group have different EXPRYINT (E17); nothing where not."""
    found = admin.expiry_intervals()
    return (difference(admin.group, found),) if found else ()
