"""The scan for expired messages with Spark: each candidate queue is browsed by one task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mqops.expiry.core.outcome import ExpirySummary, QueueScan
from mqops.expiry.queue_manager import dead_letters_now, dead_letters_since, scan_queue
from mqops.expiry.scan import write_summary
from mqops.lake.run import RunFolder
from mqops.mq.browse import OPEN_OPTIONS
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import last_puts, queue_manager_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@dataclass(frozen=True, kw_only=True)
class ScanTask:
    """What runs in a Spark task: the queues of its partition, one after the other, on one connection."""

    connection: MqConnection

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        queues = [row for batch in batches for row in batch.to_pylist()]
        if not queues:
            return
        with connect(self.connection) as session:
            for row in queues:
                found = scan_queue(session, row["queue"], now=lambda: datetime.now(UTC), last_put=row["last_put"])
                yield pa.RecordBatch.from_pydict({"scan": [json.dumps(asdict(found))]})


def scan(spark: SparkSession, connection: MqConnection, run: RunFolder, queues: Sequence[str]) -> ExpirySummary:
    """Scan queues; writes RUN/expiry.json and what the lake knows of the queues.

    Raises:
        MQError: the queue manager or a queue cannot be reached; what was discarded had expired anyway.
        LakeError: the outcome cannot be kept.
    """
    run.create()
    with connect(connection) as session:
        name = queue_manager_name(session)
        for queue in queues:  # an error here is one line, an executor's is a page
            session.close(session.open(queue, OPEN_OPTIONS))
        puts, before = last_puts(session), dead_letters_now(session)
    rows = [(queue, puts.get(queue, "")) for queue in queues]
    frame = spark.createDataFrame(rows, "queue string, last_put string").repartition(len(rows), "queue")
    reports = frame.mapInArrow(ScanTask(connection=connection), "scan string").collect()
    with connect(connection) as session:
        dead = dead_letters_since(session, before)
    return write_summary(run, name, [QueueScan(**json.loads(report["scan"])) for report in reports], dead)
