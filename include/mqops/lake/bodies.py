"""Some messages of a snapshot, whole, without reading the others' bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mqops.counted import counted
from mqops.errors import LakeError
from mqops.lake.parquet import R, opened, rows_as
from mqops.lake.row_groups import Chunk


class Whole(NamedTuple):
    """A message: its MQMD, and all that follows."""

    queue: str
    msg_key: str
    md: bytes
    body: bytes


def bodies_of(snapshot: Path, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[bytes, bytes]]:
    """(queue, msg_key) → (MQMD, all that follows). Of messages with the same identity any one: they are alike.

    Raises:
        LakeError: the snapshot cannot be read, or lacks one of them.
    """
    rows = rows_with(snapshot, {"msg_key": {key for _queue, key in wanted}}, Whole)
    found = {(row.queue, row.msg_key): (row.md, row.body) for row in rows}
    missing = set(wanted) - found.keys()
    if missing:
        lacks = f"{snapshot} lacks {counted(len(missing), 'message')} of its plan"
        raise LakeError(f"{lacks}. Restore the folder from a backup, or make a new run")
    return found


def rows_with(
    snapshot: Path,
    wanted: Mapping[str, Collection[Any]],
    kind: type[R],
    chosen: Collection[Chunk] | None = None,
) -> Iterator[R]:
    """The messages that have one of the wanted values in each of these columns.

    Parameters: `kind` a NamedTuple, whose fields are columns; `chosen` where they are looked for, None for everywhere.

    Raises:
        LakeError: the snapshot cannot be read.
    """
    if not all(wanted.values()):
        return
    for path in sorted(snapshot.glob("*.parquet")):
        groups = [group for chunk in chosen or () if chunk.part == path.name for group in chunk.groups]
        if chosen is not None and not groups:
            continue
        with opened(path) as file:
            for batch in file.batches_with(wanted, kind._fields, groups or range(file.metadata.num_row_groups)):
                yield from rows_as(batch, kind)
