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

from mqops.observe.core.column_texts import MEANING
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


def _snapshot() -> Iterable[Column]:
    for name, kind, _nullable in SNAPSHOT_COLUMNS:
        if name not in WITHHELD:
            source = Source.HEX if kind == "binary" else Source.SNAPSHOT
            yield Column(name=name, kind=_KINDS[kind], source=source, meaning=MEANING[name])


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
    _body("rfh2_valid", ColumnKind.FLAG, "the MQRFH2 is well-formed; null where there is none", "rfh2_problem"),
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
