"""REFRESH SECURITY. Passwords and authority records are read at each use, so there is no cache to refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqlite.commands.request import Request, Response
from mqlite.conditions import Condition

if TYPE_CHECKING:
    from mqlite.administration import Administration


def refresh(admin: Administration, request: Request) -> Response:
    """REFRESH SECURITY(*) TYPE(...): accepted, nothing is cached."""
    return Response(done=Condition.SECURITY_REFRESHED)
