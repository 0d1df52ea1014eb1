"""Snapshots whose bodies are encrypted, on Spark (`mqops.lake.sealing`): its Python workers decrypt them. These get the
data key inside the pickled function, as they get the queue manager's password; neither is in Spark's UI.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from mqops.lake.parquet import is_sealed
from mqops.lake.sealing import (
    BODY_COLUMNS,
    MASKED,
    NEEDED,
    SEALED,
    Broken,
    Sealing,
    broken,
    run_of,
    sealing_of,
    some_at_a_time,
)
from mqops.observe.spark.schema import SNAPSHOT
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FILE = "_file"
"""The column with the file of a message, for errors."""
_OTHERS = [field for field in SNAPSHOT if field.name not in BODY_COLUMNS]
ENCRYPTED = StructType(
    [
        StructField(SEALED, BinaryType(), False) if field.name == "body" else field
        for field in SNAPSHOT
        if field.name == "body" or field.name not in BODY_COLUMNS
    ]
    + [StructField(MASKED, StringType())]
)
"""The schema of an encrypted file."""


def schema_of(columns: Collection[str]) -> StructType:
    """The schema of a snapshot whose files have these columns."""
    return ENCRYPTED if SEALED in columns else SNAPSHOT


def read_snapshot(spark: SparkSession, folder: Path, asked: Collection[str]) -> DataFrame:
    """The columns of a snapshot. If its bodies are encrypted, only those of `BODY_COLUMNS` are there that are asked
    for; without them nothing is decrypted, and no key is needed.

    Parameters: `asked` names of columns; the others are there whether or not they are named.

    Raises:
        BodiesLocked, SettingsError, LakeError: as `sealing_of`.
    """
    if not is_sealed(folder):
        return spark.read.schema(SNAPSHOT).parquet(str(folder))
    stored = spark.read.schema(ENCRYPTED).parquet(str(folder))
    wanted = [name for name in BODY_COLUMNS if name in asked]
    names = [field.name for field in _OTHERS]
    if not wanted:
        return stored.select(*names)
    rows = stored.select(*names, SEALED, F.col("_metadata.file_path").alias(_FILE))
    schema = StructType([*_OTHERS, *(SNAPSHOT[name] for name in wanted)])
    return rows.mapInArrow(_opener(sealing_of(run_of(folder)), names, wanted), schema)


def _opener(
    sealing: Sealing, names: list[str], wanted: list[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run: batches with encrypted bodies in, batches with bodies out."""

    def opened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        begin_task()
        for batch in (some for one in batches for some in some_at_a_time(one)):
            try:
                made = sealing.opened(batch.select(NEEDED), wanted)
            except Broken as error:
                row = [*zip(batch.column("queue").to_pylist(), batch.column("position").to_pylist(), strict=True)]
                place = row.index((error.queue, error.position))
                raise broken(unquote(urlsplit(batch.column(_FILE)[place].as_py()).path), error) from None
            arrays = [*(batch.column(name) for name in names), *(made[name] for name in wanted)]
            yield pa.RecordBatch.from_arrays(arrays, names=[*names, *wanted])

    return opened
