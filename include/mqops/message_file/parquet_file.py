"""Messages of Parquet files that somebody else may have written: only so much is unpacked at a time as fits in memory.

1. A few kilobytes of Parquet can stand for gigabytes. What the footer says of sizes need not be true. True are the
   headers of the pages, by which the reader unpacks them (parquet.thrift, `PageHeader`): they are looked at first.
2. A page that unpacks to more than `LARGEST_PAGE` is refused. So is an encoding in which a short page makes long
   values; nothing that writes snapshots uses one.
3. A value that stands once in a dictionary can be that of every message, so each is counted with the whole dictionary.
4. Rows come in batches for which `BATCH_BYTES` are enough, wherever they begin; where none is so small, one by one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from mqops.counted import counted
from mqops.errors import LakeError
from mqops.lake.files import lake_errors
from mqops.lake.parquet import refuse_newer
from mqops.lake.shared_folder import opened
from mqops.message_file.core.page_header import DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, Content, Page, page_header
from mqops.message_file.core.text import LONGEST_MESSAGE
from mqwire.structures import MQMD_LAYOUT

LARGEST_PAGE = 512 << 20
"""Bytes, unpacked. An export of mqops has pages of 16 MB and a message, Spark's of 100 messages or of 1 MB."""
BATCH_BYTES = 64 << 20
READ_AT_ONCE = 4096
BATCH_ROWS = (500, 50, 5, 1)
_COLUMNS = ("md", "body")
_ENCODINGS = {0, 2, 8}
"""PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY."""
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
"""A pipe does not wait."""
_PADDING = 100
"""Bytes that the reader allows a column of an old writer more than its footer says (PARQUET-816)."""


def messages_of_folder(folder: Path) -> Iterator[tuple[bytes, bytes]]:
    """MQMD and body of each message of a folder of Parquet files, in its order.

    Raises:
        LakeError: a file cannot be read, or does not hold messages as mqops writes them.
    """
    with lake_errors(folder):
        for part in sorted(path for path in folder.iterdir() if path.suffix == ".parquet"):
            try:
                yield from _messages(part)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise _not_ours(part, str(error)) from error


def _messages(part: Path) -> Iterator[tuple[bytes, bytes]]:
    with opened(part, _READ) as descriptor, open(descriptor, "rb", closefd=False) as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_ours(part, "it is not a regular file")
        yield from _messages_of(part, stream)


