"""Parquet files of the lake, written and read without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqops import formats
from mqops.errors import LakeError, NewerFormat
from mqops.lake.files import lake_errors
from mqops.lake.pruned import removed

R = TypeVar("R", bound=NamedTuple)

KIND = "*.parquet"
"""What `mqops.formats` calls a Parquet file."""
UTC_TIME = pa.timestamp("us", tz="UTC")
"""The type of a time in the lake."""

SPARK_ROW_GROUPS = {"parquet.block.row.count.limit": "50000"}
"""Options for Spark's writer. A row group is the least that one task reads: text that compresses well puts a million
messages into one, and then one processor does the work of all."""
SPARK_FORMAT = {formats.PARQUET_KEY: formats.number_of(KIND)}
"""Metadata of a column, by which Spark says the format: it writes no metadata of the file's own."""
_FORMAT = {formats.PARQUET_KEY: str(formats.number_of(KIND))}
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_SPARK_NUMBER = re.compile(f'"{re.escape(formats.PARQUET_KEY)}":([0-9]{{1,9}})'.encode())


def write_parquet(folder: Path, schema: pa.Schema, content: Iterable[pa.RecordBatch]) -> int:
    """Write one Parquet file into a folder; returns the number of rows. The caller makes it durable.

    Raises:
        LakeError: the disk refused.
    """
    with lake_errors(folder):
        return write_parquet_to(folder / "part-00000.parquet", schema, content)


def write_parquet_to(place: Path | BinaryIO, schema: pa.Schema, content: Iterable[pa.RecordBatch]) -> int:
    """Write a Parquet file to a place or an open file; returns the number of rows. Raises `OSError`."""
    written = 0
    noted = schema.with_metadata({**(schema.metadata or {}), **_FORMAT})
    with pq.ParquetWriter(place, noted, compression="zstd") as writer:
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
        for part in _parts(folder):
            try:
                with open_parquet(part) as file:
                    _check_columns(part, columns, file.schema_arrow.names)
                    for batch in file.iter_batches(rows, columns=list(columns)):
                        yield in_utc(batch.select(list(columns)))
            except pa.ArrowInvalid as error:
                raise _not_whole(part, error) from error


def rows_with(folder: Path, column: str, values: pa.Array) -> pa.Array:
    """For each row that `read_parquet` gives, in its order, whether it has one of these values in a column.

    Arrow makes a table of the values each time it is asked, so it is asked once: of a million values, not batch by
    batch.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    there = [batch.column(column).cast(values.type) for batch in read_parquet(folder, [column])]
    return pc.is_in(pa.chunked_array(there, values.type), values).combine_chunks()


class Chunk(NamedTuple):
    """Neighbouring row groups of a file. Parameters: `part` name of the file; `groups` from 0; `rows` in them."""

    part: str
    groups: tuple[int, ...]
    rows: int


def chunks_with(folder: Path, column: str, low: Any, high: Any) -> list[Chunk]:
    """The row groups in which a column can have a value from `low` to `high`: their footers say so. They are read once
    as long as no file comes or goes.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    with lake_errors(folder):
        known = _ranges(folder, column, folder.stat().st_mtime_ns)
    return [chunk for chunk, there in known if there is None or (there[0] <= high and low <= there[1])]


@lru_cache(maxsize=64)
def _ranges(folder: Path, column: str, _changed: int) -> tuple[tuple[Chunk, tuple[Any, Any] | None], ...]:
    """Each row group with the least and the greatest value of a column."""
    return tuple(
        (Chunk(part.name, (number,), footer.row_group(number).num_rows), _bounds([values]))
        for part in _parts(folder)
        for footer in [_footer(part)]
        for number, values in enumerate(_statistics([footer], column))
    )


def read_chunks(
    folder: Path, columns: Sequence[str], *, rows: int, chosen: Sequence[Chunk] | None = None
) -> Iterator[tuple[pa.RecordBatch, OfSameRows]]:
    """As `read_parquet`; with each batch a function that reads further columns of the same rows. It must be called
    before the next batch is taken.

    The first batches are small, for who takes a few rows only.

    Parameters: `chosen` what is read, None for all.
    """
    with lake_errors(folder):
        for part in _parts(folder):
            own = [group for one in chosen or () if one.part == part.name for group in one.groups]
            if chosen is not None and not own:
                continue
            try:
                with open_parquet(part) as file:
                    _check_columns(part, columns, file.schema_arrow.names)
                    for groups in _groups(file.metadata, rows, own or range(file.num_row_groups), first=_FIRST_ROWS):
                        first = 0
                        for batch in file.iter_batches(rows, row_groups=groups, columns=list(columns)):
                            yield in_utc(batch.select(list(columns))), partial(_others, file, groups, first, batch)
                            first += batch.num_rows
            except pa.ArrowInvalid as error:
                raise _not_whole(part, error) from error


