"""Row groups of Parquet files of the lake: what their footers say of them, and reading some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from mqops.lake.files import lake_errors
from mqops.lake.parquet import PartFile, footer_of, in_utc, opened, parts_of


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
        for footer in [footer_of(part)]
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


def bounds(folder: Path, *columns: str) -> tuple[tuple[Any, Any] | None, ...]:
    """The least and the greatest value of each column, which the files' footers tell; None where they do not.

    Raises:
        LakeError: the folder or a file cannot be read.
    """
    footers = [footer_of(part) for part in parts_of(folder)]
    return tuple(_bounds([*_statistics(footers, column)]) for column in columns)


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
