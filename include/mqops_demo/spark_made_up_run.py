"""`python -m mqops_demo.spark_made_up_run`: what warms a Spark Connect server up, as a client of it.

The first snapshot and plan of a server take ten times as long as later ones: Java loads and compiles what it runs, and
Python workers start. So the server's own messages go the way of a run here, by the functions of the jobs, a few times.

1. The messages are made up in the Python worker that would browse them. No queue manager is asked.
2. The lake is a temporary folder of this process, and ends with it. The lake of the estate is not known here.
3. The caller says by SPARK_REMOTE which server, and which session's Python workers, are meant.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from mqops.clock import utc_now
from mqops.decide.core import PlanSummary
from mqops.decide.spark.decide import Request, decide
from mqops.lake.run import RunFolder
from mqops.ledger.file import LedgerFile
from mqops.observe import snapshot
from mqops.observe.spark.datasource import MqDataSource, MqReader
from mqops.observe.spark.observe import write_snapshot
from mqops.observe.spark.schema import SNAPSHOT
from mqops.spark_job import run, session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

QUEUE_MANAGER, QUEUE = "MADE.UP", "MADE.UP.DLQ"
MESSAGES = 100
RUNS = 3
"""Each of the first takes less than the one before; from the fourth on what is gained is less than what it costs."""
RULES = "REASON(MQRC_Q_FULL) ACTION(RETRY)\nACTION(FWD) FWDQ(OTHERS) HEADER(YES)\n"


class MadeUpReader(MqReader):
    """Gives dead letters that are on no queue."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages as record batches."""
        from mqops.mq.session import RawMessage  # noqa: PLC0415 - for the worker alone, as in `MqReader`
        from mqops.observe.batches import record_batches  # noqa: PLC0415
        from mqops.observe.core.decode import Browsed  # noqa: PLC0415
        from mqops.spark_worker import begin_task  # noqa: PLC0415
        from mqwire import constants as c  # noqa: PLC0415
        from mqwire.structures import MQDLH, MQMD  # noqa: PLC0415

        begin_task()
        told: dict[str, Any] = {"format": c.MQFMT_STRING, "encoding": c.MQENC_NATIVE, "coded_char_set_id": 1208}
        header = MQDLH(reason=c.MQRC_Q_FULL, dest_q_name="A", dest_q_mgr_name=QUEUE_MANAGER, **told).pack()
        dead = {**told, "format": c.MQFMT_DEAD_LETTER_HEADER, "put_date": "20260102", "put_time": "03040506"}
        yield from record_batches(
            Browsed(queue_manager=QUEUE_MANAGER, queue=QUEUE, observed_at=datetime.now(UTC)),
            (RawMessage(MQMD(msg_id=n.to_bytes(24), **dead).pack(), header + b"made up") for n in range(MESSAGES)),
        )


class MadeUp(MqDataSource):
    """The data source of these messages."""

    registered = "mq_made_up"
    columns = SNAPSHOT

    def reader(self, schema: StructType) -> MqReader:
        """The reader, which knows no connection."""
        return MadeUpReader("", "", {"queues": QUEUE}, None, None)


def made_up_run(spark: SparkSession, lake: Path, key: str) -> PlanSummary:
    """Snapshot and plan of a run in this lake."""
    folder, began = RunFolder.at(lake, QUEUE_MANAGER, key), utc_now()
    snapshot.begin(folder)
    write_snapshot(spark, folder, MadeUp.registered, {}, expected=MESSAGES)
    snapshot.finish(folder, QUEUE_MANAGER, [QUEUE], began, ledger=LedgerFile(folder.lake_folder))
    return decide(spark, Request(folder=folder, table_text=RULES))


def main(_arguments: Sequence[str]) -> None:
    spark = session("mqops warm up")
    spark.dataSource.register(MadeUp)
    with tempfile.TemporaryDirectory() as lake:
        for number in range(RUNS):
            made_up_run(spark, Path(lake), f"made_up_{number}")


if __name__ == "__main__":
    sys.exit(run(main))
