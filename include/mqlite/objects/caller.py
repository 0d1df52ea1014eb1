"""A connection as the rooms below `mqlite.connections` see it."""

from __future__ import annotations

from typing import Protocol

from mqlite.objects.definitions import Objects
from mqlite.objects.engine import Engine
from mqlite.objects.manager import Manager


class Caller(Protocol):
    """The application that makes a call, and its queue manager.

    Attributes: `user` whose authority counts; `privileged` whether no authority is checked.
    """

    manager: Manager
    engine: Engine
    objects: Objects
    user: str
    privileged: bool
