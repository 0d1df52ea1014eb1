"""Which users may connect, and which user a connection gets.

Client connections and local ones have their own rule in CONNAUTH's AUTHINFO. A connection runs as the user whose
password was checked, with ADOPTCTX(YES); else as MCAUSER of its channel; else as the user of the process. A user
identifier without a password is ignored.

MQCONN says neither user nor password, so it fails where one is required (IBM: Using CHCKLOCL on locally bound
applications). The `mqlite` command, the service and its channels do not come this way: they are the queue manager.
"""

from __future__ import annotations

from mqlite.attributes import Kind
from mqlite.failure import Failure
from mqlite.objects.definitions import Attributes, Objects
from mqlite.objects.engine import Engine
from mqlite.security import authority, users
from mqlite.security.authority import own_user, privileged
from mqwire import constants as c

ADOPTED = 12  # characters of the longest user identifier that can be adopted: MQMD.UserIdentifier


def authenticate(
    engine: Engine, user: str = "", password: str | None = None, *, client: bool = False, channel: str = ""
) -> str:  # fmt: skip
    """The user that the connection runs as, who is allowed to connect.

    Raises Failure (MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_CHANNEL_NAME).
    """
    rule, served = lookup(engine.objects, channel)
    asserted = str(served.get("MCAUSER") or "") if served else ""
    runs_as = asserted or own_user()
    if rule:
        runs_as = checked(engine, rule, user, password, client=client, runs_as=runs_as)
    authority.require(engine, runs_as, "QMGR", engine.manager.name, {"CONNECT"})
    return runs_as


def checked(
    engine: Engine, rule: Attributes, user: str, password: str | None, *, client: bool, runs_as: str
) -> str:  # fmt: skip
    """The user after the password check that the AUTHINFO wants. Raises Failure (MQRC_NOT_AUTHORIZED)."""
    wanted = rule.get("CHCKCLNT" if client else "CHCKLOCL", c.MQCHK_NONE)
    if wanted == c.MQCHK_NONE:
        return runs_as
    if password is None:
        if wanted == c.MQCHK_REQUIRED or (wanted == c.MQCHK_REQUIRED_ADMIN and privileged(engine.manager, runs_as)):
            raise Failure(c.MQRC_NOT_AUTHORIZED, "a password is required")
        return runs_as
    if not users.check(engine.manager.folder, user, password):
        raise Failure(c.MQRC_NOT_AUTHORIZED, "wrong user or password")
    if not rule.get("ADOPTCTX", 1):
        return runs_as
    if len(user) > ADOPTED:
        raise Failure(c.MQRC_NOT_AUTHORIZED, "the user identifier is too long to be adopted")
    return user


def lookup(objects: Objects, channel: str) -> tuple[Attributes | None, Attributes | None]:
    """The AUTHINFO that CONNAUTH names, and the server-connection channel, if one is named.

    Raises Failure (MQRC_UNKNOWN_CHANNEL_NAME; MQRC_NOT_AUTHORIZED where CONNAUTH names no AUTHINFO that is there, as
    nobody can tell then what was to be checked).
    """
    served = objects.get(Kind.CHANNEL, channel) if channel else None
    if channel and (served is None or served.get("CHLTYPE") != c.MQCHT_SVRCONN):
        raise Failure(c.MQRC_UNKNOWN_CHANNEL_NAME, channel)
    named = str(objects.manager().get("CONNAUTH") or "")
    rule = objects.get(Kind.AUTHINFO, named) if named else None
    if named and rule is None:
        raise Failure(c.MQRC_NOT_AUTHORIZED, f"CONNAUTH names {named}, which is not defined")
    return rule, served
