"""A request and its answer between Airflow's API server and the process of the pages, over a Unix socket.

1. One connection has one request. A frame is its length, 4 bytes, most significant first, and so many bytes.
2. From the pages: an empty frame, as soon as they are there. To them: a frame of JSON, what ASGI calls the scope, and
   the person as Airflow's auth manager writes him; a frame with the body of the request.
3. Back: a frame of JSON with status and headers, frames of the body, an empty frame. What ends before is no answer.
4. Who asked closes the connection when he has gone: what is done for him ends.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Iterable, Mapping

from starlette.types import Scope

LENGTH = struct.Struct(">I")
MOST = 64 * 2**20
"""Bytes of a frame."""
TEXTS = ("type", "http_version", "method", "scheme", "path", "root_path")
"""What is text in the scope of a request."""
USER = "mqops.user"
"""The key of the scope that has the person, as the auth manager writes him."""


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame. Raises `asyncio.IncompleteReadError` where the other side has closed, `ValueError`."""
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    if length > MOST:
        raise ValueError(f"a frame is too large: {length}")
    return await reader.readexactly(length)


async def write_frame(writer: asyncio.StreamWriter, content: bytes) -> None:
    """Send a frame. Raises `OSError` where the other side has closed."""
    writer.write(LENGTH.pack(len(content)) + content)
    await writer.drain()


def head_of(scope: Scope, user: Mapping[str, object]) -> bytes:
    """The first frame of a request."""
    found = {name: scope.get(name, "") for name in TEXTS} | {name: scope.get(name) for name in ("client", "server")}
    found |= {"query": scope["query_string"].decode("latin-1"), "headers": latin(scope["headers"])}
    return json.dumps({**found, USER: user}).encode()


def scope_of(head: bytes) -> Scope:
    """The scope of a request that `head_of` has written."""
    found = json.loads(head)
    scope = {name: found[name] for name in (*TEXTS, "client", "server", USER)}
    scope["query_string"] = found["query"].encode("latin-1")
    scope["headers"] = encoded(found["headers"])
    return {**scope, "asgi": {"version": "3.0"}, "raw_path": scope["path"].encode()}


def latin(headers: Iterable[tuple[bytes, bytes]]) -> list[list[str]]:
    """Names and values of headers, for JSON."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]


def encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Names and values of headers, for ASGI."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
