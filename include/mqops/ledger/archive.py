"""Closed segments of a ledger are moved to an archive: a folder with one compressed file a segment, `zless` reads it.

In this order, so that a process that is killed at any step has lost nothing:

1. each segment is compressed into the archive, brought to disk, read back, and compared with its checkpoint: bytes and
   SHA-256. What is in the folder already, and is what the checkpoint says, is taken as it is;
2. the checkpoints are copied beside them: the archive can be checked without the lake;
3. the statement is signed and written to the lake, in one step (`mqops.ledger.core.archived`). From here on whoever
   needs these lines reads them in the archive;
4. the files in the lake are removed.

Between 3 and 4 both are there, and the next archiving goes on at 4. The last closed segment always stays in the lake.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from mqops.errors import InProgress, LedgerBroken
from mqops.lake.files import FILE_MODE, lake_errors, make_folder, refuse_foreign, sync, write_bytes
from mqops.lake.run import queue_manager_of
from mqops.ledger.core import archived
from mqops.ledger.core.chain import LONGEST_END, damaged, end_of, recorded_at
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.history import is_since
from mqops.ledger.file import LedgerFile
from mqops.ledger.progress import told
from mqops.ledger.segments import Segments, archive_name

_BLOCK = 1 << 20
_LEVEL = 6
"""Of gzip: 4 MB take 0.1 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What is in the archive.

    Parameters: `folder`; `segments` and `lines` that are there in all; `new` segments of these; `size` bytes that the
    new ones had, `packed` that they have.
    """

    folder: Path
    segments: int = 0
    lines: int = 0
    new: int = 0
    size: int = 0
    packed: int = 0

    def to_json(self) -> dict[str, object]:
        """As `--json` prints it."""
        return {**asdict(self), "folder": str(self.folder)}


def archive(
    file: LedgerFile, folder: Path | None = None, *, before: datetime | None = None, dry_run: bool = False
) -> Moved:
    """Move closed segments to an archive.

    Parameters: `folder` of the archive, None for the one that the statement names, or else the folder of the segments
    itself, where they are compressed; `before` a time: only segments all of whose lines are older; `dry_run` nothing is
    written.

    Raises:
        LedgerBroken: a segment is not what its checkpoint says. Nothing was moved.
        LakeError: a file cannot be read or written.
        InProgress: another process archives.
        SettingsError: there is no key.
    """
    segments, away = file.segments, file.segments.archived()
    there = segments.archive_folder(away) if away else segments.folder
    place = Path(os.path.abspath(folder)) if folder else there
    found = list(_to_move(segments, away.number if away else 0, before))
    if away and place != there:
        found = [*_known(segments, up_to=away.number), *found]
    stands = archived.of_checkpoint(found[-1], "." if place == segments.folder else str(place)) if found else away
    packed = 0
    if not dry_run:
        packed = _pack_all(file, found, place)
        with file.lock():
            if segments.archived() != away:
                raise InProgress(f"Another process has moved segments of {file.path} to an archive: begin again")
            if found and stands:
                segments.write_statement(stands)
            if stands:
                _remove(segments, stands.number)
    return Moved(
        folder=place,
        segments=stands.segments if stands else 0,
        lines=stands.head.seq if stands else 0,
        new=len(found),
        size=sum(one.size for one in found),
        packed=packed,
    )


def _pack_all(file: LedgerFile, found: Sequence[Checkpoint], place: Path) -> int:
    """Steps 1 and 2; the bytes that the segments have now."""
    if not found:
        return 0
    make_folder(place)
    refuse_foreign(place)
    progress = told("Archive of the ledger", queue_manager_of(file.folder.parent))
    size, done, packed = sum(one.size for one in found), 0, 0
    for one in found:
        packed += _pack(file.segments, one, place)
        done += one.size
        progress(done, size)
    with lake_errors(place):
        sync(place)
    return packed


def _to_move(segments: Segments, after: int, before: datetime | None) -> Iterator[Checkpoint]:
    """The checkpoints of the segments that may go: without a gap, and all but the last one.

    Parameters: `after` the last segment that is in the archive.

    Raises:
        LedgerBroken: one has no checkpoint that a key of the lake signed.
    """
    for number in [one for one in segments.numbers()[0][:-1] if one > after]:
        made = segments.checkpoint(number)
        if made is None:
            raise LedgerBroken(
                f"The segment that begins with line {number} has no checkpoint that a key of the ledger signed, so "
                "nothing says what is in it: `mqops ledger verify` says more. Nothing was moved"
            )
        if before and not _all_before(segments, made, before):
            return
        yield made


def _all_before(segments: Segments, made: Checkpoint, when: datetime) -> bool:
    """Whether a segment's last line was recorded before this time. Raises `LedgerBroken`: it does not end so."""
    with segments.stream(made.number) as stream:
        stream.seek(max(0, made.size - LONGEST_END))
        end = stream.read(LONGEST_END)
    if end_of(end) != made.head:
        raise damaged(made.head.seq)
    return not is_since(recorded_at(end), when)


def _known(segments: Segments, *, up_to: int) -> Iterator[Checkpoint]:
    for number in segments.numbers()[1]:
        if number <= up_to and (made := segments.checkpoint(number)):
            yield made


def _pack(segments: Segments, made: Checkpoint, folder: Path) -> int:
    """Steps 1 and 2 for a segment; the bytes that it has now."""
    path = folder / archive_name(made.number)
    if not _holds(path, made):
        new = folder / f".{path.name}.{token_hex(8)}"
        with lake_errors(path):
            try:
                descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, FILE_MODE)
                with open(descriptor, "w+b") as raw:
                    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=_LEVEL, mtime=0) as packed:
                        _copy(segments, made, packed)
                    raw.flush()
                    os.fsync(raw.fileno())
                if not _holds(new, made):
                    raise OSError(errno.EIO, "what was written is not what is read", str(new))
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)
    if folder != segments.folder:
        write_bytes(folder / segments.checkpoint_path(made.number).name, segments.body(made.number) + b"\n")
    with lake_errors(path):
        return path.stat().st_size


def _copy(segments: Segments, made: Checkpoint, packed: gzip.GzipFile) -> None:
    """Compress a segment. Raises `LedgerBroken`: it is not what its checkpoint says."""
    found = hashlib.sha256()
    with segments.stream(made.number) as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
            packed.write(block)
    if found.hexdigest() != made.sha256:
        raise LedgerBroken(
            f"The segment that begins with line {made.number} is not the one that its checkpoint says: "
            "`mqops ledger verify` names what was changed. Nothing was moved"
        )


def _holds(path: Path, made: Checkpoint) -> bool:
    """Whether a file of an archive is this segment."""
    found, size = hashlib.sha256(), 0
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as raw:
            stream = gzip.GzipFile(fileobj=raw)
            while size <= made.size and (block := stream.read(_BLOCK)):
                found.update(block)
                size += len(block)
    except (OSError, EOFError, zlib.error):  # it is not there, or it is no such file: it is written
        return False
    return (size, found.hexdigest()) == (made.size, made.sha256)


def _remove(segments: Segments, up_to: int) -> None:
    """Step 4."""
    with lake_errors(segments.folder):
        for number in segments.numbers()[0]:
            if number <= up_to:
                with suppress(FileNotFoundError):
                    segments.path(number).unlink()
        sync(segments.folder)