def _messages_of(part: Path, stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Pages are looked at, and read, in the one file that was opened: another one can stand under its name by then."""
    with pq.ParquetFile(stream) as file:
        refuse_newer(part, file.metadata)
        numbers = _columns(part, file)
        content = _Bytes(stream.fileno())
        for group in range(file.metadata.num_row_groups):
            pages = [_pages(part, content, file.metadata.row_group(group).column(number)) for number in numbers]
            for batch in file.iter_batches(_rows(pages), [group], list(_COLUMNS), use_threads=False):
                yield from _of_batch(part, batch)


class _Bytes:
    """The bytes of an open file. Its owner can cut it meanwhile: mapped into memory, that would end this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._first, self._read = 0, b""

    def __len__(self) -> int:
        return os.fstat(self._descriptor).st_size

    def __getitem__(self, at: int, /) -> int:
        if not 0 <= at - self._first < len(self._read):
            self._first, self._read = at, os.pread(self._descriptor, READ_AT_ONCE, at)
        if not self._read:
            raise ValueError("it was cut while it was read")
        return self._read[at - self._first]


def _columns(part: Path, file: pq.ParquetFile) -> list[int]:
    """The numbers of the columns that are read: plain binary ones. The reader takes every column of a name, and those
    inside it, so each of the two names must stand for one column only: the others' pages would not be looked at."""
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    known = {path: number for number, path in enumerate(paths)}
    missing = [name for name in _COLUMNS if name not in known]
    if missing:
        raise _not_ours(part, f"it has no column {' and no column '.join(missing)}")
    for name in _COLUMNS:
        if sum(path.partition(".")[0] == name for path in paths) > 1:
            raise _not_ours(part, f"it has several columns {name}")
        column = file.schema.column(known[name])
        if (column.physical_type, column.max_repetition_level) != ("BYTE_ARRAY", 0):
            raise _not_ours(part, f"its column {name} is not binary")
    return [known[name] for name in _COLUMNS]


class _Rows(NamedTuple):
    """A page with values. Parameters: `rows` in it; `bytes` that it unpacks to; `each` bytes that a row can have."""

    rows: int
    bytes: int
    each: int


def _pages(part: Path, content: Content, column: pq.ColumnChunkMetaData) -> list[_Rows]:
    """The pages with values of one column of a row group, by their headers. Raises `LakeError`."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    end, found, left = at + column.total_compressed_size + _PADDING, list[_Rows](), column.num_values
    dictionary = 0
    while left > 0:
        if not 0 <= at < min(end, len(content)):
            raise _not_ours(part, "a column ends before its last row")
        try:
            page = page_header(content, at)
        except ValueError as error:
            raise _not_ours(part, str(error)) from error
        _check(part, page)
        if page.kind == DICTIONARY_PAGE:
            dictionary = page.unpacked
        elif page.kind in {DATA_PAGE, DATA_PAGE_V2}:
            found.append(_Rows(page.values, page.unpacked, dictionary if page.encoding else 0))
            left -= page.values
        at = page.end
    return found


def _check(part: Path, page: Page) -> None:
    if page.unpacked > LARGEST_PAGE:
        raise LakeError(
            f"{part} has a page that unpacks to {counted(page.unpacked, 'byte')}, and at most {LARGEST_PAGE} are "
            "unpacked at once: nothing was loaded. Write the file anew with `mqops message export --snapshot`"
        )
    if page.encoding not in _ENCODINGS:
        raise _not_ours(part, f"it has a page with encoding {page.encoding}")


def _rows(columns: Sequence[Sequence[_Rows]]) -> int:
    """How many rows are read at once: the most that `BATCH_BYTES` are enough for, wherever they begin."""
    for rows in BATCH_ROWS[:-1]:
        each = max((page.each for pages in columns for page in pages), default=0)
        if rows * each + sum(_widest(pages, rows) for pages in columns) <= BATCH_BYTES:
            return rows
    return BATCH_ROWS[-1]


def _widest(pages: Sequence[_Rows], rows: int) -> int:
    """The bytes of the most that so many rows side by side touch: of whole pages."""
    most = size = inside = first = 0
    for number, page in enumerate(pages):
        size, inside = size + page.bytes, inside + page.rows
        while first < number and inside - pages[first].rows - page.rows + 2 > rows:
            size, inside = size - pages[first].bytes, inside - pages[first].rows
            first += 1
        most = max(most, size)
    return most


def _of_batch(part: Path, batch: pa.RecordBatch) -> Iterator[tuple[bytes, bytes]]:
    for column in batch.columns:
        if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
            raise _not_ours(part, f"a column is of type {column.type}")
    for md, body in zip(*batch.columns, strict=True):
        one = _value(part, md), _value(part, body)
        if len(one[0]) != MQMD_LAYOUT.length(2):
            raise LakeError(f"{part} has a message descriptor of {counted(len(one[0]), 'byte')}: the file was damaged")
        if len(one[1]) > LONGEST_MESSAGE:
            raise LakeError(
                f"{part} has a message of {counted(len(one[1]), 'byte')}; the greatest MAXMSGL of a queue is "
                f"{LONGEST_MESSAGE}: nothing was loaded"
            )
        yield one


def _value(part: Path, scalar: pa.Scalar) -> bytes:
    value = scalar.as_py()
    if not isinstance(value, bytes):
        raise _not_ours(part, "a message has no descriptor, or no body")
    return value


def _not_ours(part: Path, why: str) -> LakeError:
    return LakeError(f"{part} is not a whole Parquet file of messages as mqops writes them ({why}): nothing was loaded")
