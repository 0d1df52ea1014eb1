"""The segments of a ledger: LAKE/<queue manager>/ledger/segments/<number of its first line>.jsonl, each with its
checkpoint beside it (.json). LAKE/<queue manager>/ledger/ledger.jsonl is the open segment, to which lines are added.

1. A closed segment never changes. Its lines are followed by those of the next one: number and hash go on.
2. A segment is closed by one rename. So a reader opens the open segment first and lists the closed ones then: whatever
   is closed meanwhile is the file that it has open already, or begins behind it.
3. The checkpoint is written when the segment is closed and verified (`mqops.ledger.closing`). A closed segment without
   one is read and verified as the open one is.
4. A segment whose checkpoint is there and which is not itself is missing: whoever needs its lines is told which.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mqops.counted import counted
from mqops.errors import LedgerBroken
from mqops.lake.files import lake_errors
from mqops.ledger.core import checkpoint
from mqops.ledger.core.chain import LONGEST_END, Head, end_of
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.seal import BadSignature, Seal

SEGMENT_SIZE = 4 * 2**20
"""Bytes of the open segment at which it is closed: every run verifies and reads it, perhaps 10,000 lines."""
_DIGITS = 18
"""Of the number in a file's name."""


class Segments:
    """The closed segments of a ledger. Parameters: `folder` LAKE/<queue manager>/ledger."""

    def __init__(self, folder: Path) -> None:
        self.open_path = folder / "ledger.jsonl"
        self.folder = folder / "segments"

    def path(self, number: int) -> Path:
        """The file of the segment whose first line has this number."""
        return self.folder / f"{number:0{_DIGITS}}.jsonl"

    def checkpoint_path(self, number: int) -> Path:
        """The file of its checkpoint."""
        return self.folder / f"{number:0{_DIGITS}}.json"

    def numbers(self) -> tuple[list[int], list[int]]:
        """The numbers of the closed segments that are there, and of the checkpoints. Raises `LakeError`."""
        found: dict[str, list[int]] = {".jsonl": [], ".json": []}
        with lake_errors(self.folder):
            names = os.listdir(self.folder) if self.folder.is_dir() else []
        for name in names:
            number, end = name[:_DIGITS], name[_DIGITS:]
            if end in found and number.isdecimal():
                found[end].append(int(number))
        there, stated = found[".jsonl"], found[".json"]
        unseen = set(stated).difference(there)  # a list that is made while a segment is closed may lack its name
        return sorted([*there, *(number for number in unseen if self.path(number).exists())]), sorted(stated)

    def body(self, number: int) -> bytes:
        """The checkpoint as it stands on the disk; empty where there is none. Raises `LakeError`."""
        path = self.checkpoint_path(number)
        with lake_errors(path):
            try:
                with path.open("rb") as stream:
                    return stream.read(checkpoint.LONGEST + 1).strip()
            except FileNotFoundError:
                return b""

    def checkpoint(self, number: int, seal: Seal) -> Checkpoint | None:
        """The checkpoint of a segment; None where there is none that a key of the lake signed (rule 4 of
        `mqops.ledger.core.checkpoint`). Raises `LakeError`, `SettingsError`."""
        try:
            found = checkpoint.read(self.body(number), seal)
        except BadSignature:
            return None
        return found if found.number == number else None

    def last_checkpoint(self, seal: Seal) -> Checkpoint | None:
        """The newest checkpoint that a key of the lake signed. Raises as `checkpoint`."""
        for number in reversed(self.numbers()[1]):
            if found := self.checkpoint(number, seal):
                return found
        return None

    def refuse_missing(self, last: Checkpoint | None) -> None:
        """Refuse a ledger that lacks a closed segment, or one of which is longer or shorter than it was.

        Parameters: `last` checkpoint, which says how many there are up to it, and how many bytes.

        Raises:
            LedgerBroken: naming the segment.
        """
        there, stated = self.numbers()
        if missing := sorted(set(stated).difference(there)):
            raise self.missing(missing[0])
        if last is None:
            return
        closed = [number for number in there if number <= last.number]
        if len(closed) != last.segments:
            raise LedgerBroken(
                f"{self.folder} has {counted(len(closed), 'segment')} up to the one that begins with line "
                f"{last.number}, and its checkpoint counts {last.segments:,}: segments were removed or added"
            )
        with lake_errors(self.folder):
            size = sum(self.path(number).stat().st_size for number in closed)
        if size != last.end:
            raise LedgerBroken(
                f"The closed segments in {self.folder} have not the bytes that the checkpoint of line {last.head.seq} "
                "counts: one was changed"
            )

    def missing(self, number: int) -> LedgerBroken:
        """The error that names a segment that is not there."""
        return LedgerBroken(
            f"The segment of the ledger that begins with line {number} is missing: put {self.path(number)} back from "
            "a copy or from where it was moved to; its checkpoint beside it says its bytes and SHA-256"
        )

    @contextmanager
    def opened(self, after: int = 0) -> Iterator[Opened]:
        """All segments at one time (rule 2). Parameters: `after` closed segments up to this number are left out.

        Raises:
            LedgerBroken: one that is wanted is missing.
            LakeError: one cannot be read.
        """
        with lake_errors(self.open_path):
            try:
                stream: BinaryIO | None = self.open_path.open("rb")
            except FileNotFoundError:
                stream = None
        try:
            there, stated = self.numbers()
            if missing := sorted(number for number in set(stated).difference(there) if number > after):
                raise self.missing(missing[0])
            closed = [number for number in there if number > after]
            yield _opened(self, closed, stream)
        finally:
            if stream is not None:
                stream.close()


