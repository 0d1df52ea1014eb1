"""Adds lines to a ledger whose lock is held, and closes its open segment when it has grown past its size.

1. A line is on disk before the marker it records is committed off the ledger queue.
2. A marker that comes again (the process died in between) is recognised by its unit and not written twice: the units of
   the open segment are read, those of closed ones are asked of the index.
3. What a crash left of a half-written last line is cut off before the next line is added; nothing else is ever changed.
4. A segment is closed before a line is added (`mqops.ledger.closing`). What a crash left of a closing is finished when
   the writer is opened.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress

from mqops.errors import LakeError, LedgerBroken
from mqops.lake.files import FILE_MODE, append, lake_errors, sync
from mqops.ledger import closing
from mqops.ledger.core.chain import Head, Proof, head_of, refuse_newer_line, unit_of, write_line
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.marker import Marker
from mqops.ledger.file import LedgerFile
from mqops.ledger.proofs import NAME as PROVED
from mqops.ledger.proofs import forget_proofs, noted_proofs
from mqops.ledger.segments import holds_line
from mqops.ledger.set_aside import SetAside, set_aside
from mqops.ledger.signing import make_key_under_lock
from mqops.printable import printable

_BLOCK = 1 << 20
_log = logging.getLogger(__name__)


@contextmanager
def writer_of(file: LedgerFile) -> Iterator[LedgerWriter]:
    """Hold a ledger's lock and add lines. Waits for the process that holds it.

    Raises:
        LakeError: the file cannot be opened or written.
        LedgerBroken: its last line is not one that mqops wrote.
        SettingsError: something was signed, and the key file is gone, not private or another one.
    """
    with file.lock():
        make_key_under_lock(file)
        writer = LedgerWriter(file)
        try:
            yield writer
        finally:
            writer.close()


def head_on_disk(file: LedgerFile) -> Head:
    """Number and hash of a ledger's last line, which is on disk. Raises as `writer_of`."""
    with writer_of(file) as writer:
        return writer.head


