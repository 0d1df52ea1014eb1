"""The ledger of a queue manager: what is read of it, and the lock under which lines are added (`mqops.ledger.writer`).

The lines are the truth: in closed segments and the open one (`mqops.ledger.segments`). Whoever asks for some of them
gets those of the segments that the index has from there (`mqops.ledger.index`), and reads the others. So what an answer
costs does not grow with the ledger, and without an index it is the same.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from mqops.clock import utc_now
from mqops.command import command
from mqops.errors import InProgress, LakeError, LedgerBroken
from mqops.lake.files import lake_errors, make_folder, refuse_foreign
from mqops.lake.lock_file import locked
from mqops.lake.run import RunFolder, queue_manager_of
from mqops.ledger import segments as segment_files
from mqops.ledger.core.chain import (
    BEGIN,
    Head,
    Proof,
    check_line,
    head_in,
    head_of,
    heads,
    held,
    linked,
    read_line,
    unit_of,
    verify,
)
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerKind
from mqops.ledger.index import Asked, LedgerIndex, Line, read_places
from mqops.ledger.index_tables import Place
from mqops.ledger.keys import KeyRing
from mqops.ledger.noted import PLANNED
from mqops.ledger.proofs import NAME as PROVED
from mqops.ledger.proofs import add_proof, noted_proofs, proofs_of_runs, write_proofs
from mqops.ledger.segments import Opened, Segments

T = TypeVar("T")
_BLOCK = 1 << 20
_FEW = 32
"""MsgIds that are looked for in a line before it is read."""
_START = 1000
"""Bytes in which a line's unit, run, plan and kind stand."""
_WHY = (MarkerKind.ISSUED, MarkerKind.RESUMED)
"""Kinds of the lines that say why a plan was carried out."""


