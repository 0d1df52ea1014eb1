"""The ledger as `mqops estate status` and the page Estate verify it: what runs say of its end is asked of their index,
and a ledger that was cut back is missed as by `mqops ledger verify`."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from mq_support import DLQ, Manager, create, dead_letter

from mqops.cli import main
from mqops.ledger import segments
from mqops.ledger.file import LedgerFile
from mqops.ledger.segments import Segments
from mqops.look import accounted, runs_index
from mqops.look.accounted import ledger_now, runs_that_acted
from mqops.look.runs import Runs, list_runs
from mqops.look.runs_proofs import proofs_behind

TABLE = "DESTQ(A) ACTION(RETRY)\n"
ESTATE = "lake: {lake}\nqueue_managers:\n  QM1: {{connection: mq_qm1, dlq_rules: {{rules: t.rules}}}}\n"


@pytest.fixture(scope="module")
def five_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A queue manager and its lake, of five runs, whose lines are in closed segments and the open one. Each test has a
    copy of both."""
    folder = tmp_path_factory.mktemp("five_runs")
    manager = create(folder / "queue_managers", mqsc="DEFINE QLOCAL(A)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SEGMENT_SIZE", 3000)
        for _run in range(5):
            manager.put(DLQ, [dead_letter("A", b"x")] * 3)
            where = {"MQLITE_HOME": str(manager.home), "MQOPS_LAKE": str(folder / "lake")}
            done = CliRunner().invoke(main, ["dlq", "run", "--once", DLQ, "QM1"], input=TABLE, env=where)
            assert done.exit_code == 0, done.output
    file = LedgerFile(folder / "lake" / "QM1")
    assert len(file.segments.numbers()[1]) > 1
    assert file.path.stat().st_size
    return folder


@pytest.fixture
def manager(five_runs: Path, tmp_path: Path) -> Manager:
    shutil.copytree(five_runs / "queue_managers", tmp_path / "queue_managers")
    return Manager("QM1", tmp_path / "queue_managers")


