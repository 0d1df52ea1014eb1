"""The platforms that an embedded queue manager can stand for."""

from __future__ import annotations

from enum import StrEnum


class Platform(StrEnum):
    """What a queue manager runs on, as `mqlite create --platform` and its file name it."""

    UNIX = "unix"  # ASCII, command queue SYSTEM.ADMIN.COMMAND.QUEUE
    ZOS = "zos"  # EBCDIC, queue-sharing groups, EXPRYINT
