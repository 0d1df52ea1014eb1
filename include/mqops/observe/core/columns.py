"""The columns of a snapshot, in order. Arrow's and Spark's schema follow from the class of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Annotated, TypeAlias

from typing_extensions import TypedDict

from mqops.plan_row import Bytes, Integer, Long, Text, columns_of
from mqops.rules.keywords import PATTERN_KEYWORDS
from mqwire import constants as c

Time: TypeAlias = Annotated[datetime, "timestamp"]


class SnapshotRow(TypedDict, total=False):
    """A message of a snapshot; one that was read has the columns that were asked for."""

    queue_manager: Text
    queue: Text
    position: Long
    md: Bytes
    body: Bytes
    body_length: Long
    body_sha256: Bytes
    msg_key: Text
    observed_at: Time
    msg_id: Bytes
    correl_id: Bytes
    group_id: Bytes
    msg_seq_number: Integer
    msg_offset: Integer
    msg_flags: Integer
    report: Integer
    msg_type: Integer
    expiry: Integer
    feedback: Integer
    encoding: Integer
    ccsid: Integer
    format: Text
    priority: Integer
    persistence: Integer
    backout_count: Integer
    reply_to_q: Text
    reply_to_q_mgr: Text
    user_identifier: Text
    appl_identity_data: Text
    put_appl_type: Integer
    put_appl_name: Text
    put_date: Text
    put_time: Text
    dlh_reason: Integer | None
    dlh_dest_q: Text | None
    dlh_dest_q_mgr: Text | None
    dlh_encoding: Integer | None
    dlh_ccsid: Integer | None
    dlh_format: Text | None
    dlh_put_appl_type: Integer | None
    dlh_put_appl_name: Text | None
    dlh_put_date: Text | None
    dlh_put_time: Text | None
    dlh_error: Text | None
    jms_destination: Text | None
    text_offset: Integer | None
    text_kind: Text | None
    text_decoded: Text | None
    properties: Text | None


SNAPSHOT_COLUMNS = columns_of(SnapshotRow)
NUMBER_COLUMNS = tuple(one.name for one in SNAPSHOT_COLUMNS if one.type in ("integer", "long"))
"""What a condition of a rules table can compare with a number."""

PATTERN_COLUMNS: Mapping[str, str] = {name: keyword.columns[0] for name, keyword in PATTERN_KEYWORDS.items()}
"""Pattern keyword of a rules table → the column it is compared with (`mqops.rules.keywords`)."""
_patterns = itemgetter(*PATTERN_COLUMNS.values())

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


def pattern_values(message: SnapshotRow) -> dict[str, str | int | None]:
    """Pattern keyword → the message's value; None where it has none."""
    return dict(zip(PATTERN_COLUMNS, _patterns(message), strict=True))


BOUND = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP | c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT
"""MsgFlags of a message that belongs to a group, or is a segment."""
