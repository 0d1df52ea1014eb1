"""The scan for expired messages with Spark: what it discards, and what it tells of the dead-letter queue."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
from mq_support import DLQ, let_expire
from pymqi import CMQC

from mqops.expiry.core.outcome import DeadLetterQueue, ExpirySummary
from mqops.expiry.spark.expiry import ScanTask, scan
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.observe.spark.observe import observe


def test_a_scan_knows_how_many_messages_came_to_the_dead_letter_queue(spark, queue_manager, tmp_path):
    """Reports of expiry whose reply-to queue is not there."""
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")
    report = {"Expiry": 1, "Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "NO.SUCH"}
    for name in ("A", "B"):
        manager.put(name, [(report, b"x")] * 2 + [({}, b"stays")])
    manager.put(DLQ, [({}, b"of before")])
    let_expire(1)
    run = RunFolder.at(tmp_path / "lake", "QM1", "scan")
    summary = scan(spark, manager.connection, run, ["A", "B"])
    assert (summary.found, summary.done, summary.left) == (6, 4, 2)
    assert summary.dead_letters
    assert replace(summary.dead_letters, since="") == DeadLetterQueue(name=DLQ, before=1, after=5)
    assert summary.dead_letters.since <= min(one.scanned_at for one in summary.queues)
    assert summary.came == 4
    assert Checked(ExpirySummary).read(run.path.joinpath("expiry.json")) == summary
    value = summary.to_json()
    del value["dead_letters"]  # as an earlier version wrote it
    assert Checked(ExpirySummary).of(value, run.path.joinpath("expiry.json")).dead_letters is None


def test_a_queue_that_has_ended_is_passed_over(spark, queue_manager, tmp_path):
    manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put("A", [({}, b"stays")])
    summary = scan(spark, manager.connection, RunFolder.at(tmp_path / "lake", "QM1", "scan"), ["A", "ENDED"])
    assert ([one.queue for one in summary.queues], summary.gone) == (["A"], ("ENDED",))
    found = list(ScanTask(connection=manager.connection)([_rows("A", "ENDED")]))  # it ended before a worker came to it
    assert [json.loads(batch.to_pylist()[0]["scan"]) is None for batch in found] == [False, True]
    run = RunFolder.at(tmp_path / "lake", "QM1", "snapshot")
    observed = observe(spark, manager.connection, run, ["A", "ENDED"], some_may_end=True)
    assert ([one.queue for one in observed.queues], observed.gone) == (["A"], ("ENDED",))


def _rows(*queues: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"queue": queue, "last_put": ""} for queue in queues])
