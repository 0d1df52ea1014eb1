"""The application that Airflow's API server mounts below `/mqops`. Its first request loads FastAPI and the pages."""

from __future__ import annotations

from functools import cache
from typing import Any


async def app(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application."""
    await _made()(scope, receive, send)


@cache
def _made() -> Any:
    from mqops_airflow.pages.routes import application  # noqa: PLC0415

    return application()
