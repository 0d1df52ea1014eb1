"""The columns that suites speak about as one Arrow table in this process: what `frame` computes by Spark.

Bodies are read batch by batch, only if a suite asks for a column that needs them; the table has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.errors import SettingsError
from mqops.lake.parquet import parts_of
from mqops.lake.part_file import opened
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.put_time import put_second
from mqops.quality.answers import BODY_INPUT, answered, answers
from mqops.quality.columns import COLUMNS, IDENTITY, PLACE, Source, of_source
from mqops.quality.payload import Asked

ROWS = 10_000
"""Most rows of a batch, whose bodies are in memory at a time."""


def frame_here(folder: Path, wanted: Iterable[str], asked: Sequence[Asked] = ()) -> pa.Table:
    """The wanted columns (names of `COLUMNS`), those of `IDENTITY` and those that suites ask, one row a message.

    Raises:
        SettingsError: the Parquet files there are something else.
        LakeError: they cannot be read, or decrypted.
    """
    columns, table_of = _plan(wanted, asked)
    return table_of(batches_of(folder, columns))


def no_rows(wanted: Iterable[str], asked: Sequence[Asked] = ()) -> pa.Table:
    """The same of a snapshot without a message."""
    columns, table_of = _plan(wanted, asked)
    return table_of(iter([_nothing(columns)]))


def _plan(
    wanted: Iterable[str], asked: Sequence[Asked]
) -> tuple[list[str], Callable[[Iterator[pa.RecordBatch]], pa.Table]]:
    """The columns of a snapshot that are read, and what makes the table of batches of them."""
    names = {*wanted, *IDENTITY, *(one.path for one in asked if one.language == "column")}
    body = of_source(names, Source.BODY)
    carried = [name for name in COLUMNS if name in names and COLUMNS[name].source is not Source.BODY]
    needed = {*(one for name in carried for one in _INPUT.get(name, (name,))), *(BODY_INPUT if body or asked else ())}
    made = [*carried, *(one.name for one in answered(body, asked))]

    def table_of(batches: Iterator[pa.RecordBatch]) -> pa.Table:
        found = []
        for batch in batches:
            native = pa.RecordBatch.from_arrays([_native(batch, name) for name in carried], names=carried)
            with_bodies = _beside(native, batch) if body or asked else native
            arrays = [*native.columns, *answers(with_bodies, body, asked, _PREFIX)]
            found.append(pa.RecordBatch.from_arrays(arrays, names=made))
        return pa.Table.from_batches(found).combine_chunks()

    return [name for name in SNAPSHOT.names if name in needed], table_of


_PREFIX = "_"


def _beside(native: pa.RecordBatch, batch: pa.RecordBatch) -> pa.RecordBatch:
    """What `answers` reads: the columns as suites see them, and those of the snapshot behind `_PREFIX`."""
    names = [*native.schema.names, *(f"{_PREFIX}{name}" for name in BODY_INPUT)]
    return pa.RecordBatch.from_arrays([*native.columns, *(batch.column(name) for name in BODY_INPUT)], names=names)


def _nothing(columns: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], SNAPSHOT).select(columns)


def batches_of(folder: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a snapshot as they are, first a batch without rows, which has their types. Raises as `frame_here`."""
    yield _nothing(columns)
    for part, _rows in _files(folder):
        with opened(part, columns) as file:
            for group in range(file.metadata.num_row_groups):  # a row group has bodies of so many bytes, not rows
                yield from file.batches(ROWS, columns, [group])


def messages_in(folder: Path) -> int:
    """Messages of a snapshot, by the footers of its files. Raises `LakeError`, `SettingsError`."""
    return sum(rows for _part, rows in _files(folder))


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for part in parts_of(folder):
        with opened(part) as file:
            missing = [name for name in SNAPSHOT.names if name not in file.names]
            rows = file.metadata.num_rows
        if missing:
            raise SettingsError(
                f"{folder} is not a snapshot of this version of mqops: missing or of another type: {', '.join(missing)}"
            )
        yield part, rows


_INPUT = {
    "age_seconds": ("observed_at", "put_date", "put_time"),
    "expires_in_seconds": ("expiry",),
    "dlh_valid": ("dlh_error",),
    "dlh_problem": ("dlh_error",),
}
"""Derived column → the columns of the snapshot that it is made of."""


def _native(batch: pa.RecordBatch, name: str) -> pa.Array:
    source = COLUMNS[name].source
    if source is Source.HEX:
        return _hexadecimal(batch.column(name))
    return _derived(batch, name) if source is Source.DERIVED else batch.column(name)


def _hexadecimal(column: pa.Array) -> pa.Array:
    return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())


def _derived(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name == "expires_in_seconds":
        expiry = batch.column("expiry")
        return pc.divide(pc.if_else(pc.greater_equal(expiry, 0), expiry, None).cast(pa.float64()), 10.0)
    if name == "age_seconds":
        return _age(batch)
    error = batch.column("dlh_error")
    if name == "dlh_valid":
        return pc.is_null(error)
    place = pc.struct_field(pc.extract_regex(error, rf"(?P<place>{PLACE})"), "place")
    return pc.if_else(pc.is_valid(error), pc.fill_null(place, "no valid MQDLH"), None)


def _age(batch: pa.RecordBatch) -> pa.Array:
    put = [
        _put(*pair)
        for pair in zip(batch.column("put_date").to_pylist(), batch.column("put_time").to_pylist(), strict=True)
    ]
    observed = batch.column("observed_at").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy() / 1e6
    known = np.array([0.0 if one is None else one for one in put])
    return pa.array(observed - known, mask=np.array([one is None for one in put], bool))


@lru_cache(maxsize=4096)
def _put(date: str, time: str) -> float | None:
    """Seconds from 1970; None where they are no time of the form YYYYMMDD and HHMMSSTH."""
    second = put_second(date, time) if len(time) == 8 else None
    return None if second is None else (round(second.timestamp()) * 100 + int(time[6:8])) / 100
