"""The segments of a ledger: LAKE/<queue manager>/ledger/segments/<number of its first line>.jsonl, each with its
checkpoint beside it (.json). LAKE/<queue manager>/ledger/ledger.jsonl is the open segment, to which lines are added.

1. A closed segment never changes. Its lines are followed by those of the next one: number and hash go on.
2. A segment is closed by one rename. So a reader opens the open segment first and lists the closed ones then: whatever
   is closed meanwhile is the file that it has open already, or begins behind it.
3. The checkpoint is written when the segment is closed and verified (`mqops.ledger.closing`). A closed segment without
   one is read and verified as the open one is.
4. A segment whose checkpoint is there and which is not itself is missing: whoever needs its lines is told which.
5. The first of them may be in an archive, compressed (`mqops.ledger.core.archived`): their checkpoints stay, and a
   signed statement says up to which segment, and in which folder. Whoever needs their lines reads them there.
6. Whoever has a ledger open has read the open segment once, and reads what was added since whenever it is asked: the
   lines are only ever added. A half-written line at the end is not kept, since the next writer cuts it off. It is read
   anew where it is another file, or its size and time or the last line tell that it was changed.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from mqops.counted import counted
from mqops.errors import LakeError, LedgerBroken
from mqops.lake.files import file_state, lake_errors, write_bytes
from mqops.ledger.core import archived, checkpoint
from mqops.ledger.core.archived import Archived
from mqops.ledger.core.chain import LONGEST_END, Head, end_of, head_of
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.seal import BadSignature, Seal

SEGMENT_SIZE = 4 * 2**20
"""Bytes of the open segment at which it is closed: every run verifies and reads it, perhaps 10,000 lines."""
MOST_KEPT = 4 * SEGMENT_SIZE
"""Bytes of an open segment that is kept; a ledger of an earlier version is one file, until it is closed."""
OPEN = "ledger.jsonl"
_DIGITS = 18
"""Of the number in a file's name."""
_BLOCK = 1 << 20


def open_segment(lake_folder: Path) -> Path:
    """The file of the open segment: whether it has changed is asked without opening the ledger. Parameters:
    `lake_folder` LAKE/<queue manager>."""
    return lake_folder / "ledger" / OPEN


