"""What each column of a snapshot means, its unit and where it comes from. `docs/snapshots.md` and suites have it.

A column is stable: its name, type and meaning stay in every version with the same format number of Parquet files
(`mqops.formats`). Those of `MAY_CHANGE` are made for people and for mqops itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.plan_row import Column

MEANING: Mapping[str, str] = {
    "queue_manager": "the queue manager",
    "queue": "the queue that was browsed",
    "position": "place on the queue as browsed, from 0",
    "body_length": "bytes after the MQMD, headers included",
    "body_sha256": "SHA-256 of everything after the MQMD, in hexadecimal",
    "msg_key": "the message's identity in the lake",
    "observed_at": "when the browse of the queue began, UTC",
    "msg_id": "MQMD.MsgId, in hexadecimal",
    "correl_id": "MQMD.CorrelId, in hexadecimal",
    "group_id": "GroupId of the MQMD, or of the MQMDE into which the queue manager moved it, in hexadecimal",
    "msg_seq_number": "MsgSeqNumber of the same: place in the MQ group, from 1",
    "msg_offset": "Offset of the same: bytes of the logical message before this segment",
    "msg_flags": "MsgFlags of the same: group and segment flags, added up",
    "report": "MQMD.Report: report options, added up",
    "msg_type": "MQMD.MsgType, such as MQMT_REQUEST",
    "expiry": "MQMD.Expiry: tenths of a second that were left, -1 for unlimited",
    "feedback": "MQMD.Feedback: what a report says; 0 for none",
    "encoding": "MQMD.Encoding of numbers in what follows the MQMD",
    "ccsid": "MQMD.CodedCharSetId of text in what follows the MQMD",
    "format": "MQMD.Format of what follows the MQMD; empty for MQFMT_NONE",
    "priority": "MQMD.Priority, 0 to 9",
    "persistence": "MQMD.Persistence: MQPER_PERSISTENT or MQPER_NOT_PERSISTENT",
    "backout_count": "MQMD.BackoutCount: how often a get of it was backed out",
    "reply_to_q": "MQMD.ReplyToQ; empty for none",
    "reply_to_q_mgr": "MQMD.ReplyToQMgr; empty for none",
    "user_identifier": "MQMD.UserIdentifier: the user who put it",
    "appl_identity_data": "MQMD.ApplIdentityData",
    "put_appl_type": "MQMD.PutApplType, such as MQAT_UNIX",
    "put_appl_name": "MQMD.PutApplName: the program that put it",
    "put_date": "MQMD.PutDate: YYYYMMDD, UTC",
    "put_time": "MQMD.PutTime: HHMMSSTH, UTC",
    "dlh_reason": "MQDLH.Reason: why it is a dead letter, such as MQRC_Q_FULL; null without a valid MQDLH",
    "dlh_dest_q": "MQDLH.DestQName: the queue it was for",
    "dlh_dest_q_mgr": "MQDLH.DestQMgrName: the queue manager it was for",
    "dlh_encoding": "MQDLH.Encoding of numbers in what follows the MQDLH",
    "dlh_ccsid": "MQDLH.CodedCharSetId of text in what follows the MQDLH",
    "dlh_format": "MQDLH.Format of what follows the MQDLH",
    "dlh_put_appl_type": "MQDLH.PutApplType of the program that made it a dead letter",
    "dlh_put_appl_name": "MQDLH.PutApplName: the program that made it a dead letter",
    "dlh_put_date": "MQDLH.PutDate: when it became a dead letter, YYYYMMDD, UTC",
    "dlh_put_time": "MQDLH.PutTime: HHMMSSTH, UTC",
    "jms_destination": "where a JMS sender put it (MQRFH2 `jms/Dst`); null for none",
    "md": "the MQMD as it was got, byte for byte",
    "body": "all that follows the MQMD, byte for byte; encrypted where the estate says so",
    "dlh_error": "why there is no valid MQDLH; null where there is one",
    "text_offset": "where the data behind all headers begin; null where they cannot be found",
    "text_kind": "what the data are taken for; null where they cannot be found",
    "text_decoded": "the data as text where they are text, an NL of EBCDIC as a line feed; encrypted with the body",
    "properties": "message properties of an MQRFH2, as JSON; encrypted with the body",
}
"""Column → what it has, in a sentence without a stop."""
UNIT: Mapping[str, str] = {
    "body_length": "bytes",
    "position": "from 0",
    "observed_at": "UTC, microseconds",
    "expiry": "tenths of a second",
    "msg_offset": "bytes",
    "text_offset": "bytes",
    "put_date": "YYYYMMDD, UTC",
    "put_time": "HHMMSSTH, UTC",
    "dlh_put_date": "YYYYMMDD, UTC",
    "dlh_put_time": "HHMMSSTH, UTC",
    "priority": "0 to 9",
    "msg_seq_number": "from 1",
    "backout_count": "gets",
}
"""Column → its unit or form; the others have none."""
OF_MQOPS = frozenset(
    {"queue_manager", "queue", "position", "body_length", "body_sha256", "msg_key", "observed_at", "dlh_error"}
)
MAY_CHANGE = frozenset({"dlh_error", "text_offset", "text_kind", "text_decoded", "properties"})
_PAGES = {
    "MQMD": "MQMD - Message descriptor",
    "MQDLH": "MQDLH - Dead-letter header",
    "MQRFH2": "MQRFH2 - Rules and formatting header 2",
}
"""Structure → the title of its page in IBM's documentation of IBM MQ."""
_OF_MQRFH2 = frozenset({"jms_destination", "properties"})
_OTHER = {
    "body": "the message",
    "text_offset": "the message",
    "text_kind": "the message",
    "text_decoded": "the message",
}
_FIELDS = {"ccsid": "CodedCharSetId", "dlh_ccsid": "CodedCharSetId", "msg_offset": "Offset", "msg_id": "MsgId"}
_FIELDS |= {"dlh_dest_q": "DestQName", "dlh_dest_q_mgr": "DestQMgrName", "reply_to_q_mgr": "ReplyToQMgr"}


class Described(NamedTuple):
    """A column for people. Parameters: `source` field of the structure, "mqops" for what it adds; `page` of IBM's
    documentation, "" for none."""

    column: Column
    meaning: str
    unit: str
    source: str
    page: str
    stable: bool


def described() -> tuple[Described, ...]:
    """Each column of a snapshot, in order."""
    return tuple(
        Described(one, MEANING[one.name], UNIT.get(one.name, ""), *_source(one.name), one.name not in MAY_CHANGE)
        for one in SNAPSHOT_COLUMNS
    )


def _source(name: str) -> tuple[str, str]:
    if name in OF_MQOPS:
        return "mqops", ""
    if name in _OTHER:
        return _OTHER[name], ""
    if name == "md":
        return "MQMD", _PAGES["MQMD"]
    structure = "MQRFH2" if name in _OF_MQRFH2 else "MQDLH" if name.startswith("dlh_") else "MQMD"
    field = _FIELDS.get(name, "".join(part.capitalize() for part in name.removeprefix("dlh_").split("_")))
    return (structure if structure == "MQRFH2" else f"{structure}.{field}"), _PAGES[structure]
