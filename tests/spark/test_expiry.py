"""The scan for expired messages with Spark: what it discards, and what it tells of the dead-letter queue."""

from __future__ import annotations

from dataclasses import replace

from mq_support import DLQ, let_expire
from pymqi import CMQC

from mqops.expiry.core.outcome import DeadLetterQueue, ExpirySummary
from mqops.expiry.spark.expiry import scan
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder


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
    assert ExpirySummary.from_json(read_json(run.expiry_json)) == summary
    value = summary.to_json()
    del value["dead_letters"]  # as an earlier version wrote it
    assert ExpirySummary.from_json(value).dead_letters is None
