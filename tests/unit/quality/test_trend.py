"""The runs of the page Quality: newest result of each check, every check of a snapshot, runs of earlier versions."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mqops.lake.files import make_folder, write_json
from mqops.lake.run import RunFolder
from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.history import History
from mqops.quality.learned import of_good_runs
from mqops.quality.results import EARLIER, docs_of, keep, new_check, results, verdict_of
from mqops.quality.trend import checks_of, quality_run, quality_runs, run_that_counts, trends, with_all_suites

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def result(suite: str, failed: int | None, expectation: str = "e") -> CheckResult:
    return CheckResult(
        suite=suite,
        expectation=expectation,
        expect="x",
        columns=(),
        severity="critical",
        met=failed == 0,
        failed=failed,
    )


def summary(run: str, minute: int, *checks: CheckResult, by_workflow: bool = False) -> QualitySummary:
    failed = {"critical": sum(not one.met for one in checks), "warning": 0, "info": 0}
    return QualitySummary(
        run=run,
        queue_manager="QM1",
        queue="A",
        failed=failed,
        suites=tuple(dict.fromkeys(one.suite for one in checks)),
        checks=checks,
        checked_at=NOON.replace(minute=minute).isoformat(),
        check=new_check(NOON.replace(minute=minute)),
        by_workflow=by_workflow,
    )


def kept(lake: Path, *found: QualitySummary, dag_id: str = "") -> RunFolder:
    """The run, with these results, written one after the other."""
    run = RunFolder.at(lake, "QM1", found[0].run)
    make_folder(run.path)
    if dag_id:
        write_json(run.path.joinpath("handed_on.json"), {"dag_id": dag_id, "run_id": "r", "found": {}})
    for one in found:
        make_folder(run.quality_checks / one.check)
        write_json(run.quality_checks / one.check / "quality.json", one.to_json())
        keep(run, one)
    return run


def test_a_trend_shows_the_newest_result_of_each_check() -> None:
    older, newer = summary("one", 1, result("s", 7)), summary("two", 2, result("s", 0))
    (found,) = trends([newer, older])
    assert (found.last.met, found.failed, found.most) == (True, (7, 0), 7)
    (found,) = trends([replace(older, run="three"), newer])
    assert (found.last.met, found.failed) == (False, (0, 7))


def test_a_check_that_a_run_lacks_or_that_looked_at_nothing_has_no_number_there() -> None:
    one = summary("one", 1, result("s", 3), result("gone", 2))
    two = summary("two", 2, result("s", None))
    three = summary("three", 3, result("s", 1), result("new", 0))
    found = {one.last.suite: one for one in trends([three, two, one])}
    assert {name: (one.failed, one.last.met) for name, one in found.items()} == {
        "s": ((3, None, 1), False),
        "gone": ((2, None, None), False),
        "new": ((None, None, 0), True),
    }
    assert [one.last.met for one in trends([three, two, one])] == [False, False, True]
    assert found["new"].most == 0
    assert trends([two])[0].most is None


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        # (suite, messages that fail) of each check, in order; which one is the verdict
        ([[("a", 1)], [("b", 0)]], 0),  # another suite that passes hides nothing
        ([[("a", 1)], [("a", 0)]], 1),  # the same suite does: its newest result counts
        ([[("a", 1)], [("b", 2)]], 1),
        ([[("a", 0)], [("b", 0)]], 1),
        ([[("a", 1), ("b", 0)], [("a", 0)]], 1),
        ([[("a", 0), ("b", 1)], [("a", 0)]], 0),
        ([[("a", 1)], [("b", 0)], [("a", 0)], [("c", 0)]], 3),
    ],
)
def test_the_verdict_of_a_run_without_a_workflow(
    tmp_path: Path, found: list[list[tuple[str, int]]], verdict: int
) -> None:
    every = [summary("run", at, *(result(*one) for one in checks)) for at, checks in enumerate(found)]
    run = kept(tmp_path, *every)
    assert verdict_of(run) == every[verdict]
    assert results(run) == every[::-1]
    assert quality_runs(tmp_path, "QM1") == [every[verdict]]


def test_the_verdict_of_the_workflow_stands_whatever_a_person_checks(tmp_path: Path) -> None:
    by_hand = summary("run", 1, result("s", 0))
    first = summary("run", 2, result("s", 5), by_workflow=True)
    again = summary("run", 3, result("s", 6), by_workflow=True)
    other = summary("run", 4, result("other", 9))
    run = kept(tmp_path, by_hand, dag_id="qm1_snapshot_quality")
    assert verdict_of(run) is None
    assert quality_runs(tmp_path, "QM1") == []
    kept(tmp_path, first, dag_id="qm1_snapshot_quality")
    kept(tmp_path, summary("run", 2, result("s", 0)), dag_id="qm1_snapshot_quality")
    assert verdict_of(run) == first
    kept(tmp_path, again, other, dag_id="qm1_snapshot_quality")
    assert verdict_of(run) == again
    assert quality_run(tmp_path, "QM1", "run") == again
    assert quality_run(tmp_path, "QM1", "run", first.check) == first
    assert quality_run(tmp_path, "QM1", "run", "../../x") is None
    assert len(results(run)) == 5
    known = trends(with_all_suites(tmp_path, quality_runs(tmp_path, "QM1")))
    assert [(one.last.suite, one.failed) for one in known] == [("other", (9,)), ("s", (6,))]


@pytest.mark.parametrize("dag_id", ["", "qm1_snapshot_quality"])
def test_a_run_of_an_earlier_version_is_read_and_its_result_is_kept(tmp_path: Path, dag_id: str) -> None:
    """It has RUN/quality/quality.json alone, without the fields that came later."""
    run = RunFolder.at(tmp_path, "QM1", "old")
    (run.path / "quality" / "docs").mkdir(parents=True)
    old = summary("old", 1, result("s", 2)).to_json() | {"docs": "/gone/index.html", "failures": "/gone/failures"}
    for name in ("told", "check", "by_workflow", "not_checked"):
        del old[name]
    run.quality_json.write_text(json.dumps(old))
    if dag_id:
        write_json(run.path.joinpath("handed_on.json"), {"dag_id": dag_id, "run_id": "r", "found": {}})
    before = verdict_of(run)
    assert before is not None
    assert (before.failed["critical"], before.check) == (1, "")
    assert checks_of(tmp_path, before) == [before]
    new = summary("old", 2, result("s", 0))
    kept(tmp_path, new)
    earlier = replace(before, check=EARLIER, by_workflow=bool(dag_id))
    assert results(run) == [new, earlier]
    assert verdict_of(run) == (earlier if dag_id else new)
    if dag_id:
        assert docs_of(run) == run.path / "quality" / "docs"


def test_the_list_of_runs_sees_a_new_result(tmp_path: Path) -> None:
    run = kept(tmp_path, summary("run", 1, result("s", 0)))
    os.utime(run.path, (0, 0))
    kept(tmp_path, summary("run", 2, result("t", 0)))
    assert run.path.stat().st_mtime > 0


def test_a_run_of_another_suite_and_a_check_by_hand_hide_no_red(tmp_path: Path) -> None:
    """What the page Estate tells."""
    bad = summary("bad", 1, result("a", 3), by_workflow=True)
    other = summary("other", 2, result("b", 0), by_workflow=True)
    by_hand = summary("hand", 3, result("a", 0))
    good = summary("good", 4, result("a", 0), by_workflow=True)
    for one in (bad, other, by_hand, good):
        kept(tmp_path, one)
    assert run_that_counts(tmp_path, [by_hand, other, bad]) == bad
    assert run_that_counts(tmp_path, [good, by_hand, other, bad]) == good
    assert run_that_counts(tmp_path, [by_hand]) == by_hand
    assert run_that_counts(tmp_path, []) is None
    earlier = replace(bad, run="earlier", by_workflow=False)
    kept(tmp_path, earlier, dag_id="qm1_snapshot_quality")
    assert run_that_counts(tmp_path, [by_hand, earlier]) == earlier


def test_a_suite_has_its_history_though_many_others_are_checked_in_runs_of_their_own(tmp_path: Path) -> None:
    for number in range(4):
        for suite in ("own", *(f"other_{each}" for each in range(11))):
            last = kept(tmp_path, summary(f"{suite}-{number}", 10 * number + (suite != "own"), result(suite, 0)))
    found = of_good_runs(History(last, NOON.isoformat()).runs, result("own", 0), but="")
    assert len(found) == 4
