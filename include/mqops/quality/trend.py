"""The quality runs of a queue manager, from RUN/quality/quality.json of each, and the other checks of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.run import RunFolder
from mqops.look.runs import Runs
from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.results import of_quality_workflow, result_of_check, results, that_counts, verdict_of
from mqops.quality.vocabulary import MOST_RUNS
from mqops.run_key import is_run_key


class CheckTrend(NamedTuple):
    """A check of a suite. Parameters: `last` its newest result; `failed` messages that failed it in each run, oldest
    first, None where a run has no such number: it has no such check, or the check has looked at nothing."""

    last: CheckResult
    failed: tuple[int | None, ...]

    @property
    def most(self) -> int | None:
        """The most messages that failed it in one run: the top of its line. None where no run has a number."""
        return max((one for one in self.failed if one is not None), default=None)


def quality_runs(lake: Path, queue_manager: str, most: int | None = None) -> list[QualitySummary]:
    """The verdicts of the newest `most` runs (None: `MOST_RUNS`), the newest first. Raises `LakeError`."""
    return verdicts_among(Runs(lake, queue_manager), most)


def verdicts_among(runs: Runs, most: int | None = None) -> list[QualitySummary]:
    """As `quality_runs`, of runs that a look has at hand."""
    lake, queue_manager, newest = runs.lake, runs.queue_manager, runs.checked(most or MOST_RUNS)
    found = [verdict_of(RunFolder.at(lake, queue_manager, one)) for one in newest]
    return sorted((one for one in found if one is not None), key=lambda one: one.checked_at, reverse=True)


def run_that_counts(lake: Path, runs: list[QualitySummary]) -> QualitySummary | None:
    """What the quality runs say of a queue manager now: the newest verdict of each suite counts, and of them the newest
    that is not passed, else the newest. What a person checks on the command line counts only where no workflow checks.

    Parameters: `runs` the newest first.

    Raises:
        LakeError: a file of a run cannot be read.
    """
    own = [one for one in runs if one.by_workflow or of_quality_workflow(_folder(lake, one))]
    return that_counts(own or runs) if runs else None


def quality_run(lake: Path, queue_manager: str, run: str, check: str = "") -> QualitySummary | None:
    """The verdict of one run, however old, or another of its checks; None where there is none. Raises `LakeError`."""
    if not is_run_key(run):
        return None
    folder = RunFolder.at(lake, queue_manager, run)
    return result_of_check(folder, check) if check else verdict_of(folder)


def checks_of(lake: Path, summary: QualitySummary) -> list[QualitySummary]:
    """Every check of the snapshot that a result is of, the newest first. Raises `LakeError`."""
    return results(_folder(lake, summary))


def with_all_suites(lake: Path, runs: list[QualitySummary]) -> list[QualitySummary]:
    """The runs, each with the newest result of the suites that its verdict is not of, for `trends`. Raises
    `LakeError`."""
    return [replace(run, checks=(*run.checks, *_beside(run, checks_of(lake, run)))) for run in runs]


def runs_before(lake: Path, summary: QualitySummary) -> list[QualitySummary]:
    """The verdicts of other runs that were checked before a result, the newest first. Raises `LakeError`."""
    runs = quality_runs(lake, summary.queue_manager)
    return [run for run in runs if run.run != summary.run and run.checked_at <= summary.checked_at]


def passed_before(before: list[QualitySummary]) -> dict[str, bool]:
    """Suite → whether it passed when it was checked last. Parameters: `before` the runs, the newest first."""
    seen: dict[str, bool] = {}
    for run in before:
        failed = {one.suite for one in run.not_met("critical")}
        for suite in run.suites:
            seen.setdefault(suite, suite not in failed)
    return seen


def _beside(verdict: QualitySummary, found: list[QualitySummary]) -> list[CheckResult]:
    seen, checks = set(verdict.suites), list[CheckResult]()
    for one in found:
        checks += [check for check in one.checks if check.suite not in seen]
        seen |= set(one.suites)
    return checks


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
    known = HANDED_ON.find(_folder(lake, summary)) or NO_DAG_RUN
    return known.dag_id, known.run_id


def _folder(lake: Path, summary: QualitySummary) -> RunFolder:
    return RunFolder.at(lake, summary.queue_manager, summary.run)
