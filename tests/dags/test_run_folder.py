"""Names of run folders."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqops.errors import LakeError, SettingsError
from mqops.lake.run import RunFolder
from mqops_airflow.approval.which_run import waited_for
from mqops_airflow.runs.run_folder import ACTING, HANDED_ON, MOST_TRIES, hand_on, handed_on, own_folder, run_key, unused
from mqops_airflow.ui.markdown import plain

RUNS = int(os.environ.get("MQOPS_RUNS", "30"))


def test_key_tells_the_run_and_is_a_file_name() -> None:
    key = run_key("qm1_dlq_rules", "manual__2026-11-21T10:11:51.306517+00:00")
    assert key.startswith("qm1_dlq_rules.manual__2026-11-21T10-11-51.306517-00-00-")
    assert len(run_key("d" * 200, "r" * 200)) < 100


def test_different_runs_never_share_a_key() -> None:
    assert run_key("d", "a/b") != run_key("d", "a:b")
    assert run_key("d" * 100, "a") != run_key("d" * 100, "b")


def test_a_run_that_was_cleared_gets_a_new_folder(tmp_path: Path) -> None:
    made = []
    for _ in range(3):
        folder = unused(tmp_path, "QM1", "k").create()
        folder.path.joinpath("observe.json").write_text("{}")
        made.append(folder.run)
    assert made == ["k", "k.2", "k.3"]


def test_a_try_that_left_nothing_is_repeated_in_its_folder(tmp_path: Path) -> None:
    assert [unused(tmp_path, "QM1", "k").create().run for _ in range(2)] == ["k", "k"]


def test_a_folder_is_never_used_again_once_there_is_a_later_one(tmp_path: Path) -> None:
    for _ in range(2):
        unused(tmp_path, "QM1", "k").create().path.joinpath("observe.json").write_text("{}")
    shutil.rmtree(tmp_path / "QM1" / "runs" / "k")
    assert unused(tmp_path, "QM1", "k").run == "k.3"


def test_tasks_find_what_the_first_task_of_their_run_handed_on_last(estate_folder: Path) -> None:
    run = SimpleNamespace(dag_id="d", run_id="r", triggering_user_name="alice")
    for number in (1, 2):
        with own_folder({"dag_run": run}, estate_folder / "lake", "QM1") as folder:
            hand_on({"dag_run": run}, folder, {"number": number})
    with own_folder({"dag_run": run}, estate_folder / "lake", "QM1") as folder:
        folder.snapshot.mkdir()  # begun, and handed on nothing
    last = estate_folder / "lake" / "QM1" / "runs" / f"{run_key('d', 'r')}.2"
    assert handed_on(run, "QM1") == {"number": 2, "requested_by": "alice", "folder": str(last)}
    (last / HANDED_ON.name).write_text('{"dag_id": "d", "run_id": "s", "found": {}}')
    with pytest.raises(LakeError, match="belongs to run s of d"):
        handed_on(run, "QM1")


def test_a_task_that_does_not_see_what_the_first_one_made_says_that_the_lake_is_not_shared(
    estate_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first task ran in another pod, with a lake of that pod's own."""
    run = SimpleNamespace(dag_id="d", run_id="r", triggering_user_name="alice")
    with own_folder({"dag_run": run}, estate_folder / "lake", "QM1") as folder:
        hand_on({"dag_run": run}, folder, {})
    assert handed_on(run, "QM1")
    monkeypatch.setenv("MQOPS_LAKE", str(estate_folder / "other"))
    missing = estate_folder / "other" / "QM1" / "runs" / folder.run
    said = re.escape(f" does not see {missing}, which the first task of run r of d made: the lake is not shared. Mount")
    with pytest.raises(SettingsError, match=f"{said}.* same folder .*To repeat the task does not help"):
        handed_on(run, "QM1")
    missing.mkdir(parents=True)  # begun here, and handed on nothing
    with pytest.raises(SettingsError, match="the lake has no files of run r of d: clear the first task"):
        handed_on(run, "QM1")


