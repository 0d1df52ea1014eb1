"""The plan in Arrow's terms, and its files read row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from mqops.lake.parquet import read_parquet
from mqops.observe.arrow import schema_of
from mqops.plan_row import PLAN_COLUMNS, PlanRow, R, rows_of

PLAN = schema_of(PLAN_COLUMNS)


def batch_of(rows: Iterable[PlanRow]) -> pa.RecordBatch:
    """A record batch of rows."""
    columns = list(zip(*rows, strict=True)) or [()] * len(PLAN)
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, PLAN, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PLAN)


def read_plan(folder: Path, kind: type[R]) -> Iterator[R]:
    """The rows of a plan's files, in order. Only the columns that are fields of `kind` are read.

    Parameters: `folder` RUN/plan; `kind` `PlanRow`, or a NamedTuple with some of its fields, `action` among them.

    Raises:
        PlanChanged: a row has an action that this version does not know.
        LakeError: a file cannot be read.
    """
    for batch in read_parquet(folder, kind._fields):
        yield from rows_of(kind, [column.to_pylist() for column in batch.columns])