def rows_as(batch: pa.RecordBatch, kind: type[R]) -> Iterator[R]:
    """The rows of a batch. Parameters: `kind` a NamedTuple, whose fields are columns of the batch."""
    return map(kind._make, zip(*(batch.column(name).to_pylist() for name in kind._fields), strict=True))


OfSameRows: TypeAlias = Callable[[Sequence[str]], pa.RecordBatch]
_FIRST_ROWS = 4096


def _parts(folder: Path) -> list[Path]:
    if not folder.is_dir() and (why := removed(folder)):
        raise LakeError(why)
    return sorted(path for path in folder.iterdir() if path.suffix == ".parquet")


def _groups(file: pq.FileMetaData, rows: int, of: Iterable[int], *, first: int) -> Iterator[list[int]]:
    """Neighbouring ones of these row groups, of about so many rows together, or one; at first of `first` rows."""
    wanted, groups, number = min(rows, first), list[int](), 0
    for group in of:
        own = file.row_group(group).num_rows
        if groups and number + own > wanted:
            yield groups
            wanted, groups, number = min(rows, 2 * wanted), [], 0
        groups.append(group)
        number += own
    if groups:
        yield groups


def _others(
    file: pq.ParquetFile, groups: list[int], first: int, of: pa.RecordBatch, columns: Sequence[str]
) -> pa.RecordBatch:
    """Columns of the rows of a batch, which begins with row `first` of these groups."""
    table = file.read_row_groups(groups, columns=list(columns), use_threads=False)
    (batch,) = table.select(list(columns)).slice(first, of.num_rows).combine_chunks().to_batches()
    return in_utc(batch)


def open_parquet(part: Path) -> pq.ParquetFile:
    """One file, for reading. What it gives goes through `in_utc`: its times may be of a kind that has no zone. Raises
    `NewerFormat`."""
    file = pq.ParquetFile(part, coerce_int96_timestamp_unit="us")
    try:
        refuse_newer(part, file.metadata)
    except NewerFormat:
        file.close()
        raise
    return file


def refuse_newer(part: Path, footer: pq.FileMetaData) -> None:
    """Refuse a file that a newer version wrote. Raises `NewerFormat`."""
    said = footer.metadata or {}
    number = said.get(formats.PARQUET_KEY.encode(), b"")
    if not number and (of_spark := _SPARK_NUMBER.search(said.get(_SPARK_SCHEMA, b""))):
        number = of_spark[1]
    if number.isdigit():
        formats.refuse_newer_number(KIND, part, int(number))


def refuse_newer_folder(folder: Path) -> None:
    """Refuse Parquet files that a newer version wrote, before Spark reads them. One job writes a folder: its first file
    says it.

    Raises:
        LakeError: the folder or the file cannot be read.
        NewerFormat: a newer version wrote it.
    """
    with lake_errors(folder):
        for part in _parts(folder)[:1]:
            _footer(part)


def in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with UTC as the zone of each time. Spark writes INT96 for a time unless told otherwise: it is UTC,
    and does not say so."""
    for number, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            times = batch.column(number).cast(UTC_TIME)
            batch = batch.set_column(number, field.with_type(UTC_TIME), times)
    return batch


def bounds(folder: Path, *columns: str) -> tuple[tuple[Any, Any] | None, ...]:
    """The least and the greatest value of each column, which the files' footers tell; None where they do not.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    with lake_errors(folder):
        footers = [_footer(part) for part in _parts(folder)]
    return tuple(_bounds([*_statistics(footers, column)]) for column in columns)


def _footer(part: Path) -> pq.FileMetaData:
    try:
        footer = pq.read_metadata(part)
    except pa.ArrowInvalid as error:
        raise _not_whole(part, error) from error
    refuse_newer(part, footer)
    return footer


def _not_whole(part: Path, error: pa.ArrowInvalid) -> LakeError:
    return LakeError(f"{part} is not a whole Parquet file ({error}); restore it, no message was lost")


def _bounds(found: Sequence[pq.Statistics | None]) -> tuple[Any, Any] | None:
    known = [values for values in found if values is not None and values.has_min_max]
    if not found or len(known) < len(found):
        return None
    return min(values.min for values in known), max(values.max for values in known)


def _statistics(footers: Iterable[pq.FileMetaData], column: str) -> Iterator[pq.Statistics | None]:
    """Of each row group."""
    for footer in footers:
        number = footer.schema.names.index(column)
        for group in range(footer.num_row_groups):
            yield footer.row_group(group).column(number).statistics


def _check_columns(part: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    missing = sorted(set(wanted) - set(there))
    if missing:
        raise LakeError(
            f"{part} was written by another version of mqops, without the columns {', '.join(missing)}. "
            "Use that version, or make a new run"
        )