class Segments:
    """The closed segments of a ledger. Parameters: `folder` LAKE/<queue manager>/ledger; `seal` the ledger's keys."""

    def __init__(self, folder: Path, seal: Seal) -> None:
        self.open_path = folder / OPEN
        self.folder = folder / "segments"
        self.statement = self.folder / "archived.json"
        self._seal = seal
        self._said: tuple[tuple[int, ...], Archived | None] = (), None
        self._tail = _Tail()

    def path(self, number: int) -> Path:
        """The file that the segment whose first line has this number has in the lake."""
        return self.folder / f"{number:0{_DIGITS}}.jsonl"

    def archived(self) -> Archived | None:
        """What the statement says of the archive; None where there is none that a key of the lake signed. It is read
        when it is another file than before. Raises `LakeError`, `SettingsError`."""
        if (state := file_state(self.statement)) != self._said[0]:
            self._said = state, self._statement()
        return self._said[1]

    def _statement(self) -> Archived | None:
        with lake_errors(self.statement):
            try:
                body = self.statement.read_bytes()[: archived.LONGEST + 1].strip()
            except FileNotFoundError:
                return None
        try:
            return archived.read(body, self._seal)
        except BadSignature:
            return None

    def write_statement(self, said: Archived) -> None:
        """Sign where the archive is. The ledger's lock is held. Raises `LakeError`, `SettingsError`."""
        write_bytes(self.statement, archived.pack(said, self._seal) + b"\n")

    def archive_folder(self, away: Archived) -> Path:
        """The folder of the archive."""
        return Path(os.path.abspath(self.folder / away.folder))

    def out_of_reach(self) -> Archived | None:
        """The archive, if it cannot be read now. Raises `LakeError`, `SettingsError`."""
        away = self.archived()
        return away if away and not (self.archive_folder(away) / archive_name(away.number)).is_file() else None

    @contextmanager
    def stream(self, number: int) -> Iterator[BinaryIO]:
        """The bytes of a closed segment, in the lake or in the archive. One may seek in it.

        Raises:
            LedgerBroken: it is missing, or what is in the archive is damaged.
            LakeError: it cannot be read, or the archive is not there.
        """
        path = self.path(number)
        with ExitStack() as opened, lake_errors(path):
            try:
                stream: BinaryIO = opened.enter_context(path.open("rb", buffering=_BLOCK))
            except FileNotFoundError:
                raw = opened.enter_context(self._in_archive(number))
                stream = cast(BinaryIO, opened.enter_context(gzip.GzipFile(fileobj=raw)))
            try:
                yield stream
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise LedgerBroken(
                    f"The archive of the ledger is damaged: restore {archive_name(number)} from a copy ({error})"
                ) from error

    def _in_archive(self, number: int) -> BinaryIO:
        away = self.archived()
        if away is None or number > away.number:
            raise self.missing(number)
        path = self.archive_folder(away) / archive_name(number)
        try:
            found = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", buffering=_BLOCK)
        except OSError as error:
            raise LakeError(f"{not_there(away, path)} ({error.strerror})") from error
        if not stat.S_ISREG(os.fstat(found.fileno()).st_mode):
            found.close()
            raise LakeError(f"{not_there(away, path)} (it is not a file)")
        return found

    def lines(self, number: int) -> Iterator[bytes]:
        """The complete lines of a closed segment. Raises as `stream`."""
        with self.stream(number) as stream:
            yield from _complete(stream)

    def first(self) -> str:
        """The hash of the ledger's first line, if that stands in a closed segment; else "". Raises as `stream`."""
        there = self.numbers()[0]
        if not there:
            return ""
        made = self.checkpoint(there[0])
        return made.first if made else head_of(next(self.lines(there[0]), b"")).hash

    def size(self, number: int) -> int:
        """The bytes of a closed segment. Raises as `stream`."""
        with lake_errors(self.folder):
            try:
                return self.path(number).stat().st_size
            except FileNotFoundError:
                pass
        if made := self.checkpoint(number):
            return made.size
        with self.stream(number) as stream:
            return stream.seek(0, os.SEEK_END)

    def file_of(self, line: int) -> Path:
        """The file in which a line stands, in the lake or in the archive. Raises `LakeError`, `SettingsError`."""
        number = max((one for one in self.numbers()[0] if one <= line), default=0)
        if not number or 0 < self._first_open() <= line:
            return self.open_path
        away = self.archived()
        in_archive = away and number <= away.number and not self.path(number).exists()
        return self.archive_folder(away) / archive_name(number) if away and in_archive else self.path(number)

    def _first_open(self) -> int:
        """The number of the open segment's first line, 0 where that is not known. Raises `LakeError`."""
        with lake_errors(self.open_path):
            try:
                with self.open_path.open("rb") as stream:
                    end = end_of(stream.readline())
            except FileNotFoundError:
                return 0
        return end.seq if end else 0

    def checkpoint_path(self, number: int) -> Path:
        """The file of its checkpoint."""
        return self.folder / f"{number:0{_DIGITS}}.json"

    def numbers(self) -> tuple[list[int], list[int]]:
        """The numbers of the closed segments that are there or in the archive, and of the checkpoints. Raises
        `LakeError`."""
        found: dict[str, list[int]] = {".jsonl": [], ".json": []}
        with lake_errors(self.folder):
            names = os.listdir(self.folder) if self.folder.is_dir() else []
        for name in names:
            number, end = name[:_DIGITS], name[_DIGITS:]
            if end in found and number.isdecimal():
                found[end].append(int(number))
        away = self.archived()  # behind the list: what was moved away since it was made is in the statement
        there, stated = set(found[".jsonl"]), found[".json"]
        there.update(number for number in stated if away and number <= away.number)
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

    def checkpoint(self, number: int) -> Checkpoint | None:
        """The checkpoint of a segment; None where there is none that a key of the lake signed (rule 4 of
        `mqops.ledger.core.checkpoint`). Raises `LakeError`, `SettingsError`."""
        try:
            found = checkpoint.read(self.body(number), self._seal)
        except BadSignature:
            return None
        return found if found.number == number else None

    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint that a key of the lake signed. Raises as `checkpoint`."""
        for number in reversed(self.numbers()[1]):
            if found := self.checkpoint(number):
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
        away = self.archived()
        segments, end = (away.segments, away.end) if away else (0, 0)
        closed = [number for number in there if (away.number if away else 0) < number <= last.number]
        if segments + len(closed) != last.segments:
            raise LedgerBroken(
                f"{self.folder} has {counted(segments + len(closed), 'segment')} up to the one that begins with line "
                f"{last.number}, and its checkpoint counts {last.segments:,}: segments were removed or added"
            )
        with lake_errors(self.folder):
            size = sum(self.path(number).stat().st_size for number in closed)
        if end + size != last.end:
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
            stream, inode = self._tail.stream(self.open_path)
        try:
            there, stated = self.numbers()
            if missing := sorted(number for number in set(stated).difference(there) if number > after):
                raise self.missing(missing[0])
            closed = [number for number in there if number > after]
            yield _opened(self, closed, stream, inode)
        finally:
            if stream is not None:
                stream.close()


class _Tail:
    """The complete lines of the open segment that were read (rule 6); one that is large is not kept."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()
        self._lines = b""

    def stream(self, path: Path) -> tuple[BinaryIO | None, int]:
        """What there is by now, None where the file is not there; and its inode. Raises `OSError`."""
        try:
            if _state(there := path.stat()) == self._seen:
                return io.BytesIO(self._lines), there.st_ino
            stream = path.open("rb")
        except FileNotFoundError:
            return None, 0
        there = os.fstat(stream.fileno())
        if there.st_size > MOST_KEPT:
            return stream, there.st_ino
        with stream:
            if _state(there)[:2] != self._seen[:2] or there.st_size <= len(self._lines) or not self._goes_on(stream):
                self._lines = b""
                stream.seek(0)
            more = stream.read()
        self._lines += more[: more.rfind(b"\n") + 1]
        self._seen = _state(there)
        return io.BytesIO(self._lines), there.st_ino

    def _goes_on(self, stream: BinaryIO) -> bool:
        """Whether the last line that was read is the same: then all before it are. Behind it the stream is read on."""
        last = self._lines[self._lines.rfind(b"\n", 0, -1) + 1 :]
        stream.seek(len(self._lines) - len(last))
        return stream.read(len(last)) == last


