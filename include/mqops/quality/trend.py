"""The quality runs of a queue manager, from RUN/quality/quality.json of each."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from mqops.errors import LakeError
from mqops.lake.files import lake_errors, read_json
from mqops.lake.run import RunFolder, folder_of
from mqops.quality.summary import CheckResult, QualitySummary
from mqops.run_key import is_run_key
from mqops.single_flight import single_flight

MOST_RUNS = 30
"""Newest runs that a trend has."""


class CheckTrend(NamedTuple):
    """A check of a suite. Parameters: `last` its newest result; `failed` messages that failed it in each run, oldest
    first, None where a run has no such number."""

    last: CheckResult
    failed: tuple[int | None, ...]


def quality_runs(lake: Path, queue_manager: str) -> list[QualitySummary]:
    """The newest runs, the newest first. Raises `LakeError`."""
    found = [_summary(*one) for one in _files(folder_of(lake, queue_manager) / "runs")]
    return sorted(found, key=lambda one: one.checked_at, reverse=True)


def quality_run(lake: Path, queue_manager: str, run: str) -> QualitySummary | None:
    """One run, however old; None where it has checked nothing. Raises `LakeError`."""
    if not is_run_key(run):
        return None
    path = RunFolder.at(lake, queue_manager, run).quality_json
    when = _written(str(path))
    return _summary(path, when) if when else None


def trends(runs: list[QualitySummary]) -> list[CheckTrend]:
    """The checks of these runs, those first whose newest result is not met. Parameters: `runs` the newest first."""
    newest: dict[tuple[str, str], CheckResult] = {}
    counts = []
    for run in runs:
        by_check = {(one.suite, one.expectation): one for one in run.checks}
        newest = {**by_check, **newest}
        counts.append({key: one.failed for key, one in by_check.items()})
    counts.reverse()
    found = [CheckTrend(one, tuple(count.get(key) for count in counts)) for key, one in newest.items()]
    return sorted(found, key=lambda one: (one.last.met, one.last.suite, one.last.expectation))


def dag_run(lake: Path, summary: QualitySummary) -> tuple[str, str]:
    """DAG id and run id of a quality run in Airflow, blank for one of the command line. Raises `LakeError`."""
    path = RunFolder.at(lake, summary.queue_manager, summary.run).handed_on_json
    known = read_json(path) if path.exists() else {}
    return str(known.get("dag_id", "")), str(known.get("run_id", ""))


@single_flight
def _files(runs: Path) -> tuple[tuple[Path, int], ...]:
    """The newest summaries, and when each was written: at its check, once."""
    found = [(when, path) for path in _names(runs) if (when := _written(path))]
    return tuple((Path(path), when) for when, path in sorted(found, reverse=True)[:MOST_RUNS])


def _names(runs: Path) -> list[str]:
    """Where the summary of each run would lie."""
    with lake_errors(runs), suppress(FileNotFoundError), os.scandir(runs) as entries:
        return [f"{one.path}/quality/quality.json" for one in entries]
    return []


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=512)
def _summary(path: Path, _written: int) -> QualitySummary:
    try:
        return QualitySummary.from_json(read_json(path))
    except (KeyError, TypeError, AttributeError) as error:
        raise LakeError(f"{path} is not what mqops wrote: {error!r}") from error
