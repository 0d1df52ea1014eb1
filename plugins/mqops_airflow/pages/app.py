"""What Airflow's API server mounts below `/mqops`. The first request starts the process of the pages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from mqops_airflow.pages.relay import Relay


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application."""
    await relay()(scope, receive, send)


@cache
def relay() -> Relay:
    """What hands the requests on."""

    from mqops_airflow.pages.relay import Relay  # noqa: PLC0415 - loads Airflow's API

    return Relay()
