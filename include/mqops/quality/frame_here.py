"""The columns that suites speak about as one Arrow table in this process: what `frame` computes by Spark.

Bodies are read batch by batch, only if a suite asks for a column that needs them; the table has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqops.errors import SettingsError
from mqops.lake.parquet import opened, parts_of
from mqops.lake.row_groups import Chunk, chunks_of
from mqops.lake.sealing import Sealing
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


def frame_of_piece(
    folder: Path, piece: Chunk, wanted: Iterable[str], asked: Sequence[Asked] = (), sealing: Sealing | None = None
) -> pa.Table:
    """The same of a piece of a snapshot, one of `pieces_of`. Parameters: `sealing` of its bodies, None where they are
    in clear or not needed. Raises `LakeError`."""
    columns, table_of = _plan(wanted, asked)
    return table_of(_batches(folder / piece.part, columns, piece.groups, sealing))


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
    for part, footer in _files(folder):
        yield from _batches(part, columns, range(footer.num_row_groups))


def _batches(
    part: Path, columns: list[str], groups: Sequence[int], sealing: Sealing | None = None
) -> Iterator[pa.RecordBatch]:
    with opened(part, columns, sealing) as file:
        # a row group has bodies of so many bytes, not rows
        for some in [[group] for group in groups] if "body" in columns else [groups]:
            yield from file.batches(ROWS, columns, some)


def pieces_of(folder: Path, rows: int) -> tuple[Chunk, ...]:
    """A snapshot in pieces of about so many messages; those of a file have about the same number. Raises `LakeError`,
    `SettingsError`."""
    return tuple(
        piece for part, footer in _files(folder) for piece in chunks_of(part, footer, _even(footer.num_rows, rows))
    )


def _even(messages: int, most: int) -> int:
    """The size of pieces that have about the same number of messages. Parameters: `most` messages of one."""
    return max(ceil(messages / max(ceil(messages / most), 1)), 1)


def messages_in(folder: Path) -> int:
    """Messages of a snapshot, by the footers of its files. Raises `LakeError`, `SettingsError`."""
    return sum(footer.num_rows for _part, footer in _files(folder))


def _files(folder: Path) -> Iterator[tuple[Path, pq.FileMetaData]]:
    for part in parts_of(folder):
        with opened(part) as file:
            missing = [name for name in SNAPSHOT.names if name not in file.names]
            footer = file.metadata
        if missing:
            raise SettingsError(
                f"{folder} is not a snapshot of this version of mqops: missing or of another type: {', '.join(missing)}"
            )
        yield part, footer


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


_HEXADECIMAL = np.frombuffer("".join(f"{number:02x}" for number in range(256)).encode(), np.uint16)
"""Of each byte, its two digits."""


def _hexadecimal(column: pa.Array) -> pa.Array:
    """All bytes at once; a value for each message that is an object of Python costs ten times as much."""
    if not len(column):
        return pa.array([], pa.string())
    _valid, ends, content = column.buffers()
    ends = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    digits = _HEXADECIMAL[np.frombuffer(content or b"", np.uint8)[ends[0] : ends[-1]]]
    texts = pa.Array.from_buffers(
        pa.string(), len(column), [None, pa.py_buffer((ends - ends[0]) * np.int32(2)), pa.py_buffer(digits)]
    )
    return pc.if_else(pc.is_valid(column), texts, None) if column.null_count else texts


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


_TIME = "^([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9][0-9]{2}$"
"""HHMMSSTH."""


def _age(batch: pa.RecordBatch) -> pa.Array:
    """Null where PutDate and PutTime are no time of the form YYYYMMDD and HHMMSSTH. Few dates differ, and all times."""
    dates = pc.dictionary_encode(batch.column("put_date"))
    days = [put_second(date, "000000") for date in dates.dictionary.to_pylist()]
    midnight = np.array([np.nan if day is None else day.timestamp() for day in days])[dates.indices.to_numpy()]
    times = batch.column("put_time")
    valid = pc.match_substring_regex(times, _TIME)
    digits = pc.if_else(valid, times, "0").cast(pa.int64()).to_numpy()
    second = digits // 1_000_000 * 3600 + digits // 10_000 % 100 * 60 + digits // 100 % 100
    put = ((midnight + second) * 100 + digits % 100) / 100
    observed = batch.column("observed_at").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy() / 1e6
    known = valid.to_numpy(zero_copy_only=False) & ~np.isnan(midnight)
    return pa.array(observed - put, mask=~known)
