"""Tasks of one Python worker: what was imported is gone through by one garbage collection, not by one a task."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa

from mqops.spark_worker import begin_task

TASKS = 12


def _task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    sys.modules.setdefault("left_by_tasks", []).extend([] for _ in range(1000))  # new objects that stay
    begin_task()
    for batch in batches:
        number = batch.column(0)[0].as_py()
        yield pa.RecordBatch.from_pylist([{"worker": os.getpid(), "task": number, "frozen": gc.get_freeze_count()}])


def test_from_its_second_task_on_a_worker_keeps_what_was_imported_out_of_collections(spark):
    rows = (
        spark.range(0, TASKS, 1, TASKS).mapInArrow(_task, "worker long, task long, frozen long").toArrow().to_pylist()
    )
    rows.sort(key=lambda row: (row["worker"], row["task"]))
    assert [row["task"] for row in sorted(rows, key=lambda row: row["task"])] == list(range(TASKS))
    several = [[row["frozen"] for row in of] for _pid, of in groupby(rows, key=lambda row: row["worker"])]
    assert any(len(frozen) > 2 for frozen in several)
    for frozen in several:
        assert all(number > 10_000 for number in frozen[1:])
        assert frozen[1:] == sorted(frozen[1:], reverse=True)  # once: what a later task leaves can be collected
