"""The summary: what fails a run, what is only told, and the way through JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqops.lake.run_file import Checked
from mqops.message_checks import CheckResult, QualitySummary, QueueQuality
from mqops.model import ObserveSummary, QueueObserved
from mqops.quality.outcome import disagreements
from mqops.quality.summary import QualityFailed, verdict


def result(severity: str, *, met: bool = False, failed: int | None = 2) -> CheckResult:
    return CheckResult(
        suite="s",
        expectation=f"x_{severity}",
        expect="column_values_to_be_null",
        columns=("format",),
        severity=severity,
        met=met,
        checked=5,
        failed=failed,
        why="because",
    )


def summary(*checks: CheckResult, balanced: bool = True, problems: tuple[str, ...] = ()) -> QualitySummary:
    failed = {name: sum(c.severity == name and not c.met for c in checks) for name in ("critical", "warning", "info")}
    queues = (QueueQuality(queue="A", found=5, done=3, left=2),)
    return QualitySummary(
        run="r", queue_manager="QM1", queue="A", found=5, done=3, left=2, checks=checks, failed=failed, queues=queues,
        balanced=balanced, problems=problems,
    )  # fmt: skip


def test_warnings_do_not_fail_a_run() -> None:
    written = summary(result("warning"), result("info"))
    assert written.ok
    assert len(written.not_met("warning")) == 1
    verdict(written)


def test_a_critical_one_fails_it_and_is_named() -> None:
    with pytest.raises(QualityFailed) as caught:
        verdict(summary(result("critical"), result("warning")))
    assert str(caught.value).splitlines() == [
        "Quality of QM1: not met",
        "critical: s.x_critical: 2 of 5 messages (because)",
    ]


def test_what_does_not_add_up_fails_it() -> None:
    with pytest.raises(QualityFailed, match="A: observed: 5 messages, in the snapshot: 4"):
        verdict(summary(balanced=False, problems=("A: observed: 5 messages, in the snapshot: 4",)))


def test_json_and_back() -> None:
    written = summary(result("critical"), result("info", met=True, failed=None))
    assert Checked(QualitySummary).of(json.loads(json.dumps(written.to_json())), Path("quality.json")) == written


def test_disagreements_are_found() -> None:
    results = [result("critical", failed=2), result("warning", failed=0)]
    table = {("s", "x_critical"): 1, ("s", "x_warning"): 0}
    observed = ObserveSummary(
        run="run",
        queue_manager="QM1",
        observed_at="2026-01-02T03:04:05Z",
        messages=5,
        bytes=5,
        queues=(QueueObserved(queue="A", messages=5, bytes=5),),
    )
    assert disagreements(results, table, {"A": 4}, observed) == [
        "s.x_critical: 2 messages failed, 1 are in the table of failures",
        "A: observed: 5 messages, in the snapshot: 4",
    ]
    assert disagreements(results, {("s", "x_critical"): 2}, {"A": 5}, observed) == []
