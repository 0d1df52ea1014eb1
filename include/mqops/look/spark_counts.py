"""How many messages of each chunk of a snapshot fit, counted by Spark: many processes look at a large snapshot.

Only these numbers leave Spark's workers. The messages themselves are read by who asked, of the chunks that have some,
as those of a small snapshot are (`mqops.look.find`). So both ways find the same.
What was passed over counts as fitting here, so that who asked reads that chunk and tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from mqops.lake.parquet import Chunk
from mqops.look.core.criteria import Criteria
from mqops.look.find import Counts, looked_at
from mqops.look.search import Search
from mqops.spark_job import spark_errors

_SCHEMA = pa.schema([("id", pa.int64()), ("rows", pa.int64()), ("fitting", pa.int64())])


def spark_counts(
    spark: Any, snapshot: Path, wanted: Criteria, queues: Sequence[str], chunks: Sequence[Chunk]
) -> list[Counts]:
    """The counts of chunks, in their order. A chunk is a task.

    Parameters: `spark` a SparkSession whose workers see the lake where this process sees it; `queues` none for all.

    Raises:
        LakeError: a file cannot be read.
        SparkUnreachable: the Spark Connect server has ended.
    """
    count = partial(_count, snapshot=snapshot.resolve(), wanted=wanted, queues=tuple(queues), chunks=tuple(chunks))
    with spark_errors(snapshot):
        ids = spark.range(0, len(chunks), 1, len(chunks))
        found = ids.mapInArrow(count, "id long, rows long, fitting long").collect()
    return [Counts(rows=row.rows, fitting=row.fitting) for row in sorted(found, key=lambda row: int(row.id))]


def _count(
    batches: Iterable[pa.RecordBatch],
    *,
    snapshot: Path,
    wanted: Criteria,
    queues: tuple[str, ...],
    chunks: tuple[Chunk, ...],
) -> Iterator[pa.RecordBatch]:
    search = Search(wanted)
    columns = sorted({*search.columns, "queue"})
    for number in (number for batch in batches for number in batch.column("id").to_pylist()):
        rows = fitting = 0
        for one in looked_at(snapshot, columns, queues, [chunks[number]]):
            rows += one.batch.num_rows
            fitting += len(search.fitting(one.batch, one.others)) + len(search.passed_over)
        yield pa.RecordBatch.from_pylist([{"id": number, "rows": rows, "fitting": fitting}], schema=_SCHEMA)
