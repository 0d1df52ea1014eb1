"""How many messages a list leaves out though they may be on their queue: copies of one that a run has taken."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from snapshot_support import browsed, observed_row, snapshot_of_rows

from mqops.lake.run import RunFolder
from mqops.look import search_process
from mqops.look.search_process import Search, Wanted

sys.path.insert(0, str(Path(__file__).parents[2] / "spark"))
from dead_letters import dead

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(("queues", "copies"), [(["A"], 1), (["B"], 2), ([], 3)])
def test_copies_are_those_of_the_queues_that_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queues: list[str], copies: int
) -> None:
    """Of A two equal messages are left out and one other, of B three equal ones."""
    rows = [
        observed_row(browsed(queue, AT), *dead(number))
        for queue, number in zip("AAAABBB", (1, 1, 2, 3, 4, 4, 4), strict=True)
    ]
    run = snapshot_of_rows(RunFolder.at(tmp_path / "lake", "QM1", "run-1"), rows, ["A", "B"], AT.isoformat())
    there = pa.array([False, False, False, True, False, False, False])
    monkeypatch.setattr(search_process, "rows_still_there", lambda _run: there)
    search = Search(run=run.path, wanted=Wanted(), queues=tuple(queues), limit=10, there=True, count=True)
    answer = search_process.answer(search)
    assert (answer.fitting, answer.copies) == (int(queues != ["B"]), copies)
