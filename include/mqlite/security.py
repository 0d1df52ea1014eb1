"""Who may connect: CONNAUTH's user and password check. Client connections and local ones have their own rule."""

from __future__ import annotations

from mqlite import users
from mqlite.attributes import Kind
from mqlite.connection import own_user
from mqlite.failure import Failure
from mqlite.manager import Manager, load
from mqlite.objects import Attributes, Objects
from mqlite.store import Store
from mqwire import constants as c


def authenticate(name: str, user: str, password: str | None, *, client: bool, channel: str) -> str:
    """The user that the connection runs as.

    Raises Failure (MQRC_NOT_AUTHORIZED, MQRC_UNKNOWN_CHANNEL_NAME).
    """
    manager = load(name)
    rule, channel_there = lookup(manager, channel)
    if channel and not channel_there:
        raise Failure(c.MQRC_UNKNOWN_CHANNEL_NAME, channel)
    wanted = rule.get("CHCKCLNT" if client else "CHCKLOCL", c.MQCHK_NONE) if rule else c.MQCHK_NONE
    if wanted == c.MQCHK_NONE:
        return user or own_user()
    if password is None:
        if wanted in (c.MQCHK_REQUIRED, c.MQCHK_REQUIRED_ADMIN):
            raise Failure(c.MQRC_NOT_AUTHORIZED, "a password is required")
        return user or own_user()
    if not users.check(manager.folder, user, password):
        raise Failure(c.MQRC_NOT_AUTHORIZED, "wrong user or password")
    return user


def lookup(manager: Manager, channel: str) -> tuple[Attributes | None, bool]:
    """The AUTHINFO that CONNAUTH names, and whether the channel is a server-connection channel of the queue manager."""
    store = Store(manager.folder)
    try:
        objects = Objects(store, manager.platform)
        named = str(objects.manager().get("CONNAUTH") or "")
        definition = objects.get(Kind.CHANNEL, channel) if channel else None
        there = definition is not None and definition.get("CHLTYPE") == c.MQCHT_SVRCONN
        return (objects.get(Kind.AUTHINFO, named) if named else None), there
    finally:
        store.close()
