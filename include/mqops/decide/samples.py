"""The masked texts of a plan's samples, which stand in the snapshot."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from mqops.decide.core.mask import TextRow, shape
from mqops.lake.bodies import rows_with


def masked(snapshot: Path, samples: Collection[tuple[bytes, bytes]]) -> dict[tuple[bytes, bytes], str]:
    """(MsgId, SHA-256 of the body) → masked text. Several such messages have the same text.

    Raises:
        LakeError: the snapshot cannot be read.
    """
    msg_ids, digests = {msg_id for msg_id, _digest in samples}, {digest for _msg_id, digest in samples}
    wanted = {"msg_id": msg_ids, "body_sha256": digests}
    return {(row.msg_id, row.body_sha256): shape(row) for row in rows_with(snapshot, wanted, TextRow)}
