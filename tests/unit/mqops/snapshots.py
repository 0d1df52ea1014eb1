"""Recorded snapshots without a queue manager: dead letters written to Parquet as observing writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mq_support import dead_letter
from snapshot_support import browsed, written_snapshot

from mqops.lake.run import RunFolder
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
    "PutDate": "put_date",
    "PutTime": "put_time",
    "BackoutCount": "backout_count",
    "CorrelId": "correl_id",
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
    of = browsed(queue, datetime.fromisoformat(observed_at).astimezone(UTC))
    given = ((_md(number, fields), body) for number, (fields, body) in enumerate(messages, 1))
    return written_snapshot(RunFolder.at(lake, "QM1", run), of, given)


def msg_id(number: int) -> str:
    """The MsgId (hex) of the `number`-th message, from 1."""
    return number.to_bytes(24, "big").hex()


def _md(number: int, fields: dict[str, Any]) -> bytes:
    names = {_MD_NAMES[name]: value for name, value in fields.items()}
    fixed = {"version": 2, "msg_id": number.to_bytes(24, "big"), "put_date": "20260102", "put_time": "03040500"}
    return MQMD_LAYOUT.pack({**fixed, **names})


__all__ = ["dead_letter", "msg_id", "recorded"]
