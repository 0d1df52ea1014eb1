"""The run over made-up messages that warms a Spark Connect server up."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqops.lake.run import RunFolder
from mqops.observe.recorded import OBSERVED
from mqops_demo.spark_made_up_run import MESSAGES, QUEUE, QUEUE_MANAGER, MadeUp, made_up_run


def test_made_up_messages_go_the_way_of_a_run_and_no_queue_manager_is_asked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message is a dead letter that the rules plan: it is read, written and decided as a real one."""
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("MQOPS_CONNECTION", raising=False)
    spark.dataSource.register(MadeUp)
    plan = made_up_run(spark, tmp_path / "lake", "first")
    assert (plan.observed, plan.rows, plan.actions) == (MESSAGES, MESSAGES, {"RETRY": MESSAGES})
    (queue,) = OBSERVED.read(RunFolder.at(tmp_path / "lake", QUEUE_MANAGER, "first")).queues
    assert (queue.queue, queue.with_dlh) == (QUEUE, MESSAGES)
    assert made_up_run(spark, tmp_path / "lake", "second").digest
    assert not (tmp_path / "none").exists()
