"""Runs with snapshots of messages made from MQ structures. The Spark session is the test run's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqops.lake.run import RunFolder
from mqops.observe import snapshot
from mqops.observe.core.decode import row_maker
from mqops.observe.spark.schema import SNAPSHOT

MakeRun = Callable[..., RunFolder]


@pytest.fixture
def make_run(spark: SparkSession, tmp_path: Path) -> MakeRun:
    """A function (messages as (MQMD, body), run="run-1", queue="DLQ") → the folder of a run with their snapshot."""

    def make(messages: Sequence[tuple[bytes, bytes]], run: str = "run-1", queue: str = "DLQ") -> RunFolder:
        folder = RunFolder.at(tmp_path / "lake", "QM1", run)
        snapshot.begin(folder)
        row = row_maker("QM1", queue, datetime(2026, 11, 21, 12, tzinfo=UTC))
        rows = [row(position, md, body) for position, (md, body) in enumerate(messages)]
        spark.createDataFrame(rows, SNAPSHOT).write.mode("overwrite").parquet(str(folder.snapshot))
        snapshot.finish(folder, "QM1", [queue], "2026-11-21T12:00:00Z")
        return folder

    return make
