"""Precompiled access to a few fields of a buffer, for calls and messages by the ten thousand. Knows fields, no tables.

A reader is one ``struct`` that skips the gaps. A writer has one ``struct`` a contiguous run, so that no byte between
the fields is touched.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any

from mqwire.errors import CutShort, WireError
from mqwire.fields import Field

Located = tuple[int, Field]


def make_reader(structure: str, order: str, located: list[Located]) -> Callable[..., tuple[Any, ...]]:
    """A function ``(buf, offset=0) -> tuple`` over these fields; see ``Layout.reader``."""
    places = sorted(range(len(located)), key=lambda i: located[i][0])
    start, program = _program(order, [located[i] for i in places])
    unpack_from = program.unpack_from

    def read(buf: Any, offset: int = 0) -> tuple[Any, ...]:
        try:
            return unpack_from(buf, offset + start)
        except struct.error as error:
            raise _cut_short(structure, located, buf, offset) or WireError(
                structure, located[places[0]][1].name, offset + start, str(error)
            ) from error

    if places == sorted(places):
        return read
    pick = itemgetter(*[places.index(i) for i in range(len(places))])

    def read_in_order(buf: Any, offset: int = 0) -> tuple[Any, ...]:
        picked: tuple[Any, ...] = pick(read(buf, offset))
        return picked

    return read_in_order


def make_writer(structure: str, order: str, located: list[Located]) -> Callable[..., None]:
    """A function ``(buf, *values, offset=0)`` over these fields; see ``Layout.writer``."""
    places = sorted(range(len(located)), key=lambda i: located[i][0])
    by_offset = [located[i] for i in places]
    sized = [(i, at, field) for i, (at, field) in enumerate(by_offset) if field.length]
    runs = [(*_program(order, by_offset[low:high]), low, high) for low, high in _runs(by_offset)]
    packers = [(start, program.pack_into, low, high) for start, program, low, high in runs]
    in_order = places == sorted(places)

    def write(buf: Any, *values: Any, offset: int = 0) -> None:
        wire = list(values) if in_order else [values[i] for i in places]
        for i, at, field in sized:
            value = wire[i]
            if type(value) is not bytes or len(value) != field.length:
                wire[i] = _fitted(structure, at, field, value, offset)
        try:
            for start, pack_into, low, high in packers:
                pack_into(buf, offset + start, *wire[low:high])
        except struct.error as error:
            raise (
                _cut_short(structure, located, buf, offset) or _unfit(structure, order, by_offset, wire, offset)
            ) from error

    return write


def _program(order: str, located: list[Located]) -> tuple[int, struct.Struct]:
    start = end = located[0][0]
    parts = [order]
    for at, field in located:
        parts.append(f"{at - end}x{field.code}")
        end = at + field.width
    return start, struct.Struct("".join(parts))


def _runs(located: list[Located]) -> list[tuple[int, int]]:
    """Index ranges of fields that touch each other."""
    ends = [at + field.width for at, field in located]
    breaks = [i for i in range(1, len(located)) if located[i][0] != ends[i - 1]]
    return list(zip([0, *breaks], [*breaks, len(located)], strict=True))


def _fitted(structure: str, at: int, field: Field, value: bytes | str, offset: int) -> bytes:
    try:
        raw = _padded(value, field.length if field.kind == "char" else 0) if isinstance(value, str) else bytes(value)
    except UnicodeEncodeError as error:
        raise WireError(structure, field.name, offset + at, f"{value!r} is not Latin-1") from error
    if len(raw) > field.length:
        raise WireError(structure, field.name, offset + at, f"{len(raw)} bytes are too long for {field.length}")
    return raw.ljust(field.length) if field.kind == "char" else raw


@lru_cache(maxsize=4096)
def _padded(value: str, length: int) -> bytes:
    """Names come again and again."""
    return value.encode("latin-1").ljust(length)


def _cut_short(structure: str, located: list[Located], buf: Any, offset: int) -> CutShort | None:
    """The first field that a buffer does not hold whole, or None."""
    there = memoryview(buf).nbytes - offset
    for at, field in sorted(located, key=itemgetter(0)):
        if at + field.width > there:
            why = f"{max(there, 0)} bytes where {at + field.width} are needed"
            return CutShort(structure, field.name, offset + at, why)
    return None


def _unfit(structure: str, order: str, located: list[Located], wire: list[Any], offset: int) -> WireError:
    """The first value that its field does not take."""
    for (at, field), value in zip(located, wire, strict=True):
        try:
            struct.pack(order + field.code, value)
        except struct.error as error:
            return WireError(structure, field.name, offset + at, f"{value!r}: {error}")
    at, field = located[0]
    return WireError(structure, field.name, offset + at, "cannot be written")
