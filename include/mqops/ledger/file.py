"""The ledger file: LAKE/<queue manager>/ledger/ledger.jsonl. Lines are added at the end, under a lock, and synced.

1. A line is on disk before the marker it records is committed off the ledger queue.
2. A marker that comes again (the process died in between) is recognised by its unit and not written twice.
3. What a crash left of a half-written last line is cut off before the next line is added; nothing else is ever changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

from mqops.clock import utc_now
from mqops.command import command
from mqops.errors import LedgerBroken, SettingsError
from mqops.lake.files import FILE_MODE, lake_errors, make_folder, read_json, refuse_foreign
from mqops.lake.run import RunFolder, queue_manager_of
from mqops.ledger.core.chain import (
    LONGEST_END,
    Head,
    Proof,
    end_of,
    head_of,
    heads,
    held,
    is_signed,
    linked,
    read_line,
    unit_of,
    verify,
    write_line,
)
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerKind
from mqops.ledger.core.seal import Seal
from mqops.ledger.keys import KeyRing
from mqops.ledger.lines_of_plan import START, lines_of_plan
from mqops.ledger.set_aside import SetAside, set_aside

_BLOCK = 1 << 20
_WHY = (b'"kind":"issued"', b'"kind":"resumed"')


class LedgerFile:
    """The ledger of one queue manager.

    Parameters: `lake_folder` LAKE/<queue manager>; `now` gives the UTC time as ISO 8601.
    """

    def __init__(self, lake_folder: Path, now: Callable[[], str] = utc_now) -> None:
        self.folder = lake_folder / "ledger"
        self.path = self.folder / "ledger.jsonl"
        self.keys = KeyRing(lake_folder)
        self.head_note = self.folder / "head.json"
        self._now = now

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the ledger's lock. Waits for the process that holds it. Raises `LakeError`."""
        make_folder(self.folder)
        refuse_foreign(self.folder.parent, self.folder)
        with lake_errors(self.path):
            lock = filelock.FileLock(self.folder / "ledger.lock", mode=FILE_MODE)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def make_key(self) -> None:
        """Make the ledger's first key where nothing was ever signed; see that the key file is the right one. Raises as
        `writer`."""
        if self.keys.exists() and self.keys.is_noted:
            self.keys.check()
            return
        with self.lock():
            self._make_key()

    def _make_key(self) -> None:
        """As `make_key`; the lock is held."""
        if self.keys.exists() or self.keys.is_noted:
            self.keys.check()
            if not self.keys.is_noted:  # an earlier version made the key
                self.keys.note()
            return
        last, number = b"", 0
        for number, last in enumerate(self.lines(), start=1):  # noqa: B007 - both are needed behind the loop
            pass
        if last and is_signed(last):
            rekey = command("mqops", "ledger", "rekey", queue_manager_of(self.folder.parent))
            raise SettingsError(
                f"The lines of {self.path} are signed, and the key file {self.keys.path} is gone: put it back from a "
                f"copy; `{rekey}` makes a new one where there is no copy"
            )
        if begun := self._signed_run():
            raise SettingsError(
                f"Run {begun} was begun with a key, and the key file {self.keys.path} is not there: give every process "
                f"the same MQOPS_LEDGER_KEYS, or put the file back from a copy"
            )
        self.keys.make(number + 1, self._now())

    def _signed_run(self) -> str:
        """A run whose lane tokens were signed, "" where there is none: an earlier version did not note its key."""
        for path in self.folder.parent.glob("runs/*/issued.json"):
            if read_json(path).get("signed"):
                return path.parent.name
        return ""

    def rekey(self, *, revoke: bool = False) -> str:
        """Add a key, which signs from now on, and give its id. A key file that is gone is made anew.

        Parameters: `revoke` as for `KeyRing.add`. Raises `LakeError`, `SettingsError`.
        """
        with self.lock():
            if self.keys.exists():
                return self.keys.add(self._now(), revoke=revoke)
            self.keys.make(sum(1 for _ in self.lines()) + 1, self._now())
            self.head_note.unlink(missing_ok=True)  # no key verifies the head that the lost one signed
            return self.keys.newest().id

    @contextmanager
    def writer(self) -> Iterator[LedgerWriter]:
        """Hold the ledger's lock and add lines. Waits for the process that holds it.

        Raises:
            LakeError: the file cannot be opened or written.
            LedgerBroken: its last line is not one that mqops wrote.
            SettingsError: something was signed, and the key file is gone, not private or another one.
        """
        with self.lock():
            self._make_key()
            with lake_errors(self.path):
                descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, FILE_MODE)
            try:
                yield LedgerWriter(self.path, descriptor, self._now, self.keys)
            finally:
                os.close(descriptor)

    def first(self) -> str:
        """The hash of the first line, by which a ledger is known; "" without a line. Raises `LakeError`,
        `LedgerBroken`."""
        return next((head_of(line).hash for line in self.lines()), "")

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
        torn = 0
        with lake_errors(self.path), self.path.open("rb") as stream:
            end = stream.seek(0, os.SEEK_END)
            while end:  # from the end, block by block
                begin = max(0, end - _BLOCK)
                stream.seek(begin)
                block = stream.read(end - begin)
                torn += len(block) - (block.rfind(b"\n") + 1)
                if b"\n" in block:
                    break
                end = begin
        return torn

    def about(self, text: str) -> Iterator[dict[str, Any]]:
        """The lines that contain this text, and all lines of kind `issued` or `resumed`.

        The hash chain of every line is checked: about a second for a million moved messages (220 MB).

        Raises:
            LedgerBroken: a line was changed. The error names the first one.
        """
        wanted = text.encode()
        for number, line in enumerate(linked(self.lines(), self.keys), start=1):
            if wanted in line or any(kind in line[:START] for kind in _WHY):
                yield read_line(number, line)

    def markers(self, *, plan: PlanIdentity | None = None, kind: MarkerKind | None = None) -> Iterator[Marker]:
        """The markers of one plan or of one kind, or all.

        Raises:
            LedgerBroken: a line is not readable.
        """
        sign = b"" if kind is None else f'"kind":"{kind}"'.encode()
        lines = enumerate(self.lines(), start=1) if plan is None else lines_of_plan(self.path, plan.digest)
        for number, line in lines:
            if sign not in line[:START]:  # a line can have a thousand rows: look before reading all of it
                continue
            marker = Marker.from_json(read_line(number, line))
            if plan is None or (marker.run, marker.plan) == (plan.run, plan.digest):
                yield marker

    def refuse_broken(self) -> None:
        """Refuse a ledger that is not what was written, or that does not hold the proof of a run.

        It reads the whole file: a second where a million messages were moved (220 MB).

        Raises:
            LedgerBroken: saying what to do. Nothing was moved.
            LakeError: the ledger or a summary cannot be read. Nothing was moved.
        """
        try:
            for _head in held(heads(self.lines(), self.keys), self.proofs()):
                pass
        except LedgerBroken as error:
            verify_it = command("mqops", "ledger", "verify", queue_manager_of(self.folder.parent))
            raise LedgerBroken(
                f"{error}. Nothing was moved, and nothing is until the ledger is whole: restore {self.path} from a "
                f"copy and check it with `{verify_it}`. Where there is no copy, keep this lake for the inquiry and go "
                "on with a new one"
            ) from error

    def holds(self, head: Head, end: int) -> bool:
        """Whether the line that ends at this byte of the file has this number and hash. Raises `LakeError`."""
        if not self.path.exists():
            return False
        with lake_errors(self.path), self.path.open("rb") as stream:
            return _holds(stream.fileno(), head, end)

    def units(self) -> set[str]:
        """The units of work that are recorded, as MsgIds in hex."""
        return {unit_of(line) for line in self.lines()}

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every line as a JSON object, checked against the chain.

        Raises:
            LedgerBroken: naming the first line that was changed.
        """
        return verify(self.lines(), self.keys)

    def proofs(self) -> list[Proof]:
        """What the queue manager's runs say of the ledger's end when their summaries or outcomes were written.

        A run whose folder is gone, and one that an earlier version proved, says nothing.

        Raises:
            LedgerBroken: naming a summary that is not what was written.
            LakeError: one cannot be read, or is not JSON.
        """
        names = ("summary.json", "outcomes.json")
        paths = [path for name in names for path in sorted(self.folder.parent.glob(f"runs/*/{name}"))]
        return [proof for path in paths if (proof := _proof(path)) is not None]


def _holds(descriptor: int, head: Head, end: int) -> bool:
    begin = max(0, end - LONGEST_END)
    return end_of(os.pread(descriptor, end - begin, begin)) == head


class LedgerWriter:
    """Adds lines to a ledger whose lock is held."""

    def __init__(self, path: Path, descriptor: int, now: Callable[[], str], seal: Seal) -> None:
        self._path = path
        self._seal = seal
        self._descriptor = descriptor
        self._now = now
        self._units: set[str] = set()
        self.first = ""
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
            line, head = write_line(head, marker, self._now(), self._seal)
            lines.append(line)
            units.add(marker.unit)
        if lines:
            self._append(b"".join(lines))
            if self.head.seq == 0:
                self.first = head_of(lines[0]).hash
            self.head = head
            self._units |= units
        return len(lines)

    @property
    def end(self) -> int:
        """Bytes of the file. Raises `LakeError`."""
        with lake_errors(self._path):
            return os.lseek(self._descriptor, 0, os.SEEK_END)

    def holds(self, head: Head, end: int) -> bool:
        """Whether the line that ends at this byte of the file has this number and hash. Raises `LakeError`."""
        with lake_errors(self._path):
            return _holds(self._descriptor, head, end)

    def set_aside(self, messages: Iterable[SetAside]) -> None:
        """Keep messages that are not markers of this lake; returns when they are on disk. Raises `LakeError`."""
        set_aside(self._path.parent.parent, messages, self._now())

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
                if end == 0:
                    with suppress(LedgerBroken):  # no run begins to act; what was done is recorded, and no head is put
                        self.first = head_of(line).hash
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


def all_ledgers(lake: Path) -> list[str]:
    """The queue managers that have a ledger in the lake."""
    return sorted(queue_manager_of(path.parent.parent) for path in lake.glob("*/ledger/ledger.jsonl"))


def markers_of(run: RunFolder, kind: MarkerKind | None = None) -> Iterator[Marker]:
    """The markers of a run's plan, all or those of one kind. Raises `LakeError`, `LedgerBroken`."""
    identity = PlanIdentity(run=run.run, digest=str(read_json(run.plan_json)["digest"]))
    return LedgerFile(run.lake_folder).markers(plan=identity, kind=kind)


def _proof(path: Path) -> Proof | None:
    """What a run's summary says of the ledger's end, None where it says nothing. Raises `LakeError`, `LedgerBroken`."""
    found = read_json(path)
    if isinstance(found, dict):
        if not found.get("ledger_seq"):
            return None
        run, seq, head = (found.get(name) for name in ("run", "ledger_seq", "ledger_head"))
        if isinstance(run, str) and isinstance(seq, int) and isinstance(head, str):
            return Proof(run=run, head=Head(seq=seq, hash=head))
    raise LedgerBroken(f"{path} is not what mqops wrote: it does not say where the ledger ended")
