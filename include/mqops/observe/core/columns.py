"""The columns of a snapshot, in order. `mqops.observe.spark.schema.SNAPSHOT` is the same list in Spark's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from mqops.rules.keywords import PATTERN_KEYWORDS
from mqwire import constants as c

ColumnType: TypeAlias = Literal["string", "binary", "long", "integer", "timestamp"]


def _columns(kind: ColumnType, names: str, *, nullable: bool = False) -> tuple[tuple[str, ColumnType, bool], ...]:
    return tuple((name, kind, nullable) for name in names.split())


SNAPSHOT_COLUMNS: tuple[tuple[str, ColumnType, bool], ...] = (
    *_columns("string", "queue_manager queue"),
    *_columns("long", "position"),
    *_columns("binary", "md body"),
    *_columns("long", "body_length"),
    *_columns("binary", "body_sha256"),
    *_columns("string", "msg_key"),
    *_columns("timestamp", "observed_at"),
    *_columns("binary", "msg_id correl_id group_id"),
    *_columns("integer", "msg_seq_number msg_offset msg_flags report msg_type expiry feedback encoding ccsid"),
    *_columns("string", "format"),
    *_columns("integer", "priority persistence backout_count"),
    *_columns("string", "reply_to_q reply_to_q_mgr user_identifier appl_identity_data"),
    *_columns("integer", "put_appl_type"),
    *_columns("string", "put_appl_name put_date put_time"),
    *_columns("integer", "dlh_reason", nullable=True),
    *_columns("string", "dlh_dest_q dlh_dest_q_mgr", nullable=True),
    *_columns("integer", "dlh_encoding dlh_ccsid", nullable=True),
    *_columns("string", "dlh_format", nullable=True),
    *_columns("integer", "dlh_put_appl_type", nullable=True),
    *_columns("string", "dlh_put_appl_name dlh_put_date dlh_put_time dlh_error", nullable=True),
    *_columns("string", "jms_destination", nullable=True),
    *_columns("integer", "text_offset", nullable=True),
    *_columns("string", "text_kind text_decoded properties", nullable=True),
)
"""(name, type, may be null)."""

PATTERN_COLUMNS: Mapping[str, str] = {name: keyword.columns[0] for name, keyword in PATTERN_KEYWORDS.items()}
"""Pattern keyword of a rules table → the column it is compared with (`mqops.rules.keywords`)."""

NAME_COLUMNS: Mapping[str, str] = {
    "&DESTQ": "dlh_dest_q",
    "&DESTQM": "dlh_dest_q_mgr",
    "&ORIGQ": "dlh_dest_q",
    "&REPLYQ": "reply_to_q",
    "&REPLYQM": "reply_to_q_mgr",
}
"""&-name of a rules table → the column it stands for (IBM MQ, "DLQ rules table patterns and actions").

&ORIGQ: see `mqops.backout.core.decision`.
"""

BOUND = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP | c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT
"""MsgFlags of a message that belongs to a group, or is a segment."""
