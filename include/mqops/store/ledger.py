"""The ledger file: LAKE/<queue manager>/ledger/ledger.jsonl. Lines are added at the end, under a lock, and synced.

1. A line is on disk before the marker it records is committed off the ledger queue.
2. A marker that comes again (the process died in between) is recognised by its unit and not written twice.
3. What a crash left of a half-written last line is cut off before the next line is added; nothing else is ever changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

from mqops.act.identity import PlanIdentity
from mqops.errors import LedgerBroken
from mqops.ledger.chain import Head, Proof, head_of, unit_of, verify, write_line
from mqops.ledger.marker import Kind, Marker
from mqops.store.files import FILE_MODE, lake_errors, make_folder, read_json

_BLOCK = 1 << 20
_START = 1000
"""Bytes in which a line's unit, run, plan and kind stand."""


class LedgerFile:
    """The ledger of one queue manager.

    Parameters: `lake_folder` LAKE/<queue manager>; `now` gives the UTC time as ISO 8601.
    """

    def __init__(self, lake_folder: Path, now: Callable[[], str]) -> None:
        self.folder = lake_folder / "ledger"
        self.path = self.folder / "ledger.jsonl"
        self._now = now

    @contextmanager
    def writer(self) -> Iterator[LedgerWriter]:
        """Hold the ledger's lock and add lines. Waits for whoever holds it.

        Raises:
            LakeError: the file cannot be opened or written.
            LedgerBroken: its last line is not one that mqops wrote.
        """
        make_folder(self.folder)
        with lake_errors(self.path):
            lock = filelock.FileLock(self.folder / "ledger.lock", mode=FILE_MODE)
            lock.acquire()
        try:
            with lake_errors(self.path):
                descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, FILE_MODE)
            try:
                yield LedgerWriter(self.path, descriptor, self._now)
            finally:
                os.close(descriptor)
        finally:
            lock.release()

    def lines(self) -> Iterator[bytes]:
        """All complete lines; what a crash left half-written at the end is not one."""
        if not self.path.exists():
            return
        with lake_errors(self.path), self.path.open("rb") as stream:
            for line in stream:
                if line.endswith(b"\n"):
                    yield line

    def head(self) -> Head:
        """Number and hash of the last line, which is on disk. Raises as `writer`."""
        with self.writer() as writer:
            return writer.head

    def torn(self) -> int:
        """Bytes of a half-written last line, 0 if there is none. Its marker is still on the ledger queue (rule 1)."""
        if not self.path.exists():
            return 0
        with lake_errors(self.path), self.path.open("rb") as stream:
            last = b""
            for line in stream:
                last = line
        return 0 if last.endswith(b"\n") else len(last)

    def about(self, text: str) -> Iterator[dict[str, Any]]:
        """The lines that hold this text, and all that say a plan's tickets were issued, not checked against the chain.

        Raises:
            LedgerBroken: such a line is not readable.
        """
        wanted = text.encode()
        for number, line in enumerate(self.lines(), start=1):
            if wanted in line or b'"kind":"issued"' in line[:_START]:
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise LedgerBroken(f"Line {number} of the ledger is damaged or has been changed") from error

    def markers(self, *, plan: PlanIdentity | None = None, kind: Kind | None = None) -> Iterator[Marker]:
        """The markers of one plan or of one kind, or all.

        Raises:
            LedgerBroken: a line is not readable.
        """
        signs = [] if plan is None else [f'"plan":"{plan.digest}"'.encode()]
        signs += [] if kind is None else [f'"kind":"{kind}"'.encode()]
        for line in self.lines():
            start = line[:_START]  # a line can have a thousand rows: look before reading all of it
            if not all(sign in start for sign in signs):
                continue
            marker = Marker.from_json(json.loads(line))
            if plan is None or (marker.run, marker.plan) == (plan.run, plan.digest):
                yield marker

    def units(self) -> set[str]:
        """The units of work that are recorded, as MsgIds in hex."""
        return {unit_of(line) for line in self.lines()}

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every line as a JSON object, checked against the chain.

        Raises:
            LedgerBroken: naming the first line that was changed.
        """
        return verify(self.lines())

    def proofs(self) -> list[Proof]:
        """What the queue manager's runs say of the ledger's end when their summaries or outcomes were written.

        A run whose folder is gone, and one that an earlier version proved, says nothing. Raises `LakeError`.
        """
        names = ("summary.json", "outcomes.json")
        summaries = (read_json(path) for name in names for path in sorted(self.folder.parent.glob(f"runs/*/{name}")))
        return [
            Proof(run=found["run"], head=Head(seq=found["ledger_seq"], hash=found["ledger_head"]))
            for found in summaries
            if found.get("ledger_seq")
        ]


class LedgerWriter:
    """Adds lines to a ledger whose lock is held."""

    def __init__(self, path: Path, descriptor: int, now: Callable[[], str]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._now = now
        self._units: set[str] = set()
        self.head = self._read()

    def add(self, markers: Iterable[Marker]) -> int:
        """Record markers; returns when they are on disk. Gives the number that were new.

        Raises:
            LakeError: the disk refused; the ledger is as it was.
        """
        head, lines, units = self.head, [], set()
        for marker in markers:
            if marker.unit in self._units or marker.unit in units:
                continue
            line, head = write_line(head, marker, self._now())
            lines.append(line)
            units.add(marker.unit)
        if lines:
            self._append(b"".join(lines))
            self.head = head
            self._units |= units
        return len(lines)

    def _append(self, content: bytes) -> None:
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        with lake_errors(self._path):
            try:
                view = memoryview(content)
                while view:
                    view = view[os.write(self._descriptor, view) :]
                os.fsync(self._descriptor)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, end)
                raise

    def _read(self) -> Head:
        """Read the units, cut off a half-written line, give the head."""
        last, end = b"", 0
        with lake_errors(self._path), open(os.dup(self._descriptor), "rb", buffering=_BLOCK) as stream:
            stream.seek(0)
            for line in stream:
                if not line.endswith(b"\n"):
                    os.ftruncate(self._descriptor, end)
                    os.fsync(self._descriptor)
                    break
                end += len(line)
                last = line
                self._units.add(unit_of(line))
            self._sync_folder_once(end)
        return head_of(last) if last else Head()

    def _sync_folder_once(self, end: int) -> None:
        if end == 0:
            descriptor = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
