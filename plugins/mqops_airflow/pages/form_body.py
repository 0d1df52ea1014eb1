"""The fields of a form that is sent in the body of a request: they stand in no address, so in no log of a server."""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import Request


async def sent(request: Request) -> list[tuple[str, str]]:
    """Name and value of each field that is not empty, in their order."""
    return parse_qsl((await request.body()).decode("utf-8", "replace"))