class LedgerFile:
    """The ledger of one queue manager.

    Parameters: `lake_folder` LAKE/<queue manager>; `now` gives the UTC time as ISO 8601; `segment_size` bytes at which
    the open segment is closed, 0 for `mqops.ledger.segments.SEGMENT_SIZE`.
    """

    def __init__(self, lake_folder: Path, now: Callable[[], str] = utc_now, *, segment_size: int = 0) -> None:
        self.folder = lake_folder / "ledger"
        self.keys = KeyRing(lake_folder)
        self.segments = Segments(self.folder, self.keys)
        self.path = self.segments.open_path
        self.index = LedgerIndex(self.folder, self.segments, self.keys)
        self.head_note = self.folder / "head.json"
        self.segment_size = segment_size or segment_files.SEGMENT_SIZE
        self.now = now

    @contextmanager
    def lock(self, *, wait: float = -1) -> Iterator[None]:
        """Hold the ledger's lock. Waits for the process that holds it.

        Parameters: `wait` seconds at most; for ever where it is below 0.

        Raises:
            InProgress: another process, or this one, has it.
            LakeError: it cannot be made.
        """
        make_folder(self.folder)
        refuse_foreign(self.folder.parent, self.folder)
        refused = InProgress(f"Somebody writes to the ledger {self.path}")
        with locked(self.folder / "ledger.lock", wait=wait, refused=refused, place=self.path):
            yield

    def exists(self) -> bool:
        """Whether there is a ledger."""
        return self.path.exists() or self.segments.folder.exists()

    def first(self) -> str:
        """The hash of the first line, by which a ledger is known; "" without a line. Raises `LakeError`,
        `LedgerBroken`."""
        return self.segments.first() or next((head_of(line).hash for line in self.lines()), "")

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """All complete lines; what a crash left half-written at the end is not one.

        Parameters: `after` number of the closed segment behind which they begin; 0 for all.

        Raises:
            LedgerBroken: a segment is missing.
        """
        with self.segments.opened(after) as opened:
            yield from opened.lines()

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

    def about(self, text: str) -> Iterator[dict[str, object]]:
        """The lines that contain this text, and the lines of kind `issued` or `resumed` that may be of their plans.

        Of what the index has, each of these lines is checked by itself; of the rest, the hash chain of every line.

        Parameters: `text` in which quotation marks at its ends are the JSON's; the index knows MsgIds (hex) alone.

        Raises:
            LedgerBroken: a line was changed. The error names the first one.
            SettingsError: the text is the beginning of too many MsgIds.
        """
        prefix = text.strip('"')
        places, after = self._asked(lambda asked: asked.of_prefix(prefix)) if _is_hex(prefix) else ([], 0)
        tail, plans, broken = self._tail_about(text.encode(), after)
        if after:
            more = self._asked(lambda asked: [one for plan in plans for one in _of(asked, plan) if one.kind in _WHY])[0]
            places = sorted({*places, *(one for one in more if one.segment <= after)})  # it may go on meanwhile
        for line in chain(self.read(places), tail):
            yield read_line(*line)
        if broken:
            raise broken

    def _tail_about(self, wanted: bytes, after: int) -> tuple[list[Line], set[PlanIdentity], LedgerBroken | None]:
        """The lines behind a closed segment that contain this text, or say why; the plans of the former; and the error
        that names the first line that was changed, behind which none is given."""
        before, found, plans = self._head_before(after), [], set()
        try:
            for number, content in enumerate(linked(self.lines(after), self.keys, before), start=before.seq + 1):
                if wanted in content:
                    entry = read_line(number, content)
                    plans.add(PlanIdentity(run=str(entry.get("run")), digest=str(entry.get("plan"))))
                elif not any(_sign(kind) in content[:_START] for kind in _WHY):
                    continue
                found.append(Line(number, content))
        except LedgerBroken as error:
            return found, plans, error
        return found, plans, None

    def _head_before(self, after: int) -> Head:
        """The head that the line behind a closed segment follows."""
        made = self.segments.checkpoint(after) if after else None
        return made.head if made else BEGIN

    def markers(self, *, plan: PlanIdentity | None = None, kind: MarkerKind | None = None) -> Iterator[Marker]:
        """The markers of one plan or of one kind, or all.

        Raises:
            LedgerBroken: a line is not readable.
        """
        places, after = self._asked(lambda asked: _of(asked, plan, kind)) if plan or kind else ([], 0)
        indexed = self.read([place for place in places if kind in {None, place.kind}])
        signs = (_sign(kind) if kind else b"", plan.digest.encode() if plan else b"")
        for number, line in chain(indexed, self._lines_behind(after)):
            start = line[:_START]
            if not all(sign in start for sign in signs):  # a line can have a thousand rows: look before reading all
                continue
            marker = Marker.from_json(read_line(number, line))
            if plan is None or (marker.run, marker.plan) == (plan.run, plan.digest):
                yield marker

    def _lines_behind(self, after: int) -> Iterator[Line]:
        """The lines behind a closed segment."""
        return itertools.starmap(Line, enumerate(self.lines(after), start=self._head_before(after).seq + 1))

    def of_messages(self, ids: Iterable[str], kind: MarkerKind) -> Iterator[Marker]:
        """The markers of a kind with rows of messages that have one of these MsgIds (hex), in the ledger's order. Of
        what the index does not have yet, perhaps all markers of the kind.

        Raises:
            LedgerBroken: a line is not readable.
        """
        rest = iter(ids)
        some = list(islice(rest, _FEW + 1))
        places, after = self._asked(lambda asked: asked.of_messages(chain(some, rest), kind))
        few = [one.encode() for one in some] if len(some) <= _FEW else [b""]
        for number, line in chain(self.read(places), self._lines_behind(after)):
            if _sign(kind) in line[:_START] and any(one in line for one in few):  # look before reading all of it
                yield Marker.from_json(read_line(number, line))

    def issued_about(self, name: str, value: str) -> Iterator[Marker]:
        """The markers of kind "issued" that say this of their run. Parameters: `name` one of
        `mqops.ledger.index_tables.ABOUT`. Raises as `markers`."""
        places, after = self._asked(lambda asked: asked.about(name, value))
        for number, line in chain(self.read(places), self._lines_behind(after)):
            if _sign("issued") in line[:_START] and value.encode() in line:
                marker = Marker.from_json(read_line(number, line))
                if str(marker.about.get(name)) == value:
                    yield marker

    def recorded(self, units: Collection[str]) -> set[str]:
        """Those of these units of work (MsgIds in hex) that are recorded. Raises `LedgerBroken`, `LakeError`."""
        found, after = self.recorded_in_index(units)
        return found | {unit for line in self.lines(after) if (unit := unit_of(line)) in units}

    def recorded_in_index(self, units: Collection[str]) -> tuple[set[str], int]:
        """As `recorded`, by the segments that the index has; and the number of the last of these. Only what is read
        from a line counts. Raises `LedgerBroken`, `LakeError`."""
        places, after = self._asked(lambda asked: [place for unit in units for place in asked.of_unit(unit)])
        return {unit_of(line.content) for line in self.read(places)}.intersection(units), after

    def _asked(self, ask: Callable[[Asked], list[T]]) -> tuple[list[T], int]:
        """What the index answers, and the number of the last segment that it has; where there is no index, nothing and
        0."""
        if not self.segments.folder.exists():
            return [], 0
        for last_try in (False, True):
            with self.index.asked() as asked, suppress(sqlite3.Error):  # then all lines are read
                if asked is not None:
                    return ask(asked), asked.held.number
            if last_try or not self._make_index():
                break
        return [], 0

    def _make_index(self) -> bool:
        """Whether the index was made, which nobody else does."""
        with suppress(InProgress, LakeError, LedgerBroken):
            with self.lock(wait=0):
                self.index.fill()
            return True
        return False

    def read(self, places: Collection[Place]) -> Iterator[Line]:
        """The lines that stand there, each checked. Raises `LedgerBroken`, `LakeError`."""
        return read_places(places, self.segments, self.keys)

    def refuse_broken(self, *, head_is_held: bool = False) -> None:
        """Refuse a ledger that is not what was written, or that does not hold the proof of a run.

        The lines since the last checkpoint are verified, and that no closed segment is missing or has other bytes.

        Parameters: `head_is_held` whether the ledger holds the head on the ledger queue (`mqops.ledger.before_act`):
        then only the proofs since the last checkpoint are looked at, else those of all runs.

        Raises:
            LedgerBroken: saying what to do. Nothing was moved.
            LakeError: the ledger or a summary cannot be read. Nothing was moved.
        """
        try:
            last = self.segments.last_checkpoint()
            self.segments.refuse_missing(last)
            proofs = self._proofs_since() if head_is_held else self.proofs()
            begin = [last.head] if last else []
            wanted = [proof for proof in proofs if not last or proof.head.seq >= last.head.seq]
            tail = heads(self.lines(last.number if last else 0), self.keys, last.head if last else BEGIN)
            for _head in held(chain(begin, tail), wanted):
                pass
        except LedgerBroken as error:
            verify_it = command("mqops", "ledger", "verify", queue_manager_of(self.folder.parent))
            raise LedgerBroken(
                f"{error}. Nothing was moved, and nothing is until the ledger is whole: restore {self.path} from a "
                f"copy and check it with `{verify_it}`. Where there is no copy, keep this lake for the inquiry and go "
                "on with a new one"
            ) from error

    def holds(self, head: Head, end: int) -> bool:
        """Whether the line that ends at this byte of the ledger has this number and hash. Raises `LakeError`,
        `LedgerBroken`."""
        last = self.segments.last_checkpoint()
        after, begin = (last.number, last.end) if last and end > last.end else (0, 0)
        with self.segments.opened(after) as opened:
            return opened.holds(head, end, begin)

    def entries(self, *, since: datetime | None = None, run: str = "") -> Iterator[dict[str, object]]:
        """The lines as JSON objects. Each segment that is read is checked, all of its lines, from the head that it
        follows; segments one after another that are read are one chain.

        Parameters: `since` closed segments before the first one with a line of this time or later are left out, but for
        the lines that say why a plan of the others was carried out: they come before the plan's first other line; `run`
        closed segments without a line of a run whose key begins so are left out.

        Raises:
            LedgerBroken: naming the first line that was changed.
        """
        of_time = self._asked(lambda asked: asked.segments_since(since)) if since else ([], 0)
        of_runs = self._asked(lambda asked: asked.segments_of_runs(run)) if run.isascii() and run else ([], 0)
        with self.segments.opened() as opened:
            left_out = {
                number
                for number in opened.closed
                for wanted, after in (of_time, of_runs)
                if number <= after and number not in wanted
            }
            first = next((number for number in (*opened.closed, opened.first) if number not in left_out), 0)
            plans: set[PlanIdentity] = set()
            for entry in self._chained(opened, left_out):
                plan = PlanIdentity(run=str(entry.get("run")), digest=str(entry.get("plan")))
                if plan not in plans and left_out and entry.get("kind") != "issued":
                    yield from self._why(plan, before=first)
                plans.add(plan)
                yield entry

    def _chained(self, opened: Opened, left_out: Collection[int]) -> Iterator[dict[str, object]]:
        """The lines of the segments that are not left out, checked."""
        before = BEGIN
        for number, content in opened.parts():
            if number in left_out:
                made = self.segments.checkpoint(number)
                before = made.head if made else BEGIN
                continue
            for entry in verify(content, self.keys, before):
                before = head_in(entry)
                yield entry

    def _why(self, plan: PlanIdentity, *, before: int) -> Iterator[dict[str, object]]:
        """The lines before this one that say why a plan was carried out, each checked."""
        places, after = self._asked(lambda asked: [one for one in _of(asked, plan) if one.kind in _WHY])
        for number, line in chain(self.read(places), self._lines_behind(after)):
            if number >= before:
                return
            start = line[:_START]
            if plan.digest.encode() in start and any(_sign(kind) in start for kind in _WHY):
                check_line(number, line, self.keys)
                yield read_line(number, line)

    def proofs(self) -> list[Proof]:
        """What all runs say of the ledger's end. Raises as `mqops.ledger.proofs.proofs_of_runs`."""
        return proofs_of_runs(self.folder.parent)

    def note_proof(self, proof: Proof) -> None:
        """Note a proof before it is written to the run's folder. Raises `LakeError`."""
        with self.lock():
            with suppress(LedgerBroken, LakeError):  # another run's summary was changed: the next act looks at all
                self._list_proofs()
            if (self.folder / PROVED).exists():
                add_proof(self.folder, proof)

    def _proofs_since(self) -> list[Proof]:
        """The proofs since the last checkpoint."""
        if not (self.folder / PROVED).exists():
            with self.lock():
                self._list_proofs()
        return noted_proofs(self.folder)

    def _list_proofs(self) -> None:
        """Begin the list of proofs with those of all runs, where there is none; the lock is held."""
        if not (self.folder / PROVED).exists():
            write_proofs(self.folder, self.proofs())


def _sign(kind: str) -> bytes:
    """What stands at the beginning of a line of this kind."""
    return f'"kind":"{kind}"'.encode()


def _is_hex(text: str) -> bool:
    return bool(text) and not set(text).difference("0123456789abcdef")


def _of(asked: Asked, plan: PlanIdentity | None, kind: MarkerKind | None = None) -> list[Place]:
    return asked.of_plan(plan.run, plan.digest) if plan else asked.of_kind(str(kind))


def all_ledgers(lake: Path) -> list[str]:
    """The queue managers that have a ledger in the lake."""
    found = (path.parent.parent for name in ("ledger.jsonl", "segments") for path in lake.glob(f"*/ledger/{name}"))
    return sorted(set(map(queue_manager_of, found)))


def markers_of(run: RunFolder, kind: MarkerKind | None = None) -> Iterator[Marker]:
    """The markers of a run's plan, all or those of one kind. Raises `LakeError`, `LedgerBroken`."""
    identity = PlanIdentity(run=run.run, digest=PLANNED.read(run).digest)
    return LedgerFile(run.lake_folder).markers(plan=identity, kind=kind)
