"""Parquet files of the lake, written and read without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqops.errors import LakeError
from mqops.lake.files import lake_errors
from mqops.lake.part_file import FORMAT, PartFile, in_utc, not_whole, opened, refuse_newer
from mqops.lake.pruned import removed
from mqops.lake.sealing import SEALED

R = TypeVar("R", bound=NamedTuple)

SPARK_ROW_GROUPS = {"parquet.block.row.count.limit": "50000"}
"""Options for Spark's writer. A row group is the least that one task reads: text that compresses well puts a million
messages into one, and then one processor does the work of all."""


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
    others = [name for name in schema.names if name != SEALED]  # what is encrypted has no value twice, and no pattern
    compression = {**dict.fromkeys(others, "zstd"), **({SEALED: "none"} if SEALED in schema.names else {})}
    options = {"compression": compression, "use_dictionary": others, "write_statistics": others}
    with pq.ParquetWriter(place, schema.with_metadata({**(schema.metadata or {}), **FORMAT}), **options) as writer:
        for batch in content:
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def read_parquet(folder: Path, columns: Sequence[str], *, rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    """Columns of a folder of Parquet files, in batches of at most `rows` rows, in the order of the files' names.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    for part in parts_of(folder):
        yield from read_part(part, columns, rows=rows)


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder, in the order in which they are read. Raises `LakeError`."""
    with lake_errors(folder):
        if not folder.is_dir() and (why := removed(folder)):
            raise LakeError(why)
        return sorted(path for path in folder.iterdir() if path.suffix == ".parquet")


def number_of_rows(folder: Path) -> int:
    """The rows of a folder of Parquet files, by the ends of the files. Raises `LakeError`."""
    found = 0
    for part in parts_of(folder):
        with opened(part) as file:
            found += file.metadata.num_rows
    return found


def read_part(part: Path, columns: Sequence[str], *, rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    """The same of one file. Raises `LakeError`."""
    with opened(part, columns) as file:
        yield from file.batches(rows, columns)


def rows_with(folder: Path, column: str, values: pa.Array) -> pa.Array:
    """For each row that `read_parquet` gives, in its order, whether it has one of these values in a column.

    Arrow makes a table of the values each time it is asked, so it is asked once: of a million values, not batch by
    batch.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    there = [batch.column(column).cast(values.type) for batch in read_parquet(folder, [column])]
    return pc.is_in(pa.chunked_array(there, values.type), values).combine_chunks()


def is_sealed(folder: Path) -> bool:
    """Whether the bodies in a snapshot's folder are encrypted (`mqops.lake.sealing`).

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    return any(SEALED in _footer(part).schema.names for part in parts_of(folder))


class Chunk(NamedTuple):
    """Neighbouring row groups of a file. Parameters: `part` name of the file; `groups` from 0; `rows` in them."""

    part: str
    groups: tuple[int, ...]
    rows: int


def chunks_of(part: Path, footer: pq.FileMetaData, rows: int) -> Iterator[Chunk]:
    """A file in pieces of about so many rows, or of one row group. Parameters: `footer` of the file."""
    for groups in _groups(footer, rows, range(footer.num_row_groups), first=rows):
        yield Chunk(part.name, tuple(groups), sum(footer.row_group(number).num_rows for number in groups))


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
        for part in parts_of(folder)
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
    for part in parts_of(folder):
        own = [group for one in chosen or () if one.part == part.name for group in one.groups]
        if chosen is not None and not own:
            continue
        with opened(part, columns) as file:
            chosen_groups = own or range(file.metadata.num_row_groups)
            for groups in _groups(file.metadata, rows, chosen_groups, first=_FIRST_ROWS):
                first = 0
                for batch in file.batches(rows, columns, groups):
                    yield batch, partial(_others, file, groups, first, batch)
                    first += batch.num_rows


def rows_as(batch: pa.RecordBatch, kind: type[R]) -> Iterator[R]:
    """The rows of a batch. Parameters: `kind` a NamedTuple, whose fields are columns of the batch."""
    return map(kind._make, zip(*(batch.column(name).to_pylist() for name in kind._fields), strict=True))


OfSameRows: TypeAlias = Callable[[Sequence[str]], pa.RecordBatch]
_FIRST_ROWS = 4096


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
    file: PartFile, groups: list[int], first: int, of: pa.RecordBatch, columns: Sequence[str]
) -> pa.RecordBatch:
    """Columns of the rows of a batch, which begins with row `first` of these groups."""
    table = file.read(groups, columns, use_threads=False, rows=(first, of.num_rows))
    (batch,) = table.combine_chunks().to_batches()
    return in_utc(batch)


def refuse_newer_folder(folder: Path) -> None:
    """Refuse Parquet files that a newer version wrote, before Spark reads them. One job writes a folder: its first file
    says it.

    Raises:
        LakeError: the folder or the file cannot be read.
        NewerFormat: a newer version wrote it.
    """
    for part in parts_of(folder)[:1]:
        _footer(part)


def bounds(folder: Path, *columns: str) -> tuple[tuple[Any, Any] | None, ...]:
    """The least and the greatest value of each column, which the files' footers tell; None where they do not.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    footers = [_footer(part) for part in parts_of(folder)]
    return tuple(_bounds([*_statistics(footers, column)]) for column in columns)


def _footer(part: Path) -> pq.FileMetaData:
    with lake_errors(part):
        try:
            footer = pq.read_metadata(part)
        except pa.ArrowInvalid as error:
            raise not_whole(part, error) from error
    refuse_newer(part, footer)
    return footer


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
