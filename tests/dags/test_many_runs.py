"""What a long history costs: the list of runs, the page Estate and the DAG processor look at none of the runs again.

MQOPS_RUNS says how many runs the lake has. Seconds and memory are printed (`pytest -s`), and hold nothing up.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from big_ledger import make_ledger
from pages_lake import make_lake

from mqops.clock import utc
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder, find_run
from mqops.ledger import parts
from mqops.look import accounted, runs_index
from mqops.look.accounted import LedgerNow, ledger_now, runs_that_acted
from mqops.look.estate.expiring import expiring_now
from mqops.look.estate.known import MOST_ACTED, MOST_OF_A_DAY
from mqops.look.estate.now import manager_now
from mqops.look.figures import Figures
from mqops.look.runs import Runs, list_runs
from mqops.look.runs_index import RECENT_NS, RunsIndex
from mqops.look.words.state import RunState
from mqops.quality.trend import quality_runs
from mqops.retention.core.due import Ages, Policy
from mqops.retention.prune import survey

ROOT = Path(__file__).resolve().parents[2]
FEW_AND_MANY = int(os.environ.get("MQOPS_RUNS", "2000"))
RUNS = int(os.environ.get("MQOPS_RUNS", "40"))
MANY_BYTES = 50_000
"""Less than 2,000 runs have, with 100 bytes each."""
_opened: list[str] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"open", "os.listdir", "os.scandir"} and isinstance(arguments[0], str | Path):
        _opened.append(str(arguments[0]))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sys.addaudithook(_note)
    run = make_lake(tmp_path_factory.mktemp("many"), runs=RUNS, recorded=20, messages=20)
    return run.lake_folder.parent


@contextmanager
def opened(lake: Path, what: str) -> Iterator[list[str]]:
    """The files and folders of runs that were opened meanwhile."""
    found: list[str] = []
    _opened.clear()
    began = time.perf_counter()
    yield found
    seconds = time.perf_counter() - began
    found += [one for one in _opened if one.startswith(f"{lake / 'QM1' / 'runs'}/")]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{what}, {RUNS:,} runs: {seconds:.2f} s, {len(found):,} files of runs opened, at most {most:,} MB so far")


def twice(lake: Path, what: str, look: Callable[[], object]) -> list[str]:
    """What the second look opens."""
    with opened(lake, f"{what}, the first time"):
        look()
    with opened(lake, what) as again:
        look()
    return again


def test_the_list_of_runs_opens_none_of_them_again(lake: Path) -> None:
    assert twice(lake, "the list of runs", lambda: list_runs(lake, queue_manager="QM1")) == []
    assert len(list_runs(lake, queue_manager="QM1")) == RUNS


def test_the_estate_opens_some_runs_at_most(lake: Path) -> None:
    def look() -> None:
        manager_now(Figures(), lake, "QM1", ledger=ledger_now(lake, "QM1"))

    assert len(twice(lake, "the page Estate", look)) <= MOST_ACTED + MOST_OF_A_DAY


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and folders whose state was asked for."""
    found: list[str] = []
    for name in ("stat", "lstat"):
        genuine = getattr(os, name)

        def noted(path: Any, *more: Any, genuine: Any = genuine, **options: Any) -> Any:
            found.append(str(path))
            return genuine(path, *more, **options)

        monkeypatch.setattr(os, name, noted)
    return found


