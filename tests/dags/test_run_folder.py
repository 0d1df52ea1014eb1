"""Names of run folders."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from mqops.errors import LakeError, SettingsError
from mqops_airflow.run_folder import HANDED_ON, hand_on, handed_on, own_folder, run_key, unused


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
        folder.observe_json.write_text("{}")
        made.append(folder.run)
    assert made == ["k", "k.2", "k.3"]


def test_a_try_that_left_nothing_is_repeated_in_its_folder(tmp_path: Path) -> None:
    assert [unused(tmp_path, "QM1", "k").create().run for _ in range(2)] == ["k", "k"]


def test_a_folder_is_never_used_again_once_there_is_a_later_one(tmp_path: Path) -> None:
    for _ in range(2):
        unused(tmp_path, "QM1", "k").create().observe_json.write_text("{}")
    shutil.rmtree(tmp_path / "QM1" / "runs" / "k")
    assert unused(tmp_path, "QM1", "k").run == "k.3"


def test_tasks_find_what_the_first_task_of_their_run_handed_on_last(estate_folder: Path) -> None:
    run = SimpleNamespace(dag_id="d", run_id="r")
    with pytest.raises(SettingsError, match="the lake has no files of run r of d: clear the first task"):
        handed_on(run, "QM1")
    for number in (1, 2):
        with own_folder({"dag_run": run}, estate_folder / "lake", "QM1") as folder:
            hand_on({"dag_run": run}, folder, {"number": number})
    with own_folder({"dag_run": run}, estate_folder / "lake", "QM1") as folder:
        folder.snapshot.mkdir()  # begun, and handed on nothing
    last = estate_folder / "lake" / "QM1" / "runs" / f"{run_key('d', 'r')}.2"
    assert handed_on(run, "QM1") == {"number": 2, "folder": str(last)}
    (last / HANDED_ON).write_text('{"dag_id": "d", "run_id": "s", "found": {}}')
    with pytest.raises(LakeError, match="belongs to run s of d"):
        handed_on(run, "QM1")


def test_a_first_task_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    context = {"dag_run": SimpleNamespace(dag_id="d", run_id="r")}

    def fails() -> None:
        with own_folder(context, tmp_path, "QM1") as folder:
            folder.snapshot.mkdir()
            raise LakeError("the disk is full")

    with pytest.raises(LakeError):
        fails()
    assert list((tmp_path / "QM1" / "runs").iterdir()) == []
