"""The application that Airflow's API server mounts below `/mqops`. Its first request loads FastAPI and the pages."""

from __future__ import annotations

import gc
from functools import cache
from typing import Any


async def app(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application."""
    await _made()(scope, receive, send)


@cache
def _made() -> Any:
    """What Airflow and the pages have loaded stays as long as the process does. Python's full garbage collection would
    look through all of it each time: 0.2 s in which no reader gets an answer."""
    from mqops_airflow.pages.routes import application  # noqa: PLC0415

    made = application()
    gc.collect()
    gc.freeze()
    return made
