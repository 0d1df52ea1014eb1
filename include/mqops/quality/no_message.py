"""The outcome of suites where no queue has a message: without Spark, and the same that Spark finds there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mqops.clock import utc
from mqops.lake.files import make_folder, write_json
from mqops.lake.run import RunFolder
from mqops.message_checks import CheckResult, QualitySummary, QueueQuality
from mqops.quality.results import RESULT, keep, new_check
from mqops.quality.scope import QueuesSeen, nothing_seen, on_nothing, told, with_bases
from mqops.quality.suite import Check, Suite, columns_of
from mqops.quality.summary import result_of
from mqops.quality.vocabulary import SEVERITIES


def summary_of(suites: tuple[Suite, ...], results: Sequence[CheckResult], seen: QueuesSeen) -> QualitySummary:
    """A summary with all that does not depend on a message."""
    return QualitySummary(
        run="",
        queue_manager="",
        queue=",".join(seen.looked_at),
        failed={name: sum(r.severity == name and not r.met for r in results) for name in SEVERITIES},
        suites=tuple(suite.name for suite in suites),
        checks=tuple(results),
        unseen=seen.unseen,
        told=told(suites, seen),
    )


def check_no_message(
    queue_manager: str, suites: tuple[Suite, ...], seen: QueuesSeen, *, now: str, run: RunFolder | None = None
) -> QualitySummary:
    """What suites find where the queues that were looked at are empty.

    Parameters: `now` ISO 8601; `run` that would have the snapshot, for checks that learn from earlier ones.
    """
    suites = with_bases(suites, seen.aliases)
    results = [
        _compared(suite, check, seen, now, run) if check.expectation.between else on_nothing(suite, check, seen)
        for suite in suites
        for check in suite.checks
    ]
    queues = tuple(QueueQuality(queue=name, found=0, done=0, left=0) for name in seen.looked_at)
    found = summary_of(suites, results, seen)
    return replace(found, queue_manager=queue_manager, queues=queues, checked_at=now)


def _compared(suite: Suite, check: Check, seen: QueuesSeen, now: str, run: RunFolder | None) -> CheckResult:
    """The result of a check that looks at other queues, files or runs: there may be something to find."""
    from mqops.quality.evaluate import compared  # noqa: PLC0415 - loads Arrow
    from mqops.quality.frame_here import no_rows  # noqa: PLC0415
    from mqops.quality.history import History  # noqa: PLC0415

    if why := nothing_seen(suite, check, seen):
        return result_of(suite, check, met=False, skipped=why)
    table = no_rows(columns_of((suite,)), suite.asked)
    return compared(table, suite, check, seen.looked_at, History(run or RunFolder(Path("none")), now))[0]


def keep_no_message(run: RunFolder, summary: QualitySummary) -> QualitySummary:
    """Keep such an outcome, which the workflow of the run has found. Raises `LakeError`."""
    check = new_check(utc())
    kept = replace(summary, run=run.run, check=check, by_workflow=True)
    make_folder(run.quality_checks / check)
    write_json(run.quality_checks / check / RESULT, kept.to_json())
    keep(run, kept)
    return kept
