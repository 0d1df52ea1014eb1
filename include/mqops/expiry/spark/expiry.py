"""The scan for expired messages with Spark: each candidate queue is browsed by one task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mqops.errors import MQError
from mqops.expiry.core.outcome import ExpirySummary, QueueScan
from mqops.expiry.queue_manager import dead_letters_now, dead_letters_since
from mqops.expiry.scan import scan_if_there, write_summary
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import last_puts, queue_manager_name
from mqops.mq.session import Session, is_gone
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_SCAN = Checked(QueueScan)


@dataclass(frozen=True, kw_only=True)
class ScanTask:
    """What runs in a Spark task: the queues of its partition, one after the other, on one connection."""

    connection: MqConnection

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        begin_task()
        queues = [row for batch in batches for row in batch.to_pylist()]
        if not queues:
            return
        with connect(self.connection) as session:
            for row in queues:
                found = scan_if_there(session, row["queue"], row["last_put"])
                yield pa.RecordBatch.from_pydict({"scan": [json.dumps(asdict(found) if found else None)]})


def scan(spark: SparkSession, connection: MqConnection, run: RunFolder, queues: Sequence[str]) -> ExpirySummary:
    """Scan queues; writes RUN/expiry.json and what the lake knows of the queues.

    Raises:
        MQError: the queue manager or a queue cannot be reached; what was discarded had expired anyway.
        LakeError: the outcome cannot be kept.
    """
    run.create()
    with connect(connection) as session:
        name = queue_manager_name(session)
        there = [queue for queue in queues if _can_be_browsed(session, queue)]
        puts, before = last_puts(session), dead_letters_now(session)
    rows = [(queue, puts.get(queue, "")) for queue in there]
    scans = [_SCAN.of(found, run.path) for found in _scanned(spark, connection, rows) if found]
    with connect(connection) as session:
        dead = dead_letters_since(session, before)
    return write_summary(run, name, scans, dead, gone=set(queues) - {one.queue for one in scans})


def _can_be_browsed(session: Session, queue: str) -> bool:
    """False if the queue has ended. Raises `MQError` for another error: here it is one line, an executor's is a
    page."""
    try:
        session.close(session.open(queue, OPEN_OPTIONS))
    except MQError as error:
        if is_gone(error):
            return False
        raise
    return True


def _scanned(spark: SparkSession, connection: MqConnection, rows: Sequence[tuple[str, str]]) -> list[Any]:
    """What each `QueueScan` is made of, as JSON; None for a queue that ended."""
    if not rows:
        return []
    frame = spark.createDataFrame(rows, "queue string, last_put string").repartition(len(rows), "queue")
    reports = frame.mapInArrow(ScanTask(connection=connection), "scan string").collect()
    return [json.loads(report["scan"]) for report in reports]