@pytest.fixture
def lake(five_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody has looked at it yet."""
    monkeypatch.setattr(segments, "SEGMENT_SIZE", 3000)
    shutil.copytree(five_runs / "lake", tmp_path / "lake")
    (tmp_path / "t.rules").write_text(TABLE)
    (tmp_path / "estate.yaml").write_text(ESTATE.format(lake=tmp_path / "lake"))
    return tmp_path / "lake"


@pytest.fixture
def status(mqops_here: Any, lake: Path) -> Callable[[], str]:
    """What `mqops estate status` says of the ledger, "" where it verifies."""

    def said() -> str:
        text = " ".join(mqops_here("estate", "status", str(lake.parent / "estate.yaml"), expect=None).stdout.split())
        found = re.search("The ledger does not verify, so nothing may act: (.*?) Restore it from a copy", text)
        assert "QM1" in text
        return found[1] if found else ""

    return said


def ends(lake: Path) -> dict[int, set[str]]:
    """Line → the runs that name it, as the summaries of all runs say."""
    found: dict[int, set[str]] = {}
    for proof in LedgerFile(lake / "QM1").proofs():
        found.setdefault(proof.head.seq, set()).add(proof.run)
    return found


def cut_behind(text: str) -> tuple[int, int, str]:
    """The last line that there is, and line and run of the proof that is missed, as the status says."""
    found = re.search(r"The ledger ends with line (\d+), and the summary of run (\S+) names line (\d+)", text)
    assert found, text
    return int(found[1]), int(found[3]), found[2]


def without_list_and_indexes(lake: Path, *, of_runs: bool) -> None:
    names = ["ledger/proved.jsonl", "ledger/index.sqlite", "ledger/index.json", *(["runs.sqlite"] if of_runs else [])]
    for name in names:
        (lake / "QM1" / name).unlink(missing_ok=True)


@pytest.mark.parametrize("of_runs", [False, True], ids=["with the index of the runs", "without any index"])
def test_a_ledger_whose_last_lines_were_cut_off_is_missed(lake, status, of_runs: bool) -> None:
    assert status() == ""
    path = lake / "QM1" / "ledger" / "ledger.jsonl"
    without_list_and_indexes(lake, of_runs=of_runs)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    last = max(ends(lake))
    there, missed, run = cut_behind(status())
    assert (there, missed) == (last - 1, last)
    assert run in ends(lake)[last]


@pytest.mark.parametrize("of_runs", [False, True], ids=["with the index of the runs", "without any index"])
def test_a_ledger_that_was_cut_back_with_segments_checkpoints_and_index_is_missed(lake, status, of_runs: bool) -> None:
    assert status() == ""
    file = LedgerFile(lake / "QM1")
    first, second = file.segments.numbers()[1][:2]
    without_list_and_indexes(lake, of_runs=of_runs)
    file.path.unlink()
    for number in file.segments.numbers()[0]:
        if number != first:
            file.segments.path(number).unlink()
            file.segments.checkpoint_path(number).unlink()
    lost = min(seq for seq in ends(lake) if seq >= second)
    there, missed, run = cut_behind(status())
    assert (there, missed) == (second - 1, lost)
    assert run in ends(lake)[lost]


@pytest.mark.parametrize("looked", [True, False], ids=["looked at before", "never looked at"])
def test_a_ledger_that_was_removed_is_missed(lake, status, looked: bool) -> None:
    assert not looked or status() == ""
    shutil.rmtree(lake / "QM1" / "ledger")
    assert "there is no ledger" in status()


def test_the_last_line_written_anew_is_not_the_one_that_a_run_names(lake, status) -> None:
    summaries = [path for name in ("summary", "outcomes") for path in lake.glob(f"QM1/runs/*/{name}.json")]
    summary = max(summaries, key=lambda path: json.loads(path.read_text())["ledger_seq"])
    said = json.loads(summary.read_text())
    replaced = summary.with_name("new")
    replaced.write_text(json.dumps(said | {"ledger_head": "0" * 64}))
    replaced.rename(summary)
    without_list_and_indexes(lake, of_runs=False)
    assert f"is not the one that the summary of run {said['run']} names" in status()


@pytest.mark.parametrize(("name", "broken"), [("plan.json", False), ("observe.json", False), ("summary.json", True)])
def test_only_a_damaged_summary_says_that_the_ledger_does_not_verify(lake, status, name: str, broken: bool) -> None:
    """What else is damaged in a run's folder says nothing of the ledger, and what its summary says is missed still."""
    run = min(ends(lake)[max(ends(lake))])
    damaged = lake / "QM1" / "runs" / run / name
    replaced = damaged.with_name("new")
    replaced.write_text("{}x")
    replaced.rename(damaged)
    said = status()
    assert (f"{run}/{name} is not JSON" in said) if broken else said == ""
    if not broken:
        for other in ends(lake)[max(ends(lake))] - {run}:
            shutil.rmtree(lake / "QM1" / "runs" / other)
        path = lake / "QM1" / "ledger" / "ledger.jsonl"
        without_list_and_indexes(lake, of_runs=True)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        assert cut_behind(status())[2] == run


def test_a_proof_that_was_damaged_and_is_written_anew_in_its_place_is_read_again(lake, status, monkeypatch) -> None:
    monkeypatch.setattr(accounted, "AGAIN", 0)
    run = min(ends(lake)[max(ends(lake))])
    proof = lake / "QM1" / "runs" / run / "outcomes.json"
    whole = proof.read_bytes()
    proof.write_bytes(b"{}x")
    os.utime(proof.parent, (1_700_000_000, 1_700_000_000))
    for _look in range(2):
        assert f"{run}/outcomes.json is not JSON" in status()
    proof.write_bytes(whole)
    assert status() == ""


class WrongRow(NamedTuple):
    """A run of long ago; the index, whose row of its proof has another hash; and `whole`, the rows of before."""

    run: str
    index: sqlite3.Connection
    whole: list[Any]

    def rows(self, columns: str = "*") -> list[Any]:
        return self.index.execute(f"SELECT DISTINCT {columns} FROM proof WHERE run = ?", (self.run,)).fetchall()


@pytest.fixture
def wrong(lake, status, monkeypatch) -> Iterator[WrongRow]:
    monkeypatch.setattr(accounted, "AGAIN", 0)
    run = min(ends(lake)[max(ends(lake))])
    os.utime(lake / "QM1" / "runs" / run, (1_700_000_000, 1_700_000_000))
    assert status() == ""
    with closing(sqlite3.connect(lake / "QM1" / runs_index.INDEX)) as index:
        whole = WrongRow(run, index, []).rows()
        index.execute("UPDATE proof SET hash = ? WHERE run = ?", ("0" * 64, run))
        index.commit()
        yield WrongRow(run, index, whole)


def test_a_row_of_the_index_that_is_not_what_its_run_says_is_made_anew(wrong, status) -> None:
    """It was told as a ledger that does not verify until somebody removed the index."""
    assert status() == ""
    assert status() == ""
    assert wrong.rows() == wrong.whole


def test_a_wrong_row_of_a_lake_that_may_only_be_read_is_not_told_once_it_was_noticed(
    wrong, lake, status, monkeypatch
) -> None:
    """The row stays wrong on disk. What the run says is told: of the ledger at once, and of itself behind that."""
    wrong.index.execute("UPDATE run SET line = json_set(line, '$.moved', 77) WHERE run = ?", (wrong.run,))
    wrong.index.commit()
    real = os.access  # root may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    for _look in range(2):
        assert status() == ""
        assert [line.moved for line in list_runs(lake) if line.run == wrong.run] == [3]
    assert wrong.rows("hash") == [("0" * 64,)]


def test_a_run_that_was_removed_says_nothing(lake, status) -> None:
    path = lake / "QM1" / "ledger" / "ledger.jsonl"
    without_list_and_indexes(lake, of_runs=False)
    for run in ends(lake)[max(ends(lake))]:
        shutil.rmtree(lake / "QM1" / "runs" / run)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert status() == ""


def absent(lake: Path) -> set[str]:
    """The runs that the page Estate says the ledger names and the lake does not have."""
    ledger = ledger_now(lake, "QM1")
    assert ledger.found.error == ""
    return set(runs_that_acted(Runs(lake, "QM1"), ledger.found.runs).absent)


@pytest.mark.parametrize("place", [0, -1], ids=["in a closed segment", "in the open segment"])
def test_a_run_that_leaves_the_lake_and_comes_back_is_told_by_a_process_that_looks_again(lake, place: int) -> None:
    """Which of the ledger's runs the lake lacks is not asked of all of them again."""
    assert absent(lake) == set()
    lines = b"".join(LedgerFile(lake / "QM1").lines(0)).splitlines()
    run = [json.loads(line)["run"] for line in lines][place]
    there, away = lake / "QM1" / "runs" / run, lake / "away"
    for _time in range(2):
        there.rename(away)
        assert absent(lake) == {run}
        assert absent(lake) == {run}
        away.rename(there)
        assert absent(lake) == set()
    there.joinpath("issued.json").rename(away)
    assert absent(lake) == {run}
    away.rename(there / "issued.json")
    (lake / "QM1" / "runs.sqlite").unlink()
    there.rename(away)
    assert absent(lake) == {run}


@pytest.mark.parametrize("place", [0, -1], ids=["in a closed segment", "in the open segment"])
def test_a_run_that_a_restored_copy_of_the_runs_lacks_is_told_by_a_process_that_looks_again(lake, place: int) -> None:
    """Their index is restored with them: it has never seen this run, so it has not seen it go."""
    lines = b"".join(LedgerFile(lake / "QM1").lines(0)).splitlines()
    run = [json.loads(line)["run"] for line in lines][place]
    there, away, index = lake / "QM1" / "runs" / run, lake / "away", lake / "QM1" / "runs.sqlite"
    there.rename(away)
    assert not Runs(lake, "QM1").one(run)
    shutil.copy2(index, lake / "copy")
    away.rename(there)
    assert absent(lake) == set()
    there.rename(away)
    shutil.copy2(lake / "copy", index)
    assert absent(lake) == {run}
    away.rename(there)
    assert absent(lake) == set()


def test_who_may_only_read_the_lake_checks_closed_segments_once_and_is_told_of_each_run_that_goes(
    lake, monkeypatch
) -> None:
    """There is no index, or it is not brought up to date: a copy of it in memory is made for each question."""
    index = lake / "QM1" / "runs.sqlite"
    run = json.loads(next(LedgerFile(lake / "QM1").lines(0)))["run"]
    there, away = lake / "QM1" / "runs" / run, lake / "away"
    index.unlink(missing_ok=True)
    there.rename(away)
    assert not Runs(lake, "QM1").one(run)
    shutil.copy2(index, lake / "copy")
    away.rename(there)
    index.unlink()
    monkeypatch.setattr(runs_index.os, "access", lambda _path, mode: mode != os.W_OK)
    assert absent(lake) == set()
    read: list[int] = []
    lines = Segments.lines
    monkeypatch.setattr(Segments, "lines", lambda self, number: read.append(number) or lines(self, number))
    accounted._last.clear()
    assert absent(lake) == set()
    assert read == []
    shutil.copy2(lake / "copy", index)
    assert absent(lake) == set()
    for _time in range(2):
        there.rename(away)
        assert absent(lake) == {run}
        away.rename(there)
        assert absent(lake) == set()


def test_what_is_asked_of_runs_is_bounded_by_the_lines_behind_the_last_checkpoint(lake) -> None:
    """And by one answer a line, however many runs name it, as those do that moved nothing."""
    assert ledger_now(lake, "QM1").found.error == ""
    last = LedgerFile(lake / "QM1").segments.last_checkpoint()
    assert last is not None
    seq, (run, *_others) = max(ends(lake).items())
    for number in range(20):
        shutil.copytree(lake / "QM1" / "runs" / run, lake / "QM1" / "runs" / f"copy-{number:02}")
    asked = Runs(lake, "QM1").ask
    behind = asked(lambda index: proofs_behind(index, last.head.seq))
    assert [one.head.seq for one in behind] == sorted(one for one in ends(lake) if one > last.head.seq)
    assert {one.head.seq for one in asked(lambda index: proofs_behind(index, 0))} == set(ends(lake))
    assert asked(lambda index: proofs_behind(index, seq)) == []
