"""The runs of a lake, newest first, without reading what did not change.

LAKE/<queue manager>/runs_index.json keeps the line of each run with the time of its folder. Every file of a run is
written beside its place and renamed, so each change gives the folder another time (`mqops.lake.files.write_bytes`), and
a line holds while the time is the same. Quality checks write into a folder of their own, and then give the run's folder
another time. The index may be deleted: it is made again from the runs. A process reads the index again only where its
file is another one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mqops.act.progress import read_live_progress
from mqops.clock import utc_now, utc_text
from mqops.errors import LakeError
from mqops.kept import Kept
from mqops.lake.files import SETTLED_NS, read_json, state_of, write_json
from mqops.lake.run import RunFolder, folder_of, queue_manager_of, run_folders
from mqops.lake.stop import NAME as STOP
from mqops.lake.stop import stop_in
from mqops.look.core.run_state import RunFiles, RunLine, as_of, line_of
from mqops.look.words.state import RunState
from mqops.single_flight import single_flight

INDEX = "runs_index.json"
_VERSION = 6


def list_runs(
    lake: Path,
    *,
    queue_manager: str = "",
    queue: str = "",
    workflow: str = "",
    states: Collection[RunState] = (),
    since: datetime | None = None,
) -> list[RunLine]:
    """The runs that fit, newest first.

    Parameters: `queue_manager`, `queue` and `workflow` "" for all; `states` none for all; `since` only runs whose
    snapshot is not older, UTC.

    Raises:
        LakeError: a run cannot be read, or another user can change the lake.
    """
    names = [queue_manager] if queue_manager else sorted(queue_manager_of(path.parent) for path in lake.glob("*/runs"))
    begin = utc_text(since if since.tzinfo else since.replace(tzinfo=UTC)) if since else ""
    found = [
        line
        for name in names
        for line in _of(folder_of(lake, name), name)
        if (not queue or queue in line.queue.split(","))
        and (not workflow or line.workflow == workflow)
        and (not states or line.state in states)
        and (not begin or line.at >= begin)
    ]
    return sorted(found, key=lambda line: (line.at, line.run), reverse=True)


def run_line(run: RunFolder) -> RunLine:
    """The line of one run. Raises `LakeError`."""
    line = _read(run)
    if line is None:
        raise LakeError(f"Run {run.run} was removed meanwhile")
    return as_of(line, utc_now(), stopped=stop_in(run.lake_folder) is not None)


class _Kept(NamedTuple):
    """An entry of the index. Parameters: `when` the folder changed, in nanoseconds."""

    when: int
    line: RunLine


@single_flight
def _of(folder: Path, queue_manager: str) -> tuple[RunLine, ...]:
    return tuple(_lines(folder, queue_manager))


def _lines(folder: Path, queue_manager: str) -> Iterator[RunLine]:
    """The lines of a queue manager's runs. What changed is read, and the index is written again."""
    known = _index(folder, queue_manager)
    kept: dict[str, _Kept] = {}
    changed = False
    before = time.time_ns() - SETTLED_NS
    stopped, now = stop_in(folder) is not None, utc_now()
    for name, when in run_folders(folder):
        entry = known.get(name)
        if entry is not None and entry.when == when:
            line = entry.line
        else:
            found, entry = _read(RunFolder(folder / "runs" / name)), None
            if found is None:
                continue
            line = found
        if entry is None and when < before:
            entry, changed = _Kept(when, line), True
        if entry is not None:
            kept[name] = entry
        yield as_of(line, now, stopped=stopped)
    if changed or len(kept) != len(known):
        _keep(folder, kept)


_IN_PLACE = frozenset({"run", "queue_manager"})
"""What an entry of the index does not repeat."""


class _Index(NamedTuple):
    """An index as it was read. Parameters: `written` tells its file from another one; `lines` by name of the run."""

    written: tuple[int, ...]
    lines: Mapping[str, _Kept]


_known: Kept[_Index] = Kept(most=256 * 2**20, size=lambda index: 1000 * len(index.lines))
"""The newest index of each queue manager; of each line about so many bytes."""


def _index(folder: Path, queue_manager: str) -> Mapping[str, _Kept]:
    """What the index has, by the name of the run."""
    written = state_of(folder / INDEX)
    known = _known.get((folder, queue_manager))
    if known is None or known.written != written:
        known = _Index(written, _read_index(folder / INDEX, queue_manager))
        _known.put((folder, queue_manager), known)
    return known.lines


def _read_index(path: Path, queue_manager: str) -> Mapping[str, _Kept]:
    """The lines of an index file; a file of another version, or a damaged one, has none."""
    try:
        found = read_json(path) if path.exists() else {}
        if found.get("v") != _VERSION:
            return {}
        names = RunLine.__dataclass_fields__.keys() - _IN_PLACE
        sound = all(
            isinstance(when, int) and "state" in line and line.keys() <= names for when, line in found["runs"].values()
        )
        return (
            {
                name: _Kept(
                    when, RunLine(run=name, queue_manager=queue_manager, **{**line, "state": RunState(line["state"])})
                )
                for name, (when, line) in found["runs"].items()
            }
            if sound
            else {}
        )
    except (LakeError, AttributeError, KeyError, TypeError, ValueError):
        return {}


def _keep(folder: Path, kept: Mapping[str, _Kept]) -> None:
    """Write the index. Who may only read the lake does without."""
    if os.access(folder, os.W_OK):
        runs = {name: [one.when, _document(one.line)] for name, one in kept.items()}
        write_json(folder / INDEX, {"v": _VERSION, "runs": runs})


def _document(line: RunLine) -> dict[str, Any]:
    return {key: value for key, value in line.to_json().items() if value and key not in _IN_PLACE}


def _read(run: RunFolder) -> RunLine | None:
    """The line of a run, from its files; None if the run was removed meanwhile. Raises `LakeError`."""
    try:
        return line_of(run.run, run.queue_manager, _files(run))
    except (LakeError, OSError):
        if not run.path.is_dir():
            return None
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LakeError(f"A file of run {run.run} in {run.path} is not what mqops wrote: {error!r}") from error


def _files(run: RunFolder) -> RunFiles:
    there = set(os.listdir(run.path))
    if run.quality_json.parent.name in there and run.quality_json.exists():
        there.add(run.quality_json.name)

    def content(path: Path) -> Mapping[str, Any]:
        found = read_json(path) if path.name in there else {}
        if not isinstance(found, dict):
            raise TypeError(path.name)
        return found

    newest = run.plan_json if run.plan_json.name in there else run.path
    return RunFiles(
        observe=content(run.observe_json),
        plan=content(run.plan_json),
        approval=content(run.approval_json),
        act=content(run.act_json),
        summary=content(run.summary_json),
        expiry=content(run.expiry_json),
        quality=content(run.quality_json),
        issued=run.issued_json.name in there,
        stopped=STOP in there,
        undoes=run.undo_json.name in there,
        planned_at=_changed_at(newest),
        acted_at=_acted_at(run) if run.progress_json.name in there else "",
    )


def _acted_at(run: RunFolder) -> str:
    """When act last said how far it is. A power cut can leave the file damaged."""
    progress = read_live_progress(run)
    return progress.at if progress else _changed_at(run.progress_json)


def _changed_at(path: Path) -> str:
    return utc_text(datetime.fromtimestamp(path.stat().st_mtime, UTC))
