"""Where the lines of each plan stand in a segment of a ledger that the index does not have, above all the open one, so
that a process that asks again and again reads only these.

A process reads each line once: it goes on where it stopped the last time. Lines are only ever added, and each has the
hash of the one before it. So as long as the last line that was read is the same, all before it are; if it is another
one, as after a copy was put back, the segment is read anew.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from cachetools import LRUCache

from mqops.kept import bounded
from mqops.ledger.index import Line

START = 1000
"""Bytes in which a line's unit, run, plan and kind stand."""
MOST = 64 * 2**20
"""Bytes of what is known of all ledgers."""
_PLAN = re.compile(rb'"plan":"([^"]*)"')


@dataclass(slots=True)
class _Known:
    """Parameters: `end` of what was read, in bytes; `last` line of it; `places` plan → number, place and bytes of each
    of its lines, one after another."""

    end: int = 0
    numbers: int = 0
    last: bytes = b""
    places: dict[bytes, array[int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return 300 * len(self.places) + 24 * self.numbers


_known: LRUCache[tuple[int, int], _Known] = bounded(most=MOST, size=lambda one: one.size)
_reading = threading.Lock()


def lines_of_plan(stream: BinaryIO, file: tuple[int, int], digest: str, first: int = 1) -> Iterator[Line]:
    """The complete lines of a plan, in their order.

    Parameters: `stream` of the segment, and `file` its device and inode; `first` number of its first line.
    """
    with _reading:
        places = array("q", _read_on(stream, file).places.get(digest.encode(), ()))
    for number, place, length in zip(places[::3], places[1::3], places[2::3], strict=True):
        stream.seek(place)
        yield Line(first - 1 + number, stream.read(length))


def _read_on(stream: BinaryIO, file: tuple[int, int]) -> _Known:
    known = _known.get(file) or _Known()
    stream.seek(max(0, known.end - len(known.last)))
    if stream.read(len(known.last)) != known.last:
        known = _Known()
        stream.seek(0)
    for line in stream:
        if not line.endswith(b"\n"):  # it is being written, or a crash left it
            break
        known.numbers += 1
        if match := _PLAN.search(line[:START]):
            known.places.setdefault(match[1], array("q")).extend((known.numbers, known.end, len(line)))
        known.end += len(line)
        known.last = line
    _known[file] = known
    return known
