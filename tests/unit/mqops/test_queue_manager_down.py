"""Every command against a queue manager that is not there: one clear error, exit 1, nothing in the lake acted on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import commands
import pytest

RULES = "ACTION(RETRY)\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["dlq", "run", "DLQ", "GONE"],
        ["dlq", "run", "DLQ", "GONE", "--dry-run"],
        ["backout", "run", "-m", "GONE"],
        ["expiry", "scan", "-m", "GONE"],
        ["snapshot", "-m", "GONE", "ORDERS"],
    ],
    ids=" ".join,
)
def test_a_queue_manager_that_is_down_is_told_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "MQLITE_HOME": str(tmp_path / "home"), "MQOPS_LAKE": str(tmp_path / "lake")}
    command = [sys.executable, "-m", "mqops.cli", *arguments]
    done = commands.run(command, env=environment, input=RULES, text=True, capture_output=True)
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "GONE" in last
    assert "MQRC_Q_MGR_NAME_ERROR" in last
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("lake/**/act.json"))