def test_a_look_costs_the_same_however_many_runs_there_are(
    looked_at: list[str], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and folders that are opened, and those whose state is asked for."""
    monkeypatch.setattr(runs_index, "SETTLED_NS", 0)
    few, many = (costs(tmp_path_factory.mktemp("some"), runs, looked_at) for runs in (50, FEW_AND_MANY))
    print(few)
    assert few == many


def costs(base: Path, runs: int, looked_at: list[str]) -> list[tuple[str, int, int]]:
    """What each look costs in a lake of which the index has all runs, and after one of them was written to."""
    run = make_lake(base, runs=runs, recorded=20, messages=20)
    lake = run.lake_folder.parent
    long_ago = time.time_ns() - 2 * RECENT_NS
    for path in (*run.path.parent.iterdir(), run.path.parent):
        os.utime(path, ns=(long_ago, long_ago))
    assert len(list_runs(lake)) == runs
    ledger = ledger_now(lake, "QM1")
    looks: dict[str, Callable[[], object]] = {
        "ledger": lambda: verified_anew(lake),
        "newest": lambda: list_runs(lake, limit=30),
        "one state": lambda: list_runs(lake, states=[RunState.UNFINISHED]),
        "undos": lambda: list_runs(lake, workflow="undo"),
        "look back": lambda: Runs(lake, "QM1").proved_last(20),
        "one by its key": lambda: find_run(lake, key=run.run),
        "estate": lambda: manager_now(Figures(), lake, "QM1", ledger=ledger),
        "expiry": lambda: expiring_now(lake, "QM1"),
        "quality": lambda: quality_runs(lake, "QM1"),
        "prune": lambda: survey(lake, "QM1", Policy(ages=Ages(snapshots=timedelta(days=30))), now=utc()),
    }
    found = []
    for name, look in looks.items():
        run_anew(run)
        _opened.clear()
        looked_at.clear()
        look()
        found.append((name, len(_opened), len(looked_at)))
    return found


def verified_anew(lake: Path) -> LedgerNow:
    """As a process that has just begun does it, but for the closed segments, of which there are none."""
    accounted._last.clear()
    found = ledger_now(lake, "QM1")
    assert found.found.error == ""
    return found


def test_the_check_of_a_ledger_keeps_nothing_of_each_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Issue 37 D: the process of the pages kept 758 bytes for each proof, 76 MB for 100,000 runs."""
    kept = []
    for runs in (50, FEW_AND_MANY):
        lake = make_lake(tmp_path_factory.mktemp("some"), runs=runs, recorded=20, messages=20).lake_folder.parent
        assert len(list_runs(lake)) == runs
        verified_anew(lake)  # what is loaded with the first
        tracemalloc.start()
        try:
            found = verified_anew(lake)
            kept.append(tracemalloc.get_traced_memory())
        finally:
            tracemalloc.stop()
        assert found.found.lines
    print(f"bytes kept, and at most meanwhile, for 50 and {FEW_AND_MANY:,} runs: {kept}")
    (few, most_of_few), (many, most_of_many) = kept
    assert abs(many - few) < MANY_BYTES
    assert abs(most_of_many - most_of_few) < MANY_BYTES


def test_what_is_known_of_a_verified_ledger_does_not_grow_with_runs_that_are_done(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process of the pages kept each run that the ledger names, and asked for all of them again at each look."""
    sent: list[str] = []
    rows = RunsIndex.rows
    monkeypatch.setattr(
        RunsIndex, "rows", lambda self, what, values=(): sent.append(str(values)) or rows(self, what, values)
    )
    kept, asked = [], []
    for runs in (50, FEW_AND_MANY):
        run = make_lake(tmp_path_factory.mktemp("some"), runs=runs + 2, recorded=20, messages=20)
        lake = run.lake_folder.parent
        make_ledger(run.lake_folder, runs, unit=1, segment_size=1_000_000, named="copy-{:06}")
        ledger_now(lake, "QM1")  # what is loaded with the first
        make_ledger(run.lake_folder, runs + 1, unit=1, segment_size=1_000_000, named="copy-{:06}")
        parts._known.clear()
        accounted._last.clear()
        tracemalloc.start()
        try:
            found = verified_anew(lake)
            kept.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        assert found.found.lines > 2 * runs
        sent.clear()
        acted = runs_that_acted(Runs(lake, "QM1"), found.found.runs)
        assert (acted.proved, acted.absent) == (runs + 1, (f"copy-{runs:06}",))
        asked.append(max(map(len, sent)))
    print(f"bytes kept, and the longest question, with 50 and {FEW_AND_MANY:,} runs: {kept}, {asked}")
    assert abs(kept[1] - kept[0]) < MANY_BYTES
    assert abs(asked[1] - asked[0]) < 100


def run_anew(run: RunFolder) -> None:
    """A run writes its summary while nobody looks."""
    write_json(run.path.joinpath("observe.json"), read_json(run.path.joinpath("observe.json")))


def test_the_command_runs_lists_the_newest(lake: Path) -> None:
    began = time.perf_counter()
    command = [sys.executable, "-m", "mqops.cli", "runs", "--lake", str(lake)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"`mqops runs`, {RUNS:,} runs: {time.perf_counter() - began:.2f} s, at most {most:,} MB")
    assert done.stdout


def test_the_dag_processor_looks_at_no_run(
    lake: Path, all_workflows: Path, dag_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQOPS_LAKE", str(lake))
    files = sorted(path.stem for path in (ROOT / "dags").glob("*.py") if path.stem != "estate_errors")
    assert files
    with opened(lake, "every DAG file") as found:
        for name in files:
            dag_file(name)
    assert found == []
    assert not [one for one in _opened if one == str(lake / "QM1" / "runs")]
