"""The list of failed messages: worst first, page by page, also where every message fails."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality import failed_messages as module
from mqops.quality.failed_messages import failed_critical, failed_messages
from mqops.quality.failed_rows import FAILURES

ORDER = {"critical": 0, "warning": 1, "info": 2}
ROWS = 700


def _row(one: random.Random, position: int) -> dict[str, Any]:
    return {
        "queue_manager": "QM1",
        "queue": one.choice(["A", "B", "PAY.IN"]),
        "position": position // 2,
        "msg_key": f"k{position // 2}",
        "msg_id": f"{one.randrange(80):048x}",
        "suite": one.choice(["s", "s.t"]),
        "expectation": one.choice(["e", "t.e", "f"]),
        "severity": one.choice([*ORDER, "of a later version"]),
        "tolerated": one.random() < 0.2,
        "observed": f"found {position}",
    }


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[QualitySummary, list[dict[str, Any]]]:
    """A table of failures of three files, as this version writes them and as an earlier one did, and its rows."""
    folder, one = tmp_path_factory.mktemp("failures"), random.Random(20261126)
    rows = [_row(one, position) for position in range(ROWS)]
    for number, first in enumerate((0, 100, 400)):
        part = rows[first : (100, 400, ROWS)[number]]
        kinds = FAILURES if number else None  # by an earlier version each column may be null
        pq.write_table(pa.Table.from_pylist(part, kinds), folder / f"part-{number}.parquet")
    check = CheckResult(
        suite="s", expectation="e", expect="column_values_to_be_in_set", why="A set.", columns=("format",),
        severity="critical", met=False, checked=ROWS, failed=ROWS,
    )  # fmt: skip
    summary = QualitySummary(
        run="r", queue_manager="QM1", queue="A", found=ROWS, done=0, left=ROWS, checks=(check,),
        failed={"critical": 1, "warning": 0, "info": 0}, failures=str(folder), checked_at="2026-11-26T00:00:00+00:00",
    )  # fmt: skip
    return summary, rows


@pytest.mark.parametrize("most", [1, 7, ROWS])
def test_pages_of_failures_are_the_whole_list_worst_first(
    table: tuple[QualitySummary, list[dict[str, Any]]], most: int
) -> None:
    summary, rows = table
    count = [row for row in rows if not row["tolerated"]]
    count.sort(key=lambda row: (ORDER.get(row["severity"], 3), row["queue"], row["msg_id"], _check(row)))
    wanted = [(row["queue"], row["msg_id"], row["severity"], _check(row), row["observed"] + _why(row)) for row in count]
    found = []
    for after in range(0, len(wanted) + most, most):
        page, number = failed_messages(summary, most, after)
        assert number == len(wanted)
        found += page
    assert found == wanted


def _check(row: dict[str, Any]) -> str:
    return f"{row['suite']}.{row['expectation']}"


def _why(row: dict[str, Any]) -> str:
    return "; A set." if (row["suite"], row["expectation"]) == ("s", "e") else ""


def test_a_page_makes_objects_of_its_own_rows_only(
    table: tuple[QualitySummary, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    genuine = module._failed
    monkeypatch.setattr(module, "_failed", lambda row, check: made.append(row) or genuine(row, check))
    page, _number = failed_messages(table[0], 5, 200)
    assert len(page) == len(made) == 5


def test_each_message_that_fails_critical_checks_is_there_once(
    table: tuple[QualitySummary, list[dict[str, Any]]],
) -> None:
    summary, rows = table
    critical = [row for row in rows if row["severity"] == "critical" and not row["tolerated"]]
    wanted = dict.fromkeys((row["queue"], row["position"], row["msg_key"]) for row in critical)
    found = failed_critical(summary.failures, summary.checked_at)
    assert found is not None
    assert [tuple(row.values()) for row in found.to_pylist()] == [*wanted]


def test_no_failures_are_an_empty_list(tmp_path: Path) -> None:
    schema = {"queue_manager": "", "queue": "", "position": 0, "msg_key": "", "msg_id": "", "suite": "",
              "expectation": "", "severity": "", "tolerated": False, "observed": ""}  # fmt: skip
    pq.write_table(pa.Table.from_pylist([schema]).slice(0, 0), tmp_path / "part.parquet")
    summary = QualitySummary(
        run="r", queue_manager="QM1", queue="A", found=0, done=0, left=0, checks=(),
        failed={"critical": 0, "warning": 0, "info": 0}, failures=str(tmp_path), checked_at="",
    )  # fmt: skip
    assert failed_messages(summary, 100) == ([], 0)
    found = failed_critical(str(tmp_path), "")
    assert found is not None
    assert found.num_rows == 0
