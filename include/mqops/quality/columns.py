"""What a suite can speak about: the columns of the frame that Great Expectations sees. Knows no Spark.

1. Message bytes, and texts that may quote them, are not among them: no payload reaches a result, a page or a table.
2. Identifiers and digests are lower-case hexadecimal text.
3. A column about the body is null where its question does not arise, and an expectation passes over null.
4. Where such a column says false, its `problem` column says where in the message, never what stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from mqops.observe.core.columns import SNAPSHOT_COLUMNS


class ColumnKind(Enum):
    """The kind of a column's values, in a user's words."""

    NUMBER = "a number"
    TEXT = "text"
    FLAG = "true or false"
    TIME = "a time"


class Source(Enum):
    """Where the values of a column come from; reading the body costs most."""

    SNAPSHOT = "snapshot"
    HEX = "snapshot, in hexadecimal"
    DERIVED = "derived from the snapshot's columns"
    BODY = "found by reading the body"
    PAYLOAD = "named by a suite: a value of the payload or a property"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column.

    Attributes: `meaning` for people, with units; `problem` the column that says where a message is at fault, if any.
    """

    name: str
    kind: ColumnKind
    source: Source
    meaning: str
    problem: str | None = None


IDENTITY = ("queue_manager", "queue", "position", "msg_key", "msg_id")
"""Columns that every frame has, to say which message is meant."""
PLACE = r"^[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)? at offset [0-9]+"
"""The beginning of an error of a structure: which field, and where."""
WITHHELD = frozenset({"md", "body", "dlh_error", "text_offset", "text_kind", "text_decoded", "properties"})
"""Columns of the snapshot that are payload, may quote it, or belong to such a column."""
_KINDS = {
    "string": ColumnKind.TEXT,
    "binary": ColumnKind.TEXT,
    "long": ColumnKind.NUMBER,
    "integer": ColumnKind.NUMBER,
    "timestamp": ColumnKind.TIME,
}
_MEANING = {
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
}


def _snapshot() -> Iterable[Column]:
    for name, kind, _nullable in SNAPSHOT_COLUMNS:
        if name not in WITHHELD:
            source = Source.HEX if kind == "binary" else Source.SNAPSHOT
            yield Column(name=name, kind=_KINDS[kind], source=source, meaning=_MEANING[name])


def _body(name: str, kind: ColumnKind, meaning: str, problem: str | None = None) -> Column:
    return Column(name=name, kind=kind, source=Source.BODY, meaning=meaning, problem=problem)


_DERIVED = (
    Column(
        name="age_seconds",
        kind=ColumnKind.NUMBER,
        source=Source.DERIVED,
        meaning="seconds from PutDate and PutTime to the snapshot; null if they are not a valid time",
    ),
    Column(
        name="expires_in_seconds",
        kind=ColumnKind.NUMBER,
        source=Source.DERIVED,
        meaning="seconds that were left of the message's life; null for unlimited",
    ),
    Column(
        name="dlh_valid",
        kind=ColumnKind.FLAG,
        source=Source.DERIVED,
        meaning="the body begins with a valid MQDLH",
        problem="dlh_problem",
    ),
    Column(
        name="dlh_problem",
        kind=ColumnKind.TEXT,
        source=Source.DERIVED,
        meaning="structure, field and byte where the body is not a valid MQDLH",
    ),
)

_BODY = (
    _body("headers", ColumnKind.TEXT, "MQ headers before the payload, such as MQDLH MQRFH2; empty for none"),
    _body("headers_valid", ColumnKind.FLAG, "every header is as its format says", "headers_problem"),
    _body("headers_problem", ColumnKind.TEXT, "structure, field and byte where the headers are at fault"),
    _body("rfh2_valid", ColumnKind.FLAG, "the MQRFH2 is well-formed; null where none is announced", "rfh2_problem"),
    _body("rfh2_problem", ColumnKind.TEXT, "structure, field and byte where the MQRFH2 is at fault"),
    _body("payload_format", ColumnKind.TEXT, "format of what follows the headers; empty for MQFMT_NONE"),
    _body("payload_ccsid", ColumnKind.NUMBER, "CCSID of what follows the headers"),
    _body("payload_length", ColumnKind.NUMBER, "bytes after the headers"),
    _body(
        "body_text_valid",
        ColumnKind.FLAG,
        "a payload of format MQSTR is text in its CCSID; null for other formats",
        "body_text_problem",
    ),
    _body(
        "body_text_problem",
        ColumnKind.TEXT,
        "byte of the body where it is not text, or the CCSID without a conversion",
    ),
    _body("payload_kind", ColumnKind.TEXT, "empty, binary, json, xml or text, by what the payload begins with"),
    _body(
        "payload_parses",
        ColumnKind.FLAG,
        "a payload that begins as JSON or XML is one; null for other kinds",
        "payload_problem",
    ),
    _body("payload_problem", ColumnKind.TEXT, "line and column where such a payload breaks off or is at fault"),
    _body(
        "payload_json_valid",
        ColumnKind.FLAG,
        "the payload is JSON in its CCSID, as BODY(JSON ...) of a rule reads it",
        "payload_json_problem",
    ),
    _body("payload_json_problem", ColumnKind.TEXT, "line and column where the payload is not JSON"),
    _body("payload_xml_valid", ColumnKind.FLAG, "the payload is well-formed XML in its CCSID", "payload_xml_problem"),
    _body("payload_xml_problem", ColumnKind.TEXT, "line and column where the payload is not XML"),
)

COLUMNS: Mapping[str, Column] = MappingProxyType({column.name: column for column in (*_snapshot(), *_DERIVED, *_BODY)})
"""Every column, by name."""


VALUE, TEST, PROBLEM = "value_", "test_", "_problem"
"""How the names of columns of `Source.PAYLOAD` begin, and end (`mqops.quality.payload`)."""


def problem_of(name: str) -> str | None:
    """The column that explains another one, where there is one."""
    if name in COLUMNS:
        return COLUMNS[name].problem
    return None if name.endswith(PROBLEM) else f"{name}{PROBLEM}"


def is_payload(name: str) -> bool:
    """Whether the values of a column are a message's payload, and never shown."""
    return name.startswith(VALUE) and not name.endswith(PROBLEM)


def problem_columns(names: Iterable[str]) -> set[str]:
    """The columns that explain these, where there are any."""
    return {problem for name in names if (problem := problem_of(name))}


def of_source(names: Iterable[str], source: Source) -> list[str]:
    """Those of the named columns that come from `source`, in the order of `COLUMNS`."""
    wanted = set(names)
    return [name for name, column in COLUMNS.items() if name in wanted and column.source is source]
