"""Runs with snapshots of messages made from MQ structures, written without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from snapshot_support import snapshot_of_rows

from mqops.lake.run import RunFolder
from mqops.observe.core.decode import Browsed, snapshot_row

MakeRun = Callable[..., RunFolder]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A function (messages as (MQMD, body), run="run-1", queue="DLQ") → the folder of a run with their snapshot."""

    def make(messages: Sequence[tuple[bytes, bytes]], run: str = "run-1", queue: str = "DLQ") -> RunFolder:
        folder = RunFolder.at(tmp_path / "lake", "QM1", run)
        of = Browsed(queue_manager="QM1", queue=queue, observed_at=datetime(2026, 11, 21, 12, tzinfo=UTC))
        rows = [snapshot_row(of, position, md, body) for position, (md, body) in enumerate(messages)]
        return snapshot_of_rows(folder, rows, [queue], "2026-11-21T12:00:00Z")

    return make
