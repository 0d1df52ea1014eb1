"""Some messages of a snapshot, whole, without reading the others' bodies."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqops.errors import LakeError
from mqops.store.files import lake_errors

_PLACE = ["queue", "msg_key"]


def bodies_of(snapshot: Path, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[bytes, bytes]]:
    """(queue, msg_key) → (MQMD, all that follows). Of messages with the same identity any one: they are alike.

    Raises:
        LakeError: the snapshot cannot be read, or lacks one of them.
    """
    keys = pa.array({key for _queue, key in wanted}, pa.string())
    found: dict[tuple[str, str], tuple[bytes, bytes]] = {}
    with lake_errors(snapshot):
        for path in sorted(snapshot.glob("*.parquet")) if wanted else ():
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    places = file.read_row_group(group, columns=_PLACE)
                    chosen = pc.is_in(places.column("msg_key"), keys)
                    if not pc.any(chosen).as_py():
                        continue
                    rows = file.read_row_group(group, columns=[*_PLACE, "md", "body"]).filter(chosen).to_pylist()
                    found |= {(row["queue"], row["msg_key"]): (row["md"], row["body"]) for row in rows}
    missing = set(wanted) - found.keys()
    if missing:
        raise LakeError(f"{snapshot} lacks {len(missing)} messages of its plan")
    return found