class LedgerWriter:
    """Adds lines. Attributes: `first` hash of the ledger's first line, `head` its last one."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        self._descriptor = -1
        self._begin()

    def close(self) -> None:
        """Close the open segment's file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _begin(self) -> None:
        """Finish what a crash left of a closing, read the open segment."""
        segments = self._file.segments
        self._units: set[str] = set()
        self._number, self._bytes_before, self._indexed = 1, 0, 0
        self.first, self.head = "", Head()
        last: Checkpoint | None = None
        if segments.folder.exists():
            last = self._settle()
            self._read_closed(last)
        with lake_errors(self._file.path):
            self._descriptor = os.open(self._file.path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, FILE_MODE)
            try:
                self._read()
            except BaseException:
                self.close()
                raise
        self._last = last

    def _settle(self) -> Checkpoint | None:
        file = self._file
        before = file.segments.last_checkpoint()
        closed = file.segments.numbers()[0]
        if closed and (before is None or closed[-1] > before.number):
            before = closing.settle(file.segments, file.keys, lambda: self._proofs(before))
        self._enter_in_index(before)
        return before

    def _enter_in_index(self, last: Checkpoint | None) -> None:
        """Steps 4 and 5 of `mqops.ledger.closing`. Without an index lines are found by reading all."""
        if last is None:
            return
        held = self._file.index.up_to()
        if held is None or held.number != last.number:
            try:
                self._file.index.fill()
                forget_proofs(self._file.folder, last.head.seq)
            except (LakeError, LedgerBroken) as error:
                _log.warning("%s", printable(error))
            held = self._file.index.up_to()
        self._indexed = held.number if held else 0

    def _proofs(self, last: Checkpoint | None) -> list[Proof]:
        """The proofs that are checked with a segment: those since the last one was closed, or of all runs."""
        listed = last is not None and (self._file.folder / PROVED).exists()
        try:
            return [*noted_proofs(self._file.folder), *([] if listed else self._file.proofs())]
        except LakeError as error:  # what is to be recorded is recorded all the same
            raise LedgerBroken(str(error)) from error

    def _read_closed(self, last: Checkpoint | None) -> None:
        """What the closed segments say: where the open one begins, and the units that the index does not have."""
        segments = self._file.segments
        there, _stated = segments.numbers()
        with suppress(LedgerBroken):  # as `_note_first`
            self.first = segments.first()
        if last:
            self._number, self._bytes_before, self.head = last.head.seq + 1, last.end, last.head
        for number in there:
            if number <= self._indexed:
                continue
            line = b""
            for line in segments.lines(number):
                self._units.add(unit_of(line))
            if last is None or number > last.number:
                self.head = head_of(line)
                self._number = self.head.seq + 1
                self._bytes_before += segments.path(number).stat().st_size

    def _note_first(self, line: bytes) -> None:
        with suppress(LedgerBroken):  # no run begins to act; what was done is recorded, and no head is put
            self.first = head_of(line).hash

    def add(self, markers: Iterable[Marker]) -> int:
        """Record markers; returns when they are on disk. Gives the number that were new.

        Raises:
            LakeError: the disk refused; the ledger is as it was.
            LedgerBroken: a line that the index names is not what was written.
        """
        given = list(markers)
        if not given:
            return 0
        self._close_when_full()
        known = self._recorded({marker.unit for marker in given})
        head, lines = self.head, []
        for marker in given:
            if marker.unit in known:
                continue
            line, head = write_line(head, marker, self._file.now(), self._file.keys)
            lines.append(line)
            known.add(marker.unit)
        if lines:
            self._append(b"".join(lines))
            self._units |= known
            if self.head.seq == 0:
                self.first = head_of(lines[0]).hash
            self.head = head
        return len(lines)

    def _recorded(self, units: Collection[str]) -> set[str]:
        """Those of these units that have a line: of the index only what it leads to is believed (rule 2)."""
        known = self._units.intersection(units)
        if self._indexed and (unknown := set(units) - known):
            found, after = self._file.recorded_in_index(unknown)
            if after < self._indexed:  # it was removed since: read what it had
                for number in self._file.segments.numbers()[0]:
                    if after < number <= self._indexed:
                        self._units.update(map(unit_of, self._file.segments.lines(number)))
                known |= self._units.intersection(unknown)
            known |= found
        return known

    def _close_when_full(self) -> None:
        """Close the open segment if it has grown past its size."""
        with lake_errors(self._file.path):
            if os.fstat(self._descriptor).st_size < self._file.segment_size:
                return
        try:
            made = closing.close(self._file.segments, self._last, self._file.keys, lambda: self._proofs(self._last))
        except LakeError as error:  # what is to be recorded may have room
            _log.warning("%s is not closed: %s", printable(self._file.path), printable(error))
        else:
            if made is None:
                return
        self.close()
        self._begin()

    @property
    def end(self) -> int:
        """Bytes of the ledger, all its segments. Raises `LakeError`."""
        with lake_errors(self._file.path):
            return self._bytes_before + os.lseek(self._descriptor, 0, os.SEEK_END)

    def holds(self, head: Head, end: int) -> bool:
        """Whether the line that ends at this byte of the ledger has this number and hash. Raises `LakeError`."""
        if end <= self._bytes_before:
            with suppress(LedgerBroken):
                return self._file.holds(head, end)
            return False
        with lake_errors(self._file.path), open(os.dup(self._descriptor), "rb") as stream:
            return holds_line(stream, head, end - self._bytes_before)

    def set_aside(self, messages: Iterable[SetAside]) -> None:
        """Keep messages that are not markers of this lake; returns when they are on disk. Raises `LakeError`."""
        set_aside(self._file.folder.parent, messages, self._file.now())

    def _append(self, content: bytes) -> None:
        with lake_errors(self._file.path):
            append(self._descriptor, content)

    def _read(self) -> None:
        """Read the units of the open segment, cut off a half-written line, note the head."""
        last, end = b"", 0
        with open(os.dup(self._descriptor), "rb", buffering=_BLOCK) as stream:
            stream.seek(0)
            for line in stream:
                if not line.endswith(b"\n"):
                    os.ftruncate(self._descriptor, end)
                    os.fsync(self._descriptor)
                    break
                if end == 0 and self._number == 1:
                    self._note_first(line)
                end += len(line)
                last = line
                self._units.add(unit_of(line))
        if end == 0:
            sync(self._file.folder)
        if last:
            self.head = head_of(last)
            refuse_newer_line(self.head.seq, last)
