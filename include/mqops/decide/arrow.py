"""The plan in Arrow's terms: its files read row by row, and the digests of rows (`mqops.decide.core.canonical`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from mqops.actions import Action
from mqops.errors import PlanChanged
from mqops.lake.parquet import read_parquet
from mqops.observe.arrow import schema_of
from mqops.plan_row import COLUMNS, PLAN_COLUMNS, PlanRow

R = TypeVar("R", bound=NamedTuple)
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
        yield from rows_in(batch, kind)


def rows_in(batch: pa.RecordBatch, kind: type[R]) -> Iterable[R]:
    """The rows of a batch whose columns are the fields of `kind`. Raises `PlanChanged` as `read_plan`."""
    columns = [column.to_pylist() for column in batch.columns]
    place = kind._fields.index("action")
    known = {word: _known(word) for word in set(columns[place])}
    columns[place] = [known[word] for word in columns[place]]
    return map(kind._make, zip(*columns, strict=True))


def _known(word: str) -> Action:
    try:
        return Action(word)
    except ValueError:
        raise PlanChanged(
            f"The plan has a row with action {word!r}, which this version of mqops does not know; make a new run"
        ) from None


def row_digests(batch: pa.RecordBatch) -> list[str]:
    """Rule 2 of `mqops.decide.core.canonical`, for each row. Parameters: `batch` of all columns.

    Raises:
        PlanChanged: a column has another type than in a plan, by which other values could have the same form.
    """
    for field in PLAN:
        if (found := batch.schema.field(field.name).type) != field.type:
            raise PlanChanged(
                f"The column {field.name} of the plan has type {found} in place of {field.type}: its files were "
                "changed; make a new run for a new plan"
            )
    return [sha256(form).hexdigest() for form in pc.cast(canonical_rows(batch), pa.binary()).to_pylist()]


def canonical_rows(batch: pa.RecordBatch) -> pa.StringArray:
    """Rule 1, for each row."""
    parts = [pc.fill_null(_texts(batch.column(name)), "-") for name in COLUMNS]
    return pc.binary_join_element_wise(*parts, "", ",")


def _texts(column: pa.Array) -> pa.StringArray:
    if pa.types.is_string(column.type):
        return pc.binary_join_element_wise(pc.cast(pc.binary_length(column), pa.string()), column, ":")
    if pa.types.is_binary(column.type):
        values = column.to_pylist()
        return pa.array([None if value is None else value.hex().upper() for value in values], type=pa.string())
    return pc.cast(column, pa.string())
