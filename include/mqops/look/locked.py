"""A message of a snapshot whose body is encrypted, for a process that does not have the key: all but the body."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from mqops.lake.bodies import rows_with
from mqops.lake.sealing import BODY_COLUMNS, MASKED
from mqops.look.core.taken_apart import MessageShown
from mqops.observe.core.columns import SNAPSHOT_COLUMNS, SnapshotRow
from mqops.observe.core.decode import DLH_COLUMNS
from mqwire.errors import WireError
from mqwire.structures import MQDLH, MQDLH_LAYOUT

_OPEN = [column.name for column in SNAPSHOT_COLUMNS if column.name not in BODY_COLUMNS]
_made: Any = NamedTuple
_Open = _made("_Open", [(name, Any) for name in (*_OPEN, MASKED)])


class Locked(NamedTuple):
    """A message without its body. Parameters: `row` whose body is its MQDLH alone; `masked` the shape of its text."""

    row: SnapshotRow
    masked: str

    def shown(self, whole: MessageShown, why: str) -> MessageShown:
        """What is shown of it. Parameters: `whole` what `row` says; `why` its body is not shown."""
        length = self.row["body_length"] - (MQDLH_LAYOUT.size if self.row["dlh_error"] is None else 0)
        body = replace(whole.body, text=self.masked, hex="", length=length, masked=True, no_text=why, bad_bytes=())
        return replace(whole, body=body, broken=why)


def locked(snapshot: Path, queue: str, position: int, msg_key: str) -> Locked:
    """A message of a snapshot. Raises `LakeError`: the snapshot cannot be read."""
    rows = rows_with(snapshot, {"msg_key": {msg_key}}, _Open)
    found = next(one._asdict() for one in rows if (one.queue, one.position) == (queue, position))
    masked = found.pop(MASKED)
    row = cast(SnapshotRow, {**found, "body": _header(found), "text_decoded": None, "properties": None})
    return Locked(row, masked)


def _header(row: dict[str, Any]) -> bytes:
    """Its MQDLH again: the snapshot has each field of it."""
    if row["dlh_error"] is not None:
        return b""
    with suppress(WireError, ValueError, UnicodeError):
        header = MQDLH(**{field: row[column] for column, field in DLH_COLUMNS.items()})
        return header.pack(encoding=row["encoding"], ccsid=row["ccsid"])
    return b""
