"""Rows of a snapshot made from the bytes of messages, without a queue manager."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from ledger_opened import finish

from mqops.lake.files import make_folder
from mqops.lake.parquet import write_parquet
from mqops.lake.run import RunFolder
from mqops.mq.session import RawMessage
from mqops.observe import snapshot
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.batches import record_batches
from mqops.observe.by_columns import record_batch
from mqops.observe.core.decode import Browsed, snapshot_row


def browsed(queue: str, observed_at: datetime) -> Browsed:
    """A queue of QM1."""
    return Browsed(queue_manager="QM1", queue=queue, observed_at=observed_at)


def observed_row(of: Browsed, md: bytes, body: bytes, position: int = 0) -> dict[str, Any]:
    """The row of a message, which must be the same decoded alone and by columns."""
    row = snapshot_row(of, position, md, body)
    decoded = record_batch(of, position, [md], [body])
    assert decoded.equals(pa.RecordBatch.from_pylist([row], schema=SNAPSHOT)), (row, decoded.to_pylist())
    return row


def written_snapshot(run: RunFolder, of: Browsed, messages: Iterable[tuple[bytes, bytes]]) -> RunFolder:
    """The run with a snapshot of these messages (MQMD, body), as observing in one process writes it."""
    snapshot.begin(run)
    make_folder(run.snapshot)
    write_parquet(run.snapshot, SNAPSHOT, record_batches(of, (RawMessage(*message) for message in messages)))
    finish(run, of.queue_manager, [of.queue], of.observed_at.isoformat())
    return run


def snapshot_of_rows(
    run: RunFolder, rows: Sequence[dict[str, Any]], queues: Sequence[str], observed_at: str
) -> RunFolder:
    """The run with a snapshot of these rows in two Parquet files, which Spark reads as two partitions."""
    snapshot.begin(run)
    make_folder(run.snapshot)
    half = (len(rows) + 1) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        table = pa.Table.from_pylist(part, schema=SNAPSHOT)
        pq.write_table(table, run.snapshot / f"part-{number}-{run.run}.parquet")
    finish(run, "QM1", queues, observed_at)
    return run
