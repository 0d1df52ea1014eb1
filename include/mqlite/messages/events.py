"""Who wants to know that messages became available: the command server, triggering, waiting gets of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mqlite.objects.caller import Caller

Listener = Callable[[Caller, str], None]

_listeners: list[Listener] = []
_arrival = threading.Condition()


def listen(listener: Listener) -> None:
    """Call `listener(connection, queue)` after messages became available on a queue."""
    if listener not in _listeners:
        _listeners.append(listener)


def message_available(connection: Caller, queue: str) -> None:
    """Messages became available on `queue` (blank: on several), by what `connection` did."""
    with _arrival:
        _arrival.notify_all()
    for listener in _listeners:
        listener(connection, queue)


def wait(seconds: float) -> None:
    """Return when messages became available through this process, or after so many seconds."""
    with _arrival:
        _arrival.wait(seconds)


def renew() -> None:
    """In a forked child: a new condition, which no thread holds."""
    global _arrival  # noqa: PLW0603
    _arrival = threading.Condition()
