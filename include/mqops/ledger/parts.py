"""A ledger is verified segment by segment, several at once: a checkpoint says which head its segment follows.

The result of a closed segment is kept while its file is as it was, for processes that verify again and again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from mqops.errors import LedgerBroken
from mqops.kept import bounded
from mqops.lake.files import lake_errors
from mqops.lake.run import queue_manager_of
from mqops.ledger.core import checkpoint
from mqops.ledger.core.archived import Archived
from mqops.ledger.core.chain import BEGIN, Head, head_in, verify
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.core.seal import BadSignature, Seal
from mqops.ledger.file import LedgerFile
from mqops.ledger.progress import told
from mqops.ledger.segments import Opened, Segments

WORTH = 64 * 2**20
"""Bytes of closed segments for which processes are started."""
MOST = 64 * 2**20
"""Bytes of results that are kept, about. Of more the oldest segments are checked anew."""
_OF_A_PLAN = frozenset({MarkerKind.ISSUED, MarkerKind.ACTED})
"""Kinds of lines that say that a plan was carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the check of a segment has found.

    Parameters: `before` the head that it follows, `head` after its last line that is what was written; `error` why the
    next one is not, blank at the end; `hashes` number → hash of the lines that were asked for; `acted` plan → rows that
    were acted on, of the plans that are wanted; `first` hash of its first line; `size` bytes and `sha256` of its
    complete lines.
    """

    before: Head
    head: Head
    error: str = ""
    hashes: Mapping[int, str] = field(default_factory=dict)
    acted: Mapping[PlanIdentity, int] = field(default_factory=dict)
    first: str = ""
    size: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A process that verifies again and again keeps what it has found of a closed segment. Of the plans it keeps few:
    of 100,000 runs that are done they are 60 MB.

    Parameters: `wanted` the runs among these whose plans are told; `as_of` what this answer depends on: where it is
    another value, closed segments are checked again.
    """

    wanted: Callable[[Collection[str]], Collection[str]]
    as_of: Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be checked, and how: as of `mqops.ledger.verified`. Parameters: `numbers` of lines whose hashes are
    needed; `away` the archive that cannot be read, behind which the check begins."""

    file: LedgerFile
    numbers: frozenset[int]
    cores: int
    kept: Kept | None = None
    away: Archived | None = None


def check_part(lines: Iterable[bytes], seal: Seal, before: Head, numbers: frozenset[int]) -> Part:
    """Check the lines of a segment."""
    found, size, first, head, error = hashlib.sha256(), 0, "", before, ""
    hashes: dict[int, str] = {}
    acted: dict[tuple[str, str], int] = {}

    def counted() -> Iterator[bytes]:
        nonlocal size
        for line in lines:
            found.update(line)
            size += len(line)
            yield line

    try:
        for entry in verify(counted(), seal, before):
            head = head_in(entry)
            first = first or head.hash
            if head.seq in numbers:
                hashes[head.seq] = head.hash
            if (kind := entry.get("kind")) in _OF_A_PLAN:
                plan = str(entry.get("run", "")), str(entry.get("plan", ""))
                rows = entry.get("rows") if kind == MarkerKind.ACTED else None
                acted[plan] = acted.get(plan, 0) + (len(rows) if isinstance(rows, list) else 0)
    except LedgerBroken as broken:
        error = str(broken)
    return Part(
        before=before,
        head=head,
        error=error,
        hashes=hashes,
        acted={PlanIdentity(run=run, digest=digest): rows for (run, digest), rows in acted.items()},
        first=first,
        size=size,
        sha256=found.hexdigest(),
    )


def check_segment(lake_folder: Path, number: int, before: Head, numbers: frozenset[int]) -> Part:
    """Check a closed segment in a process of its own, which reads the key file itself. Raises `LakeError`,
    `LedgerBroken`."""
    file = LedgerFile(lake_folder)
    return check_part(file.segments.lines(number), file.keys, before, numbers)


def parts(asked: Asked, opened: Opened) -> Iterator[Part]:
    """What the check of each segment has found, in their order; a last one says what is wrong with the checkpoints.

    Raises `LakeError`, `SettingsError`.
    """
    segments, seal = asked.file.segments, asked.file.keys
    progress = told("Check of the ledger", queue_manager_of(asked.file.folder.parent))
    closed = [_Closed(segments, number) for number in opened.closed]
    total, done, before, wrong = sum(one.size for one in closed), 0, BEGIN, ""
    chain, begin, segments_before = "", 0, 0
    if away := asked.away:
        before, begin, segments_before = away.head, away.end, away.segments
        chain = checkpoint.digest(segments.body(away.number))
    with _workers(asked.cores if total >= WORTH else 1) as workers:
        tasks = [_task(asked, one, workers) for one in closed]
        for number, (one, task) in enumerate(zip(closed, tasks, strict=True), start=segments_before + 1):
            part = task.result() if task else None
            if part is None or part.before != before:
                part = check_part(segments.lines(one.number), seal, before, asked.numbers)
            yield _keep(asked, one, part)
            if part.error:
                return
            wrong = wrong or one.wrong(part, seal, chain, begin, number)
            before, chain, begin = part.head, checkpoint.digest(one.body) if one.body else "", begin + one.size
            done += one.size
            progress(done, total)
    if opened.stream is not None:
        with lake_errors(segments.open_path):
            lines = (line for line in opened.stream if line.endswith(b"\n"))
            part = check_part(lines, seal, before, asked.numbers)
        before = part.head
        yield _wanted(asked, part)
    if wrong:
        yield Part(before=before, head=before, error=wrong)


class _Closed:
    """A closed segment, and its checkpoint: None where there is none that a key of the lake signed."""

    def __init__(self, segments: Segments, number: int) -> None:
        self.number = number
        self.body = segments.body(number)
        self.made: Checkpoint | None = segments.checkpoint(number)
        self.size = segments.size(number)
        with segments.stream(number) as stream:
            found = os.fstat(stream.fileno())
        self.state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def wrong(self, part: Part, seal: Seal, chain: str, begin: int, segments: int) -> str:
        """Why its checkpoint is not the one that mqops wrote for it, "" where it is, or where there is none."""
        if not self.body:
            return ""
        name = f"The checkpoint of the segment that begins with line {self.number}"
        try:
            made = checkpoint.read(self.body, seal)
        except BadSignature as error:
            if error.foreign and part.head.seq < seal.signed_from:
                return ""  # a key that was lost signed it
            return f"{name} was not written by a holder of the ledger's key: {error}"
        says = Checkpoint(
            number=self.number,
            first=part.first,
            before=part.before,
            head=part.head,
            size=self.size,
            sha256=part.sha256,
            begin=begin,
            segments=segments,
            chain=chain,
        )
        return "" if made == says else f"{name} is not the one that was written for it"


_known: LRUCache[tuple[Hashable, ...], tuple[Part, frozenset[int]]] = bounded(
    most=MOST, size=lambda one: 2000 + 300 * len(one[0].acted)
)
_of_known = Lock()


def _task(asked: Asked, one: _Closed, workers: Executor | None) -> Future[Part] | None:
    """The check of a segment that follows what its checkpoint says; None where that is to be done in its turn."""
    with _of_known:
        known = _known.get((one.state, asked.kept.as_of)) if asked.kept else None
    numbers = asked.numbers
    if one.made:
        numbers = frozenset(number for number in numbers if one.number <= number <= one.made.head.seq)
    if known and numbers <= known[1]:
        task: Future[Part] = Future()
        task.set_result(known[0])
        return task
    if one.made is None or workers is None:
        return None
    return workers.submit(check_segment, asked.file.folder.parent, one.number, one.made.before, numbers)


def _keep(asked: Asked, one: _Closed, part: Part) -> Part:
    part = _wanted(asked, part)
    if asked.kept and not part.error:
        with _of_known:
            _known[one.state, asked.kept.as_of] = (part, frozenset(part.hashes))
    return part


def _wanted(asked: Asked, part: Part) -> Part:
    """With the plans that are wanted."""
    if asked.kept is None or not part.acted:
        return part
    wanted = set(asked.kept.wanted({plan.run for plan in part.acted}))
    return replace(part, acted={plan: rows for plan, rows in part.acted.items() if plan.run in wanted})


@contextmanager
def _workers(cores: int) -> Iterator[Executor | None]:
    """Processes that check, none where one core does it."""
    if cores < 2:
        yield None
        return
    import multiprocessing  # noqa: PLC0415 - most ledgers are checked by one core
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    with ProcessPoolExecutor(min(cores, os.cpu_count() or 1), multiprocessing.get_context("spawn")) as workers:
        try:
            yield workers
        finally:
            workers.shutdown(cancel_futures=True)
