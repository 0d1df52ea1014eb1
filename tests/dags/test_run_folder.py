"""Names of run folders."""

from __future__ import annotations

from pathlib import Path

from mqops_airflow.run_folder import run_key, unused


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
