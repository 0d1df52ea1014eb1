"""The originals of an undo: its snapshot, written from the snapshot of the run that it undoes, read by row number."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from mqops.errors import LakeError
from mqops.lake.files import lake_errors
from mqops.lake.parquet import PartFile, read_parquet, rows_as
from mqops.observe.arrow import SNAPSHOT

Which: TypeAlias = tuple[str, str, int]
"""Queue, msg_key, and which of several such messages, from 0 in the order of snapshot and plan."""
BATCH_ROWS = 200
KEPT_GROUPS = 2
"""Row groups in memory while reading. Rows are read in order; a unit of work that is tried again reads some twice."""


class Original(NamedTuple):
    """A message as it was: MQMD (364 bytes), all that follows, and when it was seen so."""

    md: bytes
    body: bytes
    observed_at: datetime


def copied(
    snapshot: Path, wanted: Mapping[Which, int], note: Callable[[int, Original], None]
) -> Iterator[pa.RecordBatch]:
    """The wanted messages of a snapshot as batches of `SNAPSHOT`, their position being the row that is wanted.

    Parameters: `wanted` which messages → row; `note` gets each row and its message.

    Raises:
        LakeError: the snapshot cannot be read, or lacks one of them.
    """
    seen: Counter[tuple[str, str]] = Counter()
    found = 0
    for batch in read_parquet(snapshot, SNAPSHOT.names, rows=BATCH_ROWS):
        chosen: list[int] = []
        rows: list[int] = []
        places = zip(batch.column("queue").to_pylist(), batch.column("msg_key").to_pylist(), strict=True)
        for index, place in enumerate(places):
            row = wanted.get((*place, seen[place]))
            seen[place] += 1
            if row is not None:
                chosen.append(index)
                rows.append(row)
        if chosen:
            part = _at_rows(batch.take(pa.array(chosen)), rows)
            for row, original in zip(rows, rows_as(part, Original), strict=True):
                note(row, original)
            found += len(rows)
            yield part
    if found != len(wanted):
        raise LakeError(
            f"{snapshot} lacks {len(wanted) - found:,} of the messages of its plan: the run cannot be undone"
        )


def _at_rows(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    """Spark's types become those of `SNAPSHOT`."""
    columns = [
        pa.array(rows, field.type) if field.name == "position" else batch.column(field.name).cast(field.type)
        for field in SNAPSHOT
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SNAPSHOT)


class Originals:
    """The messages of an undo's snapshot by the number of their row; a context manager.

    Parameters: `snapshot` the folder that holds what `copied` gave. Raises `LakeError`.
    """

    def __init__(self, snapshot: Path) -> None:
        (path,) = sorted(snapshot.glob("*.parquet"))
        with lake_errors(path):
            self._file = PartFile(path)
            self._places = dict(self._positions())
        self._groups: OrderedDict[int, list[Original]] = OrderedDict()

    def __enter__(self) -> Originals:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def __call__(self, row: int) -> Original:
        """The original of a row. Raises `LakeError`."""
        if row not in self._places:
            raise LakeError(f"The snapshot of the undo has no message of row {row}: it was changed")
        group, index = self._places[row]
        if group not in self._groups:
            with lake_errors(Path()):
                read = self._file.read([group], Original._fields)
                self._groups[group] = list(rows_as(read, Original))
            if len(self._groups) > KEPT_GROUPS:
                self._groups.popitem(last=False)
        return self._groups[group][index]

    def _positions(self) -> Iterator[tuple[int, tuple[int, int]]]:
        for group in range(self._file.metadata.num_row_groups):
            column = self._file.read([group], ["position"]).column("position")
            for index, row in enumerate(column.to_pylist()):
                yield row, (group, index)
