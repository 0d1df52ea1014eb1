"""One Parquet file of the lake, opened for reading: here encrypted bodies are decrypted, unless Spark reads them.

What is asked for by the names of `BODY_COLUMNS` is decrypted where the file has them encrypted; whatever else is asked
for needs no key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqops import formats
from mqops.errors import LakeError, NewerFormat
from mqops.lake.files import lake_errors
from mqops.lake.sealing import (
    BODY_COLUMNS,
    NEEDED,
    SEALED,
    Broken,
    Sealing,
    broken,
    in_clear,
    run_of,
    sealing_of,
    some_at_a_time,
)

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
_SPARK_NUMBER = re.compile(f'"{re.escape(formats.PARQUET_KEY)}":([0-9]{{1,9}})'.encode())


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
            file = PartFile(path, sealing)
            try:
                file.refuse_without(columns)
                yield file
            finally:
                file.close()
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
    that of the run. Raises `NewerFormat`.

    Attributes: `names` of the columns that can be asked for; `metadata` its footer.
    """

    def __init__(self, path: Path, sealing: Sealing | None = None) -> None:
        self._path = path
        self._given = sealing
        there = path.stat()
        footer = _footer(path, there.st_ino, there.st_size, there.st_mtime_ns)
        self._file = pq.ParquetFile(path, metadata=footer, coerce_int96_timestamp_unit="us")
        try:
            refuse_newer(path, self._file.metadata)
        except NewerFormat:
            self._file.close()
            raise
        stored = self._file.schema_arrow.names
        self._is_sealed = SEALED in stored
        self.names = in_clear(stored)
        self.metadata: pq.FileMetaData = self._file.metadata

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def refuse_without(self, columns: Sequence[str]) -> None:
        """Raise `LakeError` if one of these columns is not there."""
        missing = sorted(set(columns) - set(self.names))
        if missing:
            raise LakeError(
                f"{self._path} was written by another version of mqops, without the columns {', '.join(missing)}. "
                "Use that version, or make a new run"
            )

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
        for batch in self._file.iter_batches(rows, row_groups=chosen, columns=stored) if left else ():
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
