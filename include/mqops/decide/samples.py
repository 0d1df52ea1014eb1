"""The masked texts of a plan's samples, which stand in the snapshot."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from mqops.lake.bodies import rows_with
from mqops.lake.parquet import is_sealed
from mqops.observe.core.mask import TextRow, shape


class _Masked(NamedTuple):
    """As `TextRow`, of a snapshot whose bodies are encrypted: the shape stands there, and needs no key."""

    msg_id: bytes
    body_sha256: bytes
    masked: str


def masked(snapshot: Path, samples: Collection[tuple[bytes, bytes]]) -> dict[tuple[bytes, bytes], str]:
    """(MsgId, SHA-256 of the body) → masked text. Several such messages have the same text.

    Raises:
        LakeError: the snapshot cannot be read.
    """
    msg_ids, digests = {msg_id for msg_id, _digest in samples}, {digest for _msg_id, digest in samples}
    wanted = {"msg_id": msg_ids, "body_sha256": digests}
    if samples and is_sealed(snapshot):
        return {(row.msg_id, row.body_sha256): row.masked for row in rows_with(snapshot, wanted, _Masked)}
    return {(row.msg_id, row.body_sha256): shape(row) for row in rows_with(snapshot, wanted, TextRow)}
