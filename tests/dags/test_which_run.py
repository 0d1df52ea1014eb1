"""First tasks look for runs that are at work one after the other: two that begin at the same moment see one another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mq_support import until

from mqops.errors import LakeError
from mqops_airflow.approval import which_run
from mqops_airflow.approval.which_run import one_at_a_time


def test_one_first_task_of_a_queue_manager_looks_at_a_time(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with one_at_a_time(tmp_path, "QM1"):
            order.append("second")

    with ThreadPoolExecutor() as threads:
        with one_at_a_time(tmp_path, "QM1"), one_at_a_time(tmp_path, "QM2"):  # of another queue manager: not held up
            other = threads.submit(second)
            until(other.running)
            order.append("first")
        other.result()
    assert order == ["first", "second"]


def test_a_first_task_that_waits_too_long_says_for_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(which_run, "LOCK_WAIT", 0.1)
    with one_at_a_time(tmp_path, "QM1"), pytest.raises(LakeError, match="has held"), one_at_a_time(tmp_path, "QM1"):
        pass
