"""The MsgIds of a snapshot, by which the ledger is asked what became of its messages before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqops.lake.parquet import read_parquet


def message_ids(snapshot: Path) -> Iterator[str]:
    """The MsgId (hex) of each message of a snapshot, batch by batch. Raises `LakeError`."""
    for batch in read_parquet(snapshot, ["msg_id"]):
        yield from (one.hex() for one in batch.column("msg_id").to_pylist())
