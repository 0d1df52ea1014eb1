"""The index of a ledger's closed segments: LAKE/<queue manager>/ledger/index.sqlite, made of the lines at any time.

1. Only segments with a checkpoint are in it. The open segment, a few MB, is always read itself: nothing is written
   twice, and nothing can be half behind.
2. It is filled when a segment is closed, under the ledger's lock. Where it is missing, behind, or not the file that
   mqops wrote, the next process that asks makes it anew, unless another one has the lock: then it reads all lines.
3. index.json beside it, signed, says up to which checkpoint it goes, and which file it is: bytes, when its content and
   when its entry in the folder was changed. So what was put in its place, cut back, or written to by another program
   is not used. A copy of the lake has other times: its index is made anew, once.
4. It only says where lines stand. Each is read from its segment, and its number, hash and signature are checked.
5. While it is written to there is no journal: after a crash it is not the file that index.json names (rule 3).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from mqops.errors import LakeError, SettingsError
from mqops.lake.files import FILE_MODE, lake_errors, sync, write_bytes
from mqops.lake.run import queue_manager_of
from mqops.ledger import index_tables as tables
from mqops.ledger.core.chain import check_line
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.seal import INDEX, BadSignature, Seal, read_message, sign_message
from mqops.ledger.index_tables import Held, Place, blob
from mqops.ledger.progress import told
from mqops.ledger.segments import Segments
from mqops.type_adapter import adapter_of

WAIT = 5.0
"""Seconds to wait while another process fills the index."""
FILL_WAIT = 60.0
"""Seconds to wait for processes that read it."""
MOST_IDS = 1000
"""MsgIds that may begin as a text that is asked for: an answer does not grow with the ledger."""


class Line(NamedTuple):
    """A line of the ledger, checked by itself. Parameters: `number` from 1."""

    number: int
    content: bytes


@dataclass(frozen=True, slots=True)
class _Note:
    """What is written beside the index: `Held`, and the size and times of its file."""

    v: int
    number: int
    size: int
    seq: int
    hash: str
    file: list[int]


class LedgerIndex:
    """The index of a ledger. Parameters: `folder` LAKE/<queue manager>/ledger; `seal` the keys of the ledger."""

    def __init__(self, folder: Path, segments: Segments, seal: Seal) -> None:
        self.path = folder / "index.sqlite"
        self.note = folder / "index.json"
        self._segments = segments
        self._seal = seal

    def up_to(self) -> Held | None:
        """The last segment that the index has, if it is the file that mqops wrote for these checkpoints; else None.
        Raises `LakeError`, `SettingsError`."""
        try:
            said = adapter_of(_Note).validate_json(read_message(self._seal, self.note.read_bytes().strip(), INDEX))
            if said.v != tables.VERSION or said.file != self._file():
                return None
        except (OSError, BadSignature, ValueError):
            return None
        held = Held(said.number, said.size, said.seq, said.hash)
        made = self._segments.checkpoint(held.number)
        return held if made and held == _held(made) else None

    def _file(self) -> list[int]:
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]

    def fill(self) -> None:
        """Enter what is not in it, or make it anew; the ledger's lock is held.

        Raises:
            LakeError: it cannot be written; lines are found without it.
        """
        last = self._segments.last_checkpoint()
        if last is None:
            return
        held = self.up_to()
        if held and held.number == last.number:
            return
        made = self._checkpoints(after=held.number if held else 0, last=last)
        try:
            if held is None:
                self._make(made)
            else:
                self._enter(made)
            self.write_note(last)
        except sqlite3.Error as error:
            raise LakeError(f"The index of the ledger, {self.path}, cannot be written: {error}") from error

    def _checkpoints(self, *, after: int, last: Checkpoint) -> list[Checkpoint]:
        numbers = [number for number in self._segments.numbers()[1] if after < number <= last.number]
        found = [self._segments.checkpoint(number) for number in numbers]
        if bad := [number for number, one in zip(numbers, found, strict=True) if one is None]:
            raise LakeError(
                f"The checkpoint {self._segments.checkpoint_path(bad[0])} is not signed by a key of the lake"
            )
        return [one for one in found if one is not None]

    def _make(self, made: list[Checkpoint]) -> None:
        new = self.path.with_name(f".{self.path.name}.{token_hex(8)}")
        with lake_errors(self.path):
            for left in self.path.parent.glob(f".{self.path.name}.*"):
                left.unlink(missing_ok=True)
            os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, FILE_MODE))
            try:
                with closing(_connect(new)) as connection:
                    tables.make_tables(connection)
                    tables.stage(connection)
                    connection.execute("BEGIN")
                    self._enter_all(connection, made)
                    connection.execute("COMMIT")
                    tables.order(connection)
                sync(new)
                for other in ("-journal", "-wal", "-shm"):  # none is ours (rule 5)
                    Path(f"{self.path}{other}").unlink(missing_ok=True)
                new.replace(self.path)
                sync(self.path.parent)
            finally:
                new.unlink(missing_ok=True)

    def _enter(self, made: list[Checkpoint]) -> None:
        with lake_errors(self.path):
            with closing(_connect(self.path)) as connection:
                tables.stage(connection)
                connection.execute("BEGIN IMMEDIATE")
                self._enter_all(connection, made)
                connection.execute("COMMIT")
            sync(self.path)

    def _enter_all(self, connection: sqlite3.Connection, made: list[Checkpoint]) -> None:
        progress = told("Index of the ledger", queue_manager_of(self.path.parent.parent))
        done, total = 0, sum(one.size for one in made)
        for one in made:
            tables.enter_segment(connection, self._segments.lines(one.number), one)
            done += one.size
            progress(done, total)
        tables.merge(connection)

    def write_note(self, last: Checkpoint) -> None:
        said = {"v": tables.VERSION, "kind": "index", **_held(last)._asdict()}
        with lake_errors(self.path):
            said["file"] = self._file()
        body = json.dumps(said, separators=(",", ":")).encode()
        write_bytes(self.note, sign_message(self._seal, body, INDEX) + b"\n")

    def remove(self) -> None:
        """Remove the index, so that it is made anew; the ledger's lock is held. Raises `LakeError`."""
        with lake_errors(self.path):
            self.note.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    @contextmanager
    def asked(self) -> Iterator[Asked | None]:
        """The index to be asked, None where it cannot be: then all lines are read. Raises `LakeError`,
        `SettingsError`."""
        connection = None
        with suppress(sqlite3.Error):
            connection = self._open()
        held = None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.execute("BEGIN")
                found = connection.execute(tables.LAST_SEGMENT).fetchone()  # nobody fills it from here on
                noted = self.up_to()
                held = noted if found and noted == Held(*found) else None
        try:
            yield Asked(connection, held) if connection and held else None
        finally:
            if connection is not None:
                connection.close()

    def _open(self) -> sqlite3.Connection | None:
        if not self.path.exists():
            return None
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT, isolation_level=None)