def _opened(segments: Segments, closed: list[int], stream: BinaryIO | None) -> Opened:
    """With the closed segments that stand before the open one, although it may be closed meanwhile."""
    if stream is None:
        return Opened(segments, closed, None, 0)
    with lake_errors(segments.open_path):
        mine = os.fstat(stream.fileno()).st_ino
        end = end_of(stream.readline())
        stream.seek(0)
    first = end.seq if end else 0
    before = [number for number in closed if not (first and number >= first) and _file(segments.path(number)) != mine]
    return Opened(segments, before, stream, first)


def _file(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


@dataclass(frozen=True, slots=True)
class Opened:
    """Segments at one time. Parameters: `closed` their numbers; `stream` of the open one, None where there is none, and
    `first` the number of its first line, 0 where that is not known."""

    segments: Segments
    closed: list[int]
    stream: BinaryIO | None
    first: int

    def lines(self) -> Iterator[bytes]:
        """All complete lines; what a crash left half-written at the end is not one. Raises `LakeError`."""
        for number in self.closed:
            yield from complete_lines(self.segments.path(number))
        if self.stream is not None:
            with lake_errors(self.segments.open_path):
                for line in self.stream:
                    if line.endswith(b"\n"):
                        yield line

    def holds(self, head: Head, end: int, begin: int) -> bool:
        """Whether the line that ends at this byte of the ledger has this number and hash.

        Parameters: `begin` bytes before the first of these segments.
        """
        for number in self.closed:
            path = self.segments.path(number)
            with lake_errors(path), path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if end <= begin + size:
                    return holds_line(stream.fileno(), head, end - begin)
            begin += size
        if self.stream is None:
            return False
        with lake_errors(self.segments.open_path):
            return holds_line(self.stream.fileno(), head, end - begin)


def complete_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file. Raises `LakeError`."""
    with lake_errors(path), path.open("rb", buffering=1 << 20) as stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield line


def holds_line(descriptor: int, head: Head, end: int) -> bool:
    """Whether the line that ends at this byte of a file has this number and hash."""
    begin = max(0, end - LONGEST_END)
    tail = os.pread(descriptor, end - begin, begin) if end > 0 else b""
    return len(tail) == end - begin and end_of(tail) == head
