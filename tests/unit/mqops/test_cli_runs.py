"""`mqops runs`: which runs there are, and how each ended."""

from __future__ import annotations

import json

import pytest
from mq_support import DLQ, dead_letter

TABLE = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def test_each_run_is_listed_with_its_end_the_newest_first(manager, mqops_here, tmp_path):
    assert mqops_here("runs").stdout == "0 runs\n"
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("B", b"y"), ({}, b"no header")])
    mqops_here("snapshot", DLQ, "-m", "QM1")
    mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=TABLE)
    moved = json.loads(mqops_here("dlq", "run", "--once", "--json", DLQ, "QM1", text=TABLE).stdout)["run"]
    mqops_here("undo", moved, "--yes")
    undo, run, planned, snapshot = json.loads(mqops_here("runs", "--json").stdout)["runs"]
    assert (undo["workflow"], undo["undoes"], undo["state"], undo["moved"]) == ("undo", moved, "done", 2)
    assert (run["run"], run["state"]) == (moved, "done")
    assert [run[name] for name in ("planned", "moved", "discarded", "left", "gone")] == [3, 1, 1, 1, 0]
    assert (planned["state"], planned["planned"], planned["queue"]) == ("planned", 3, DLQ)
    assert snapshot["state"] == "snapshot only"
    said = mqops_here("runs", "-m", "QM1", "--limit", "2").stdout.splitlines()
    assert said[2:] == [
        f"{moved}  QM1  dlq_rules",
        f"    {DLQ}: done: 3 planned, 1 moved, 1 discarded, 1 left, 0 gone",
        "and 2 older runs: --limit shows more",
    ]
    assert said[1].endswith(f"undo of {moved}, done: 2 planned, 2 moved, 0 discarded, 0 left, 0 gone")
    assert mqops_here("runs", "-m", "QM2").stdout == "0 runs\n"


def test_a_run_that_cannot_be_read_hides_no_other(manager, mqops_here, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    for _ in range(2):
        mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=TABLE)
    one, _other = sorted((tmp_path / "lake" / "QM1" / "runs").iterdir())
    (one / "plan.json").write_text("[")
    ends = sorted(run["state"] for run in json.loads(mqops_here("runs", "--json").stdout)["runs"])
    assert ends[0].startswith(f"cannot be read: {one}/plan.json is not JSON")
    assert ends[1] == "planned"


def test_a_message_without_a_header_is_left_and_the_summary_says_why(manager, mqops_here):
    manager.put(DLQ, [({}, b"no header")])
    said = mqops_here("dlq", "run", "--once", DLQ, "QM1", text=TABLE).stdout
    assert "no rule: ERROR (no valid MQDLH, no rule applies): 0 moved, 0 discarded, 1 left, 0 gone\n" in said