def _state(there: os.stat_result) -> tuple[int, ...]:
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns


def _opened(segments: Segments, closed: list[int], stream: BinaryIO | None, inode: int) -> Opened:
    """With the closed segments that stand before the open one, although it may be closed meanwhile."""
    if stream is None:
        return Opened(segments, closed, None, 0)
    with lake_errors(segments.open_path):
        end = end_of(stream.readline())
        stream.seek(0)
    first = end.seq if end else 0
    before = [number for number in closed if not (first and number >= first) and _inode(segments.path(number)) != inode]
    return Opened(segments, before, stream, first)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:  # it is in the archive
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
        for _number, content in self.parts():
            yield from content

    def parts(self) -> Iterator[tuple[int, Iterator[bytes]]]:
        """The number of each segment, the open one last, and its complete lines. Raises `LakeError`."""
        yield from ((number, self.segments.lines(number)) for number in self.closed)
        if self.stream is not None:
            with lake_errors(self.segments.open_path):
                yield self.first, _complete(self.stream)

    def holds(self, head: Head, end: int, begin: int) -> bool:
        """Whether the line that ends at this byte of the ledger has this number and hash.

        Parameters: `begin` bytes before the first of these segments.
        """
        for number in self.closed:
            size = self.segments.size(number)
            if end <= begin + size:
                with self.segments.stream(number) as stream:
                    return holds_line(stream, head, end - begin)
            begin += size
        if self.stream is None:
            return False
        with lake_errors(self.segments.open_path):
            return holds_line(self.stream, head, end - begin)


def complete_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file. Raises `LakeError`."""
    with lake_errors(path), path.open("rb", buffering=_BLOCK) as stream:
        yield from _complete(stream)


def _complete(stream: BinaryIO) -> Iterator[bytes]:
    return (line for line in stream if line.endswith(b"\n"))


def holds_line(stream: BinaryIO, head: Head, end: int) -> bool:
    """Whether the line that ends at this byte of a file has this number and hash."""
    begin = max(0, end - LONGEST_END)
    stream.seek(begin)
    tail = stream.read(end - begin) if end > 0 else b""
    return len(tail) == end - begin and end_of(tail) == head


def archive_name(number: int) -> str:
    """The name that the segment whose first line has this number has in an archive."""
    return f"{number:0{_DIGITS}}.jsonl.gz"


def not_there(away: Archived, path: Path) -> str:
    """That the archive cannot be read, and what to do."""
    return (
        f"Lines 1 to {away.head.seq} of the ledger are in an archive, and {path} cannot be read: mount its folder, or "
        "name the folder where the files are now with `mqops ledger archive --to FOLDER`"
    )
