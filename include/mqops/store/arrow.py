"""The snapshot and the plan in Arrow's terms, and Parquet without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mqops.errors import LakeError
from mqops.snapshot.columns import SNAPSHOT_COLUMNS
from mqops.snapshot.decode import SnapshotRow
from mqops.store.files import lake_errors

_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
SNAPSHOT = pa.schema([pa.field(name, _TYPES[kind], nullable=nullable) for name, kind, nullable in SNAPSHOT_COLUMNS])
PLAN = pa.schema(
    [
        pa.field(name, kind, nullable=name in {"dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "rule_line", "rule_key"})
        for name, kind in (
            ("row", pa.int64()),
            *((name, pa.string()) for name in ("queue", "msg_key")),
            *((name, pa.binary()) for name in ("msg_id", "correl_id")),
            *((name, pa.string()) for name in ("put_date", "put_time")),
            ("body_sha256", pa.binary()),
            ("body_length", pa.int64()),
            ("dlh_reason", pa.int32()),
            *((name, pa.string()) for name in ("dlh_dest_q", "dlh_dest_q_mgr", "put_appl_name")),
            ("rule_line", pa.int32()),
            *((name, pa.string()) for name in ("rule_key", "action", "dest_q", "dest_q_mgr")),
            ("header", pa.bool_()),
            *((name, pa.string()) for name in ("putaut", "alternate_user")),
            ("tries", pa.int32()),
            ("unit_group", pa.string()),
            ("order_key", pa.string()),
            ("together", pa.int64()),
        )
    ]
)

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


def write_parquet(folder: Path, schema: pa.Schema, content: Iterable[pa.RecordBatch]) -> int:
    """Write one Parquet file into a folder; returns the number of rows. The caller makes it durable.

    Raises:
        LakeError: the disk refused.
    """
    written = 0
    with lake_errors(folder), pq.ParquetWriter(folder / "part-00000.parquet", schema, compression="zstd") as writer:
        for batch in content:
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def read_parquet(folder: Path, columns: Sequence[str], *, rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    """Columns of a folder of Parquet files, in batches of at most `rows` rows, in the order of the files' names.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    with lake_errors(folder):
        parts = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
        for part in parts:
            try:
                with pq.ParquetFile(part) as file:
                    _check_columns(part, columns, file.schema_arrow.names)
                    for batch in file.iter_batches(rows, columns=list(columns)):
                        yield batch.select(list(columns))
            except pa.ArrowInvalid as error:
                raise LakeError(
                    f"{part} is not a whole Parquet file ({error}); restore it, no message was lost"
                ) from error


def _check_columns(part: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    missing = sorted(set(wanted) - set(there))
    if missing:
        raise LakeError(f"{part} was written by an earlier version, without the columns {', '.join(missing)}")
