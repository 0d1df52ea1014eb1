"""Which runs fit (`mqops.look.runs_fitting`): every combination of what `mqops runs` and the page Runs ask for, by the
steps of SQLite's machine, which no other work on the machine changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path

import pytest

from mqops.clock import utc_text
from mqops.lake.run import RunFolder
from mqops.look import runs_index
from mqops.look.core.run_state import RunLine
from mqops.look.runs_fitting import NEWEST, Fitting
from mqops.look.runs_index import Row, RunsIndex, asked
from mqops.look.words.state import RunState

FEW, MANY, SHOWN = 150, 3000, 5
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def line_of(run: str) -> RunLine:
    """Frequent values that follow one another, so that no two of the same condition stand together for long, and one
    run each with a rare queue, person, workflow and state; two runs begin at the same time."""
    number = int(run[1:])
    return RunLine(
        run=run,
        queue_manager="QM1",
        queue={4: "RARE", 9: "RARE,Q0"}.get(number, f"Q{number % 2}"),
        workflow="undo" if number == 3 else ("dlq_rules", "snapshot")[number // 2 % 2],
        state=RunState.REJECTED if number in {3, 9} else (RunState.DONE, RunState.PLANNED)[number % 2],
        at=utc_text(BEGAN + timedelta(minutes=20 * (number // 2))),
        requested_by="eve" if number in {4, 7} else ("alice", "bob")[number // 4 % 2],
        approved_by="carol" if number % 2 == 0 else "",
    )


def made(folder: Path, number: int) -> Path:
    """LAKE/QM1 with so many runs, all of them in the index."""
    for one in range(number):
        (folder / "runs" / f"r{one:06}").mkdir(parents=True)
    assert len(lines(folder, Fitting())) == SHOWN
    return folder


def read(run: RunFolder) -> Row:
    return Row(line=line_of(run.run))


def lines(folder: Path, wanted: Fitting) -> list[str]:
    """The first that fit. Reads as `mqops.look.runs.Runs` does."""
    return asked(folder, "QM1", read, lambda index: [one.run for one in islice(wanted.lines(index), SHOWN)])


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("few") / "QM1", FEW)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("many") / "QM1", MANY)


def every_combination() -> Iterator[Fitting]:
    places = NEWEST, (utc_text(BEGAN + timedelta(hours=20)), "r000121")
    combinations = product(
        ("", "Q0", "RARE", "NONE"),
        ("", "dlq_rules", "undo"),
        ("", "alice", "eve", "carol"),
        (None, {RunState.DONE}, {RunState.REJECTED}, {RunState.PLANNED, RunState.WAITING}),
        ("", utc_text(BEGAN + timedelta(hours=10))),
        places,
        (None, {"r000003", "r000009", "r000010", "of no run"}),
    )
    for queue, workflow, person, states, since, behind, only in combinations:
        yield Fitting(
            queue=queue, workflow=workflow, person=person, states=states, since=since, behind=behind, only=only
        )


def fits(line: RunLine, wanted: Fitting) -> bool:
    return (
        wanted.queue in {"", *line.queue.split(",")}
        and wanted.workflow in {"", line.workflow}
        and wanted.person in {"", line.requested_by, line.approved_by}
        and (wanted.states is None or line.state in wanted.states)
        and line.at >= wanted.since
        and (line.at, line.run) < wanted.behind
        and (wanted.only is None or line.run in wanted.only)
    )


def test_every_combination_of_conditions_finds_the_runs_that_fit(few: Path) -> None:
    runs = sorted((line_of(f"r{one:06}") for one in range(FEW)), key=lambda one: (one.at, one.run), reverse=True)

    def compared(index: RunsIndex) -> int:
        for wanted in every_combination():
            right = [one for one in runs if fits(one, wanted)]
            assert [one.run for one in wanted.lines(index)] == [one.run for one in right], wanted
            if wanted.only is None:
                assert [wanted.number(index, most) for most in (FEW, 3)] == [len(right), min(3, len(right))], wanted
        return len(list(every_combination()))

    assert asked(few, "QM1", read, compared) > 1000


def test_every_combination_takes_as_many_steps_with_many_runs_as_with_few(few: Path, many: Path) -> None:
    """A rare value beside a frequent one, and two frequent ones that no run has together, too."""

    def taken(folder: Path) -> list[tuple[Fitting, int, int]]:
        return asked(folder, "QM1", read, lambda index: [(one, *steps(index, one)) for one in every_combination()])

    for (wanted, list_of_few, number_of_few), (_, list_of_many, number_of_many) in zip(
        taken(few), taken(many), strict=True
    ):
        assert list_of_many <= list_of_few + 40, wanted  # an eleventh kind
        assert number_of_many <= number_of_few + 40, wanted


def steps(index: RunsIndex, wanted: Fitting) -> tuple[int, int]:
    """Tens of steps of SQLite's machine for the first lines, and for their number."""
    taken = [0]

    def step() -> int:
        taken[0] += 1
        return 0

    connection = index.rows("SELECT 1").connection
    connection.set_progress_handler(step, 10)
    assert len(list(islice(wanted.lines(index), SHOWN))) <= SHOWN
    for_lines, taken[0] = taken[0], 0
    if wanted.only is None:
        wanted.number(index, SHOWN)
    connection.set_progress_handler(None, 10)
    return for_lines, taken[0]


