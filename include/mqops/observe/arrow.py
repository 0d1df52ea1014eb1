"""The snapshot in Arrow's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa

from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.observe.core.decode import SnapshotRow

_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
SNAPSHOT = pa.schema([pa.field(name, _TYPES[kind], nullable=nullable) for name, kind, nullable in SNAPSHOT_COLUMNS])
BATCH_ROWS = 2000
BATCH_BYTES = 16 << 20
"""A batch ends with whichever comes first: so many rows, or so many bytes of bodies."""
_LENGTH = [name for name, _kind, _null in SNAPSHOT_COLUMNS].index("body_length")


def batches(rows: Iterable[SnapshotRow]) -> Iterator[pa.RecordBatch]:
    """Rows of a snapshot as record batches of bounded size, lazily."""
    source = iter(rows)
    while chunk := list(islice(_until_full(source), BATCH_ROWS)):
        columns = [
            pa.array(column, type=field.type) for column, field in zip(zip(*chunk, strict=True), SNAPSHOT, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=SNAPSHOT)


def _until_full(source: Iterator[SnapshotRow]) -> Iterator[SnapshotRow]:
    size = 0
    for row in source:
        yield row
        size += row[_LENGTH]
        if size >= BATCH_BYTES:
            return
