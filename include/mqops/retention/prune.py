"""Removes what is due of old runs, and says so in the run's folder and in the ledger.

1. RUN/pruned.json and a line of the ledger (kind "pruned") are on disk before the first file goes. A pass that was
   killed is finished by the next one: what a record names and is still there goes then.
2. A part is renamed before it is removed, so that a reader has all of it or none.
3. With a snapshot whose bodies are encrypted goes their key, RUN/bodies.json: before it, so that a pass that is killed
   leaves none behind.
4. A run that a process works on at that moment, or that was begun since, is passed over.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from mqops.clock import utc_text
from mqops.errors import InProgress, SettingsError
from mqops.lake.files import lake_errors, mark
from mqops.lake.pruned import PRUNED, PrunedRun, going, there_of
from mqops.lake.run import RunFolder, folder_of
from mqops.lake.sealing import DATA_KEY
from mqops.ledger.core.identity import line_id
from mqops.ledger.core.marker import About, Marker, MarkerKind
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of
from mqops.look.run_row import run_line
from mqops.look.runs import Runs
from mqops.model import AsJson
from mqops.retention.core.due import OVER, Decided, Due, Part, Policy, decided
from mqops.retention.held import candidates, needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned(AsJson):
    """What a pass has removed, or in a dry run would remove, of one queue manager's runs.

    Parameters: `runs` of which something was removed; `parts` part → runs; `bytes` that were freed; `kept` why runs
    keep what would be due otherwise → runs; `in_progress` runs that another process had.
    """

    queue_manager: str
    runs: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0
    kept: Mapping[str, int] = field(default_factory=dict)
    in_progress: int = 0


def survey(lake: Path, queue_manager: str, policy: Policy, *, now: datetime) -> Decided:
    """What is due of a queue manager's runs; nothing is changed.

    Raises:
        LakeError: a run cannot be read.
        SettingsError: the lake does not have the queue manager.
    """
    folder = folder_of(lake, queue_manager)
    if not (folder / "runs").is_dir():
        raise SettingsError(f"{lake} has no runs of {queue_manager}: `mqops runs` lists those that it has")
    runs = Runs(lake, queue_manager).caught_up()
    return decided(candidates(runs, policy, now=now), policy, needed=dict(needed(runs)), now=now)


def prune(
    lake: Path,
    queue_manager: str,
    due: Decided,
    *,
    who: str,
    now: datetime,
    dry_run: bool = False,
    told: Callable[[Due, int], None] = lambda _due, _bytes: None,
) -> Pruned:
    """Remove what is due. Parameters: `who` has it removed; `told` of each run and the bytes that it had.

    Raises:
        LakeError: the disk refused; what is removed until then is in the ledger.
        LedgerBroken, SettingsError: the ledger or its key is damaged or missing. Nothing was removed.
    """
    folder = folder_of(lake, queue_manager)
    parts: Counter[str] = Counter()
    freed = passed_over = runs = 0
    for batch in _batches(due.due):
        sized = [(one, sum(there_of(path) for path in _paths(folder, one))) for one in batch]
        if not dry_run:
            _record(folder, queue_manager, sized, who=who, at=utc_text(now))
        for one, size in sized:
            if not dry_run and not _removed(RunFolder(folder / "runs" / one.run), one):
                passed_over += 1
                continue
            runs, freed = runs + 1, freed + size
            parts.update(one.parts)
            told(one, size)
    return Pruned(
        queue_manager=queue_manager,
        runs=runs,
        parts=dict(parts),
        bytes=freed,
        kept=dict(due.kept),
        in_progress=passed_over,
    )


def _batches(due: tuple[Due, ...], size: int = 500) -> Iterator[tuple[Due, ...]]:
    for first in range(0, len(due), size):
        yield due[first : first + size]


def _paths(folder: Path, due: Due) -> list[Path]:
    run = RunFolder(folder / "runs" / due.run)
    of_part = {Part.SNAPSHOT: run.snapshot, Part.PLAN: run.plan, Part.RUN: run.path}
    return [of_part[part] for part in due.parts]


def _record(folder: Path, queue_manager: str, sized: list[tuple[Due, int]], *, who: str, at: str) -> None:
    """Rule 1: the ledger first, for it may refuse; then each run that stays."""
    lines = []
    for one, size in sized:
        what = (*one.parts, *(["key of the bodies"] if _with_key(RunFolder(folder / "runs" / one.run), one) else []))
        about: About = {"requested_by": who, "removed": ", ".join(what), "bytes": size, "why": one.why}
        unit = line_id(MarkerKind.PRUNED, queue_manager, one.run, at)
        lines.append(Marker(unit=unit, run=one.run, plan="", kind=MarkerKind.PRUNED, at=at, about=about))
    with writer_of(LedgerFile(folder)) as writer:
        writer.add(lines)
    for one, size in sized:
        run = RunFolder(folder / "runs" / one.run)
        if Part.RUN not in one.parts and run.path.is_dir():
            before = PRUNED.find(run)
            gone = set(before.parts if before else ())
            freed = (before.bytes if before else 0) + (0 if gone.issuperset(one.parts) else size)
            parts = tuple(part for part in Part if part in gone.union(one.parts))
            PRUNED.write(run, PrunedRun(parts=parts, bytes=freed, at=at, by=who))


def _with_key(run: RunFolder, due: Due) -> bool:
    """Rule 3."""
    return Part.SNAPSHOT in due.parts and Part.RUN not in due.parts and DATA_KEY.exists(run)


def _removed(run: RunFolder, due: Due) -> bool:
    """Remove the parts; False where another process has the run, or has begun it since."""
    try:
        with run.lock(wait=0):
            line = run_line(run)
            if line.state not in OVER or line.begun != due.begun:
                return False
            if Part.RUN in due.parts:
                run.discard()
                return True
            if _with_key(run, due):
                DATA_KEY.remove(run)
            for part in due.parts:
                _remove(run.path / part.value)
            mark(run.plan_json)
    except InProgress:
        return False
    return True


def _remove(part: Path) -> None:
    """Rule 2."""
    gone = going(part)
    with lake_errors(part):
        shutil.rmtree(gone, ignore_errors=True)
        if part.is_dir():
            os.rename(part, gone)
        shutil.rmtree(gone, ignore_errors=True)
