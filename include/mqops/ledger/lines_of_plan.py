"""Where the lines of each plan stand in a ledger, so that a process that asks again and again reads only these.

A process reads each line once: it goes on where it stopped the last time. Lines are only ever added, and each has the
hash of the one before it. So as long as the last line that was read is the same, all before it are; if it is another
one, as after a copy was put back, the ledger is read anew.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from cachetools import LRUCache

from mqops.lake.files import lake_errors

START = 1000
"""Bytes in which a line's unit, run, plan and kind stand."""
MOST = 64 * 2**20
"""Bytes of what is known of all ledgers."""
_PLAN = re.compile(rb'"plan":"([^"]*)"')


class Line(NamedTuple):
    """A line of a ledger. Parameters: `number` from 1."""

    number: int
    content: bytes


@dataclass(slots=True)
class _Known:
    """Parameters: `file` which one it is; `end` of what was read, in bytes; `last` line of it; `places` plan → number,
    place and bytes of each of its lines, one after another."""

    file: int = 0
    end: int = 0
    numbers: int = 0
    last: bytes = b""
    places: dict[bytes, array[int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return 300 * len(self.places) + 24 * self.numbers


_known: LRUCache[Path, _Known] = LRUCache(maxsize=MOST, getsizeof=lambda one: min(one.size, MOST))
_reading = threading.Lock()


def lines_of_plan(path: Path, digest: str) -> Iterator[Line]:
    """The complete lines of a plan, in their order. Raises `LakeError`."""
    if not path.exists():
        return
    with lake_errors(path), path.open("rb") as stream:
        with _reading:
            places = array("q", _read_on(path, stream).places.get(digest.encode(), ()))
        for number, place, length in zip(places[::3], places[1::3], places[2::3], strict=True):
            stream.seek(place)
            yield Line(number, stream.read(length))


def _read_on(path: Path, stream: BinaryIO) -> _Known:
    known = _known.get(path) or _Known()
    file = os.fstat(stream.fileno()).st_ino
    stream.seek(max(0, known.end - len(known.last)))
    if known.file != file or stream.read(len(known.last)) != known.last:
        known = _Known(file)
        stream.seek(0)
    for line in stream:
        if not line.endswith(b"\n"):  # it is being written, or a crash left it
            break
        known.numbers += 1
        if found := _PLAN.search(line[:START]):
            known.places.setdefault(found[1], array("q")).extend((known.numbers, known.end, len(line)))
        known.end += len(line)
        known.last = line
    _known[path] = known
    return known