def test_a_first_task_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    context = {"dag_run": SimpleNamespace(dag_id="d", run_id="r", triggering_user_name="alice")}

    def fails() -> None:
        with own_folder(context, tmp_path, "QM1") as folder:
            folder.snapshot.mkdir()
            raise LakeError("the disk is full")

    with pytest.raises(LakeError):
        fails()
    assert list((tmp_path / "QM1" / "runs").iterdir()) == []


@pytest.fixture(scope="module")
def looked_at() -> list[str]:
    """The files that were opened and the folders that were listed, while it is asked."""
    seen: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"open", "os.listdir", "os.scandir"} and isinstance(arguments[0], str):
            seen.append(arguments[0])

    sys.addaudithook(note)
    return seen


def acting_run(lake: Path, run_id: str, *, queue: str = "A") -> RunFolder:
    run = SimpleNamespace(dag_id="d", run_id=run_id, triggering_user_name="alice")
    with own_folder({"dag_run": run}, lake, "QM1") as folder:
        hand_on({"dag_run": run}, folder, {"acts": True, "queue": queue})
    return folder


def about(run_id: str, *, unfinished: set[str]) -> Any:
    def count(*, dag_id: str, run_ids: list[str], states: list[str]) -> int:
        return len(unfinished & set(run_ids))

    run = SimpleNamespace(dag_id="d", run_id=run_id, run_type="manual")
    return {"dag_run": run, "params": {"dry_run": False}, "ti": SimpleNamespace(get_dr_count=count)}


def test_a_run_waits_for_one_that_acts_and_looks_at_none_that_has_ended(
    estate_folder: Path, looked_at: list[str]
) -> None:
    """However many runs the lake has: no file of theirs is opened, nor are they listed. `make full` has 20,000."""
    lake = estate_folder / "lake"
    ended = [acting_run(lake, f"ended{number}") for number in range(RUNS)]
    for one in ended:
        one.path.joinpath("summary.json").write_text("{}")
    waits, other = acting_run(lake, "waits"), acting_run(lake, "other", queue="B")
    (waits.lake_folder / ACTING / "removed").write_text("{}")
    now = about("now", unfinished={"waits", "other"})
    waited_for(now, lake, "QM1", ["A"])  # forgets the ended ones
    looked_at.clear()
    said = plain(waited_for(now, lake, "QM1", ["A", "C"]))
    assert said.startswith("Run waits of d, which alice started, is at work on A.")
    assert not waited_for(now, lake, "QM1", ["C"])
    assert handed_on(SimpleNamespace(dag_id="d", run_id="waits"), "QM1")["queue"] == "A"
    names = {Path(one).name for one in looked_at}
    assert not names & {"runs", *(one.run for one in ended)}
    assert {path.name for path in (waits.lake_folder / ACTING).iterdir()} == {waits.run, other.run}
    assert not waited_for(about("now", unfinished={"other"}), lake, "QM1", ["A"])
    assert not waited_for(about("waits", unfinished={"waits"}), lake, "QM1", ["A"])  # its own next try


def test_a_run_of_the_version_before_is_waited_for(estate_folder: Path) -> None:
    lake = estate_folder / "lake"
    acting_run(lake, "ended").path.joinpath("summary.json").write_text("{}")
    before = acting_run(lake, "before")
    shutil.rmtree(before.lake_folder / ACTING)
    assert "Run before of d" in plain(waited_for(about("now", unfinished={"before"}), lake, "QM1", ["A"]))
    assert {path.name for path in before.lake_folder.iterdir() if "acting" in path.name} == {ACTING}


def test_a_run_that_was_cleared_very_often_is_refused(tmp_path: Path) -> None:
    unused(tmp_path, "QM1", f"k.{MOST_TRIES}").create().path.joinpath("observe.json").write_text("{}")
    with pytest.raises(SettingsError, match="run k was cleared 99 times: start a new run instead"):
        unused(tmp_path, "QM1", "k")