class Asked:
    """An index that is open. Parameters: `held` the last segment that it has."""

    def __init__(self, connection: sqlite3.Connection, held: Held) -> None:
        self.held = held
        self._connection = connection

    def of_plan(self, run: str, digest: str) -> list[Place]:
        """The lines of a plan."""
        return self._places(tables.LINES_OF_PLAN, digest, run)

    def of_kind(self, kind: str) -> list[Place]:
        """The lines of a kind."""
        return self._places(tables.LINES_OF_KIND, kind)

    def about(self, name: str, value: str) -> list[Place]:
        """The "issued" lines that say this of their run. Parameters: `name` one of `index_tables.ABOUT`."""
        return self._places(tables.LINES_ABOUT, name, value)

    def segments_since(self, time: datetime) -> list[int]:
        """The segments from the first one on that has a line of this time or later."""
        return self._numbers(tables.SEGMENTS_SINCE, tables.utc(time))

    def segments_of_runs(self, prefix: str) -> list[int]:
        """The segments with a line of a run whose key begins so."""
        return self._numbers(tables.SEGMENTS_OF_RUNS, prefix)

    def of_unit(self, unit: str) -> list[Place]:
        """The line of a unit of work, where it is recorded."""
        return self._places(tables.LINES_OF_UNIT, blob(unit))

    def of_messages(self, ids: Iterable[str], kind: str) -> list[Place]:
        """The lines of a kind with rows of messages that have one of these MsgIds (hex)."""
        if self._connection.execute(tables.ONE_OF_KIND, (kind,)).fetchone() is None:
            return []
        create, insert = tables.WANT
        self._connection.execute(create)
        try:
            self._connection.executemany(insert, ((blob(one),) for one in ids))
            return self._places(tables.LINES_OF_MESSAGES, kind)
        finally:
            self._connection.execute("DROP TABLE wanted")

    def of_prefix(self, prefix: str) -> list[Place]:
        """The lines with rows of messages whose MsgId begins so (hex), and of kind "issued" and "resumed" of their
        plans.

        Raises:
            SettingsError: more than `MOST_IDS` MsgIds begin so. As long as a ledger is used, they become more.
        """
        bounds = tables.prefix_range(prefix)
        if self._connection.execute(tables.IDS_OF_PREFIX, (*bounds, MOST_IDS + 1)).fetchone()[0] > MOST_IDS:
            raise SettingsError(
                f"More than {MOST_IDS:,} MsgIds in the ledger begin with {prefix}: give more digits. In a MsgId that "
                "MQ has made, the first 32 say which queue manager made it; the other 16 are its own"
            )
        found = {*self._places(tables.LINES_OF_PREFIX, *bounds), *self._places(tables.LINES_OF_THEIR_PLANS, *bounds)}
        return sorted(found)

    def _numbers(self, statement: str, value: str) -> list[int]:
        return [number for (number,) in self._connection.execute(statement, (value,))]

    def _places(self, statement: str, *values: object) -> list[Place]:
        return [Place(*row) for row in self._connection.execute(statement, values)]


def read_places(places: Iterable[Place], segments: Segments, seal: Seal) -> Iterator[Line]:
    """The lines that stand there, in the order of the ledger, each checked (rule 4).

    Raises:
        LedgerBroken: a line is not what was written, or its segment is missing.
        LakeError: a segment cannot be read.
    """
    for number, of_segment in groupby(sorted(places), key=lambda place: place.segment):
        with segments.stream(number) as stream:
            for place in of_segment:
                stream.seek(place.place)
                content = stream.read(place.size)
                check_line(place.seq, content, seal)
                yield Line(place.seq, content)


def _held(made: Checkpoint) -> Held:
    return Held(made.number, made.size, made.head.seq, made.head.hash)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=FILL_WAIT, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection
