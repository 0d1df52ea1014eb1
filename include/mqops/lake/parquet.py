"""Parquet files of the lake, written and read without Spark. Here encrypted bodies are decrypted, unless Spark reads
them. `mqops.lake.row_groups` reads parts of a file.

What is asked for by the names of `BODY_COLUMNS` is decrypted where the file has them encrypted; whatever else is asked
for needs no key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqops import formats
from mqops.errors import LakeError
from mqops.lake.files import lake_errors, make_folder
from mqops.lake.pruned import removed
from mqops.lake.sealing import BODY_COLUMNS, NEEDED, SEALED, Broken, Sealing, broken, run_of, sealing_of, some_at_a_time

R = TypeVar("R", bound=NamedTuple)

UTC_TIME = pa.timestamp("us", tz="UTC")
"""The type of a time in the lake."""
KIND = "*.parquet"
"""What `mqops.formats` calls a Parquet file."""
FORMAT = {formats.PARQUET_KEY: str(formats.number_of(KIND))}
"""Metadata of a file that we write."""
SPARK_FORMAT = {formats.PARQUET_KEY: formats.number_of(KIND)}
"""Metadata of a column, by which Spark says the format: it writes no metadata of the file's own."""
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_AT_A_TIME = 2000
"""Rows of a batch with bodies that are decrypted, at most."""
_FEW = 10_000
"""Rows of a file that one thread reads: to start others takes more processor time than it saves."""
_SPARK_NUMBER = re.compile(f'"{re.escape(formats.PARQUET_KEY)}":([0-9]{{1,9}})'.encode())
SPARK_ROW_GROUPS = {"parquet.block.row.count.limit": "50000"}
"""Options for Spark's writer. A row group is the least that one task reads: text that compresses well puts a million
messages into one, and then one processor does the work of all."""


def write_parquet(folder: Path, schema: pa.Schema, content: Iterable[pa.RecordBatch]) -> int:
    """Write one Parquet file into a folder, which is made where it is missing; returns the number of rows. The caller
    makes it durable.

    Raises:
        LakeError: the disk refused.
    """
    make_folder(folder)
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
    return any(SEALED in footer_of(part).schema.names for part in parts_of(folder))


def rows_as(batch: pa.RecordBatch, kind: type[R]) -> Iterator[R]:
    """The rows of a batch. Parameters: `kind` a NamedTuple, whose fields are columns of the batch."""
    return map(kind._make, zip(*(batch.column(name).to_pylist() for name in kind._fields), strict=True))


def refuse_newer_folder(folder: Path) -> None:
    """Refuse Parquet files that a newer version wrote, before Spark reads them. One job writes a folder: its first file
    says it.

    Raises:
        LakeError: the folder or the file cannot be read.
        NewerFormat: a newer version wrote it.
    """
    for part in parts_of(folder)[:1]:
        footer_of(part)


def footer_of(part: Path) -> pq.FileMetaData:
    """What the end of a file says. Raises `LakeError`, `NewerFormat`."""
    with lake_errors(part):
        try:
            footer = pq.read_metadata(part)
        except pa.ArrowInvalid as error:
            raise not_whole(part, error) from error
    refuse_newer(part, footer)
    return footer


@contextmanager
def opened(path: Path, columns: Sequence[str] = (), sealing: Sealing | None = None) -> Iterator[PartFile]:
    """A file, open until the end of the block.

    Parameters: `columns` that it must have; `sealing` of its bodies, None for that of its run.

    Raises:
        LakeError: it cannot be read, it is not a whole Parquet file, or it lacks a column.
        NewerFormat: a newer version wrote it.
    """
    with lake_errors(path):
        try:
            with closing(PartFile(path, sealing, columns)) as file:
                yield file
        except pa.ArrowInvalid as error:
            raise not_whole(path, error) from error


def not_whole(path: Path, error: pa.ArrowInvalid) -> LakeError:
    """The error of a file that Arrow cannot read."""
    return LakeError(f"{path} is not a whole Parquet file ({error}); restore it, no message was lost")


def refuse_newer(part: Path, footer: pq.FileMetaData) -> None:
    """Refuse a file that a newer version wrote. Raises `NewerFormat`."""
    said = footer.metadata or {}
    number = said.get(formats.PARQUET_KEY.encode(), b"")
    if not number and (of_spark := _SPARK_NUMBER.search(said.get(_SPARK_SCHEMA, b""))):
        number = of_spark[1]
    if number.isdigit():
        formats.refuse_newer_number(KIND, part, int(number))


class PartFile:
    """Parameters: `path` of the file, below the folder of its run if it is encrypted; `sealing` of its bodies, None for
    that of the run; `columns` that it must have. Its footer says all of this, so it is refused before it is opened.
    Raises `NewerFormat`; `LakeError`: it lacks a column.

    Attributes: `names` of the columns that can be asked for; `metadata` its footer.
    """

    def __init__(self, path: Path, sealing: Sealing | None = None, columns: Sequence[str] = ()) -> None:
        self._path = path
        self._given = sealing
        there = path.stat()
        footer = _footer(path, there.st_ino, there.st_size, there.st_mtime_ns)
        refuse_newer(path, footer)
        stored = footer.schema.to_arrow_schema().names
        self._is_sealed = SEALED in stored
        self.names = stored
        if self._is_sealed:
            self.names = [*(name for name in stored if name != SEALED), *BODY_COLUMNS]
        if missing := sorted(set(columns) - set(self.names)):
            raise LakeError(
                f"{path} was written by another version of mqops, without the columns {', '.join(missing)}. "
                "Use that version, or make a new run"
            )
        self.metadata: pq.FileMetaData = footer
        self._file = pq.ParquetFile(path, metadata=footer, coerce_int96_timestamp_unit="us")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def batches(
        self,
        rows: int,
        columns: Sequence[str],
        groups: Iterable[int] | None = None,
        *,
        keep: pa.ChunkedArray | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Columns in batches of at most `rows` rows, times in UTC.

        Parameters: `groups` that are read, None for all; `keep` which of their rows are given, None for all. Nothing is
        read behind the last one of them, and no other is decrypted.

        Raises:
            OSError, ArrowInvalid: the file cannot be read.
            LakeError, SettingsError: a body cannot be decrypted.
        """
        stored, opens = self._stored(columns)
        rows = min(rows, _AT_A_TIME) if opens else rows
        chosen = range(self.metadata.num_row_groups) if groups is None else list(groups)
        left, begin = -1 if keep is None else pc.sum(keep).as_py() or 0, 0
        several = self.metadata.num_rows > _FEW
        parts = self._file.iter_batches(rows, row_groups=chosen, columns=stored, use_threads=several) if left else ()
        for batch in parts:
            found = batch
            if keep is not None:
                found = batch.filter(keep.slice(begin, batch.num_rows).combine_chunks())
                left, begin = left - found.num_rows, begin + batch.num_rows
            if opens:
                yield from (in_utc(self._opened(some, columns)) for some in some_at_a_time(found))
            else:
                yield in_utc(found.select(list(columns)))
            if not left:
                return

    def batches_with(
        self, wanted: Mapping[str, Collection[Any]], columns: Sequence[str], groups: Iterable[int]
    ) -> Iterator[pa.RecordBatch]:
        """Columns of the rows that have one of the wanted values in each of the columns of `wanted`: a few bodies are
        in memory at a time. Parameters: `groups` that are read. Raises as `batches`."""
        for group in groups:
            table = self.read([group], list(wanted))
            tests = (
                pc.is_in(table.column(name), pa.array(set(values), table.schema.field(name).type))
                for name, values in wanted.items()
            )
            yield from self.batches(_AT_A_TIME, columns, [group], keep=reduce(pc.and_, tests))

    def read(
        self,
        groups: Sequence[int],
        columns: Sequence[str],
        *,
        use_threads: bool = True,
        rows: tuple[int, int] | None = None,
    ) -> pa.Table:
        """Columns of row groups. Parameters: `rows` the first one and how many, None for all. Raises as `batches`."""
        stored, opens = self._stored(columns)
        table = self._file.read_row_groups(groups, columns=stored, use_threads=use_threads)
        table = table if rows is None else table.slice(*rows)
        if not opens:
            return table.select(list(columns))
        parts = table.to_batches(_AT_A_TIME) or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        slices = (some for batch in parts for some in some_at_a_time(batch))
        return pa.Table.from_batches([self._opened(some, columns) for some in slices])

    def _stored(self, columns: Sequence[str]) -> tuple[list[str], bool]:
        """What is read of the file, and whether it has to be decrypted."""
        if not self._is_sealed or not set(BODY_COLUMNS).intersection(columns):
            return list(columns), False
        return [*dict.fromkeys((*(one for one in columns if one not in BODY_COLUMNS), *NEEDED))], True

    def _opened(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        try:
            made = self._sealing.opened(batch, columns)
        except Broken as error:
            raise broken(self._path, error) from None
        return pa.RecordBatch.from_arrays(
            [made[name] if name in made else batch.column(name) for name in columns], names=list(columns)
        )

    @cached_property
    def _sealing(self) -> Sealing:
        return self._given or sealing_of(run_of(self._path.parent))


@lru_cache(maxsize=1)
def _footer(path: Path, _inode: int, _size: int, _changed: int) -> pq.FileMetaData:
    """The footer of a file as it is now. A snapshot of a million messages can have 500 row groups, and to read what the
    footer says of them takes as long as to read some columns: who reads the file piece by piece reads it once."""
    return pq.read_metadata(path)


def in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with UTC as the zone of each time. Spark writes INT96 for a time unless told otherwise: it is UTC,
    and does not say so."""
    for number, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            times = batch.column(number).cast(UTC_TIME)
            batch = batch.set_column(number, field.with_type(UTC_TIME), times)
    return batch
