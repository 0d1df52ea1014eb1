"""The checks of a queue manager: one that fails is one more problem, and hides no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqops.errors import LakeError
from mqops.look.estate.checks import NOTES, PROBLEMS, Check
from mqops.look.estate.known import Known
from mqops.look.estate.now import manager_now
from mqops.look.estate.problem import Problem
from mqops.look.figures import Figures

SILENT = Figures(unreachable="it is down")
DOWN = "The queue manager does not answer: it is down"


def half(known: Known) -> Iterator[Problem]:
    yield Problem(what=f"{known.name} is odd", remedy="Look")
    raise LakeError("no disk")


def bug(_known: Known) -> Iterator[Problem]:
    yield Problem(what=str(1 // 0))


def fine(_known: Known) -> Iterator[Problem]:
    yield Problem(what="this is told", remedy="Do so")


def test_a_check_that_fails_is_named_and_hides_no_other(tmp_path: Path) -> None:
    checks = (Check(half, "The disk cannot be read"), Check(bug, "The sum cannot be told"), Check(fine, "x"))
    (tmp_path / "QM1").mkdir()
    found = manager_now(SILENT, tmp_path, "QM1", more_checks=checks)
    assert [one.text for one in found.problems] == [
        DOWN,
        "this is told. Do so",
        "The disk cannot be read: no disk",
        "The sum cannot be told: ZeroDivisionError('integer division or modulo by zero')",
    ]


def test_a_lake_that_cannot_be_read_hides_nothing_that_the_queue_manager_says(tmp_path: Path) -> None:
    (tmp_path / "QM1").write_text("no folder")
    found = manager_now(SILENT, tmp_path, "QM1", more_checks=(Check(fine, "x"),))
    lake, down = (one.text for one in found.problems)
    assert lake.startswith(f"The lake cannot be read, so nothing may act: {tmp_path / 'QM1'} is not a folder")
    assert (down, found.acted.known) == (DOWN, False)


def test_each_check_says_something_else_where_it_fails() -> None:
    said = [check.failed for check in (*PROBLEMS, *NOTES)]
    assert len({*said}) == len(said) == len({check.look for check in (*PROBLEMS, *NOTES)})
