"""The hook of the command server: what makes a command available on the command queue is answered before the call ends.

The server itself (`mqlite.pcf.server`) is imported with the first command, so that programs without any do not pay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqlite import events

if TYPE_CHECKING:
    from mqlite.connection import Connection

COMMAND_QUEUES = {"unix": "SYSTEM.ADMIN.COMMAND.QUEUE", "zos": "SYSTEM.COMMAND.INPUT"}


def install() -> None:
    """Answer the commands that this process makes available."""
    events.listen(on_message)


def on_message(connection: Connection, queue: str) -> None:
    """Serve the command queue, if it is that."""
    if queue != COMMAND_QUEUES[connection.manager.platform]:
        return
    try:
        from mqlite.pcf.server import answer_commands  # noqa: PLC0415
    except ImportError:  # the interpreter is shutting down: the next command is answered together with this one
        return
    answer_commands(connection)
