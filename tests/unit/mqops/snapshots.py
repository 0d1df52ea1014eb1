"""Recorded snapshots without a queue manager: dead letters written to Parquet as observing writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mq_support import dead_letter

from mqops.lake.files import make_folder
from mqops.lake.parquet import write_parquet
from mqops.lake.run import RunFolder
from mqops.observe import snapshot
from mqops.observe.arrow import SNAPSHOT, batches
from mqops.observe.core.decode import row_maker
from mqwire.structures import MQMD_LAYOUT

OBSERVED = "2026-01-03T03:04:05+00:00"
_MD_NAMES = {
    "Format": "format",
    "Encoding": "encoding",
    "CodedCharSetId": "coded_char_set_id",
    "MsgType": "msg_type",
    "ReplyToQ": "reply_to_q",
    "PutApplName": "put_appl_name",
    "UserIdentifier": "user_identifier",
}


def recorded(
    lake: Path,
    messages: Sequence[tuple[dict[str, Any], bytes]],
    *,
    run: str = "run1",
    queue: str = "DLQ",
    observed_at: str = OBSERVED,
) -> RunFolder:
    """The run folder LAKE/QM1/runs/<run> with a snapshot of these messages (MQMD fields, body), MsgIds 1, 2, ..."""
    folder = RunFolder.at(lake, "QM1", run)
    snapshot.begin(folder)
    make_folder(folder.snapshot)
    row = row_maker("QM1", queue, datetime.fromisoformat(observed_at).astimezone(UTC))
    rows = [row(position, _md(position + 1, fields), body) for position, (fields, body) in enumerate(messages)]
    write_parquet(folder.snapshot, SNAPSHOT, batches(rows))
    snapshot.finish(folder, "QM1", [queue], observed_at)
    return folder


def msg_id(number: int) -> str:
    """The MsgId (hex) of the `number`-th message, from 1."""
    return number.to_bytes(24, "big").hex()


def _md(number: int, fields: dict[str, Any]) -> bytes:
    names = {_MD_NAMES[name]: value for name, value in fields.items()}
    fixed = {"version": 2, "msg_id": number.to_bytes(24, "big"), "put_date": "20260102", "put_time": "03040500"}
    return MQMD_LAYOUT.pack({**fixed, **names})


__all__ = ["dead_letter", "msg_id", "recorded"]
