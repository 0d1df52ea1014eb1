"""Where the results of quality checks lie, and which of them is the verdict of their run.

    RUN/quality/checks/CHECK/quality.json    one check of the snapshot, beside its `failures/` and `docs/`
    RUN/quality/quality.json                 the verdict: a copy of the result that counts for the run

1. A result is written once and never again: each check of a snapshot has a folder of its own, by its time.
2. The verdict of a run of the quality workflow is what the workflow itself found, the last time where it was tried
   again. What a person checks on the command line stands beside it.
3. Where no workflow checks, the newest result of each suite counts: the newest that is not passed, else the newest.
   So another suite that passes hides none that does not.
4. Earlier versions had one result a run, RUN/quality/quality.json. It is kept as the check `EARLIER`, with its failures
   and Data Docs where they are, before another result takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from mqops.kept import kept
from mqops.lake.files import lake_errors, make_folder, write_json
from mqops.lake.handed_on import HANDED_ON
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.message_checks import QualitySummary
from mqops.workflow import Workflow

RESULT = "quality.json"
SUMMARY = Checked(QualitySummary)
EARLIER = "0-earlier"
"""Sorts before every name that `new_check` makes."""


def new_check(now: datetime) -> str:
    """A name for a check that begins now (UTC), unlike every other one. Names sort by time."""
    return f"{now:%Y%m%dT%H%M%S.%f}-{token_hex(4)}"


def keep(run: RunFolder, summary: QualitySummary) -> None:
    """Let the verdict of a run be the right one, now that this result of it was written.

    Raises:
        LakeError: the disk refused, or an earlier result is not what mqops wrote.
    """
    _keep_earlier(run)
    if summary.by_workflow:
        write_json(run.quality_json, summary.to_json())
    elif not of_quality_workflow(run):
        write_json(run.quality_json, that_counts(results(run)).to_json())
    with lake_errors(run.path):
        os.utime(run.path)  # by which the list of runs sees that the run has changed (`mqops.look.runs`)


def results(run: RunFolder) -> list[QualitySummary]:
    """Every result of a run, the newest first. Raises `LakeError`."""
    found = [_read(path, when) for path in _paths(run) if (when := written(path))]
    return found or ([_read(run.quality_json, when)] if (when := written(run.quality_json)) else [])


def verdict_of(run: RunFolder) -> QualitySummary | None:
    """The result that counts for a run; None where it has checked nothing. Raises `LakeError`."""
    when = written(run.quality_json)
    return _read(run.quality_json, when) if when else None


def result_of_check(run: RunFolder, check: str) -> QualitySummary | None:
    """One result of a run; None where there is none of this name. Raises `LakeError`."""
    return next((one for one in results(run) if one.check == check), None)


def that_counts(found: Sequence[QualitySummary]) -> QualitySummary:
    """Rule 3, also of several runs. Parameters: `found` the newest first, at least one."""
    seen: set[str] = set()
    for one in found:
        if _failing(one) - seen:
            return one
        seen |= _suites(one)
    return found[0]


def _failing(one: QualitySummary) -> set[str]:
    """The suites that a result does not pass; where the counts do not agree, all of them."""
    if one.ok:
        return set()
    named = {check.suite for check in one.not_met("critical")}
    return named if named and one.balanced else _suites(one)


def _suites(one: QualitySummary) -> set[str]:
    return set(one.suites) or {""}


def of_quality_workflow(run: RunFolder) -> bool:
    """Whether the quality workflow has made a run. Raises `LakeError`."""
    known = HANDED_ON.find(run)
    return known is not None and known.dag_id.endswith(f"_{Workflow.SNAPSHOT_QUALITY}")


def docs_of(run: RunFolder) -> Path | None:
    """The folder of the Data Docs of a run's verdict; None where none were built in the run. Raises `LakeError`."""
    verdict = verdict_of(run)
    if verdict is None or not verdict.docs:
        return None
    kept_apart = verdict.check not in {"", EARLIER}
    return (run.quality_checks / verdict.check if kept_apart else run.quality_json.parent) / "docs"


def written(path: Path | str) -> int:
    """When a result was written (nanoseconds); 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _paths(run: RunFolder) -> list[Path]:
    """Where the results of a run would lie, the newest first."""
    with lake_errors(run.quality_checks), suppress(FileNotFoundError):
        return [run.quality_checks / name / RESULT for name in sorted(os.listdir(run.quality_checks), reverse=True)]
    return []


def _keep_earlier(run: RunFolder) -> None:
    """Rule 4."""
    earlier = verdict_of(run)
    if earlier is None or earlier.check:
        return
    folder = run.quality_checks / EARLIER
    make_folder(folder)
    kept = replace(earlier, check=EARLIER, by_workflow=of_quality_workflow(run))
    write_json(folder / RESULT, kept.to_json())
    write_json(run.quality_json, kept.to_json())


@kept(most=512)
def _read(path: Path, _written: int) -> QualitySummary:
    return SUMMARY.read(path)
