"""Carries the bytes of one connection to another and back. It knows neither what they mean nor who speaks."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

AT_ONCE = 1 << 20
"""Bytes that are read of a connection before the other one must take some."""


class End(NamedTuple):
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def carry(one: End, other: End) -> None:
    """Carry bytes both ways until one of the two is closed; then close the other one."""
    ways = [asyncio.create_task(_way(here.reader, there.writer)) for here, there in ((one, other), (other, one))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in (one, other):
            end.writer.close()
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):  # either end has gone
        while data := await reader.read(AT_ONCE):
            writer.write(data)
            await writer.drain()