def test_who_makes_the_tables_at_the_same_moment_as_another_process_goes_on_with_those(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder, version_of = tmp_path / "QM1", runs_index._version
    (folder / "runs" / "r000001").mkdir(parents=True)
    looks = [""]

    def version(database: sqlite3.Connection) -> int:
        found = version_of(database)
        if len(looks) == 2:  # as the tables are about to be made
            looks.append("another")
            assert lines(folder, Fitting()) == ["r000001"]
            (folder / "runs" / "r000002").mkdir()
        looks.append("")
        return found

    monkeypatch.setattr(runs_index, "_version", version)
    assert lines(folder, Fitting()) == ["r000002", "r000001"]
    assert "another" in looks
    assert caplog.messages == []


def test_a_run_whose_state_another_process_changes_meanwhile_is_found_as_it_was(few: Path) -> None:
    """Between the step that finds what kinds of runs there are and those that find the runs of a kind."""
    refused = list[str]()

    def found(index: RunsIndex) -> tuple[list[str], int]:
        rows = index.rows

        def rows_after_a_change(statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
            if statement.startswith("SELECT found.at") or "COUNT" in statement:
                with (
                    closing(sqlite3.connect(few / "runs.sqlite", timeout=0, isolation_level=None)) as other,
                    pytest.raises(sqlite3.OperationalError, match="locked"),
                ):
                    other.execute("UPDATE found_by SET state = 'a state' WHERE workflow = 'undo'")
                refused.append(statement)
            return rows(statement, values)

        index.rows = rows_after_a_change  # type: ignore[method-assign]
        wanted = Fitting(workflow="undo")
        return [one.run for one in wanted.lines(index)], wanted.number(index, FEW)

    assert asked(few, "QM1", read, found) == (["r000003"], 1)
    assert len(refused) == 2


def test_a_run_that_changed_is_found_by_what_it_is_now_and_one_that_is_gone_by_nothing(tmp_path: Path) -> None:
    folder = made(tmp_path / "QM1", 12)
    changed = {"r000002": RunLine(run="r000002", queue_manager="QM1", queue="NEW", at="2026-02-01T00:00:00Z")}
    (folder / "runs" / "r000002" / "plan.json").touch()
    (folder / "runs" / "r000004").rmdir()

    def found(**wanted: str) -> list[str]:
        return asked(
            folder,
            "QM1",
            lambda run: Row(line=changed.get(run.run, line_of(run.run))),
            lambda index: [one.run for one in Fitting(**wanted).lines(index)],
        )

    assert found(queue="NEW") == ["r000002"]
    assert found(queue="RARE") == ["r000009"]
    assert found() == ["r000002", *(f"r{one:06}" for one in (11, 10, 9, 8, 7, 6, 5, 3, 1, 0))]
