"""What stands behind the first 32 bytes of a header that begins as MQIIH does: field tables, and one way to read them.

1. Offsets are those behind the 32 bytes of `mqwire.headers.MQH`. Byte order and CCSID are those of the header itself.
2. A field is read where the header is long enough and new enough (Version) to have it. Text that is not valid in the
   CCSID stays bytes: one field that cannot be read does not hide the others.
3. Fields named in ``SECRET`` are passwords (RACF, SAP): their value is None, whoever asks.
4. MQRFH has a string of names and values instead (IBM MQ, "MQRFH", NameValueString; "2335 MQRC_RFH_STRING_ERROR").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from mqwire.ccsid import decode
from mqwire.errors import WireError
from mqwire.fields import byte, char, long
from mqwire.layout import Layout

Value: TypeAlias = int | str | bytes | None
BEGIN = 32
"""Bytes of StrucId to Flags, with which each of these headers begins."""
SECRET = frozenset({"Authenticator", "Password"})

MQIIH_REST = Layout(
    "MQIIH",
    [
        *(char(name, 8) for name in ("LTermOverride", "MFSMapName", "ReplyToFormat", "Authenticator")),
        byte("TranInstanceId", 16),
        *(char(name, 1) for name in ("TranState", "CommitMode", "SecurityScope", "Reserved")),
    ],
)
_CICS_NUMBERS = (
    *("ReturnCode", "CompCode", "Reason", "UOWControl", "GetWaitInterval", "LinkType", "OutputDataLength"),
    *("FacilityKeepTime", "ADSDescriptor", "ConversationalTask", "TaskEndStatus"),
)
_CICS_CODES = (
    *("RemoteSysId", "RemoteTransId", "TransactionId", "FacilityLike", "AttentionId", "StartCode", "CancelCode"),
    "NextTransactionId",
)
MQCIH_REST = Layout(
    "MQCIH",
    [
        *(long(name) for name in _CICS_NUMBERS),
        byte("Facility", 8),
        *(char(name, 4) for name in ("Function", "AbendCode")),
        *(char(name, 8) for name in ("Authenticator", "Reserved1", "ReplyToFormat")),
        *(char(name, 4) for name in _CICS_CODES),
        *(char(name, 8) for name in ("Reserved2", "Reserved3")),
        *(long(name, since=2) for name in ("CursorPosition", "ErrorOffset", "InputItem", "Reserved4")),
    ],
)
MQDH_REST = Layout(
    "MQDH", [long(name) for name in ("PutMsgRecFields", "RecsPresent", "ObjectRecOffset", "PutMsgRecOffset")]
)
_PLACES = [f"{what}{of}" for what in ("SrcEnv", "SrcName", "DestEnv", "DestName") for of in ("Length", "Offset")]
MQRMH_REST = Layout(
    "MQRMH",
    [
        char("ObjectType", 8),
        byte("ObjectInstanceId", 24),
        *(long(name) for name in (*_PLACES, "DataLogicalLength", "DataLogicalOffset", "DataLogicalOffset2")),
    ],
)
MQWIH_REST = Layout(
    "MQWIH", [char("ServiceName", 32), char("ServiceStep", 8), byte("MsgToken", 16), char("Reserved", 32)]
)
MQSAPH_REST = Layout(
    "MQSAPH",
    [
        *(char("Client", 3), char("Language", 1), char("HostName", 48), char("UserId", 12)),
        *(char("Password", 8), char("SystemNumber", 2), byte("Reserved", 2)),
    ],
)
_PCF = (
    *("Type", "StrucLength", "Version", "Command", "MsgSeqNumber", "Control", "CompCode", "Reason"),
    "ParameterCount",
)
MQEPH_REST = Layout("MQEPH", [long(f"PCFHeader.{name}") for name in _PCF])

RESTS = {
    table.name: table for table in (MQIIH_REST, MQCIH_REST, MQDH_REST, MQRMH_REST, MQWIH_REST, MQSAPH_REST, MQEPH_REST)
}
"""MQ's name of a header -> its fields behind the first 32 bytes."""


def fields_of(name: str, version: int, rest: bytes, encoding: int, ccsid: int) -> tuple[dict[str, Value], bytes]:
    """The fields of a header behind its first 32 bytes by MQ's names, and the bytes that no field has.

    :param name: MQ's name of the header; of one that has no table all bytes are given back
    :param version: its Version
    :param rest: its bytes from 32 to StrucLength
    :param encoding: Encoding of its own integers
    :param ccsid: CCSID of its own text
    """
    found: dict[str, Value] = {}
    layout = RESTS.get(name)
    end = 0
    for field in layout.fields if layout else ():
        assert layout is not None
        at = layout.offset(field.name)
        if field.since > version or at + field.width > len(rest):
            break
        end = at + field.width
        (value,) = layout.reader(field.name, encoding=encoding)(rest)
        if field.name in SECRET:
            value = None
        elif field.kind == "char":
            value = _text(value, ccsid)
        found[field.name] = value
    return found, rest[end:]


def _text(raw: bytes, ccsid: int) -> str | bytes:
    try:
        return decode(raw, ccsid).rstrip(" ")
    except WireError:
        return raw


def name_value_pairs(rest: bytes, encoding: int, ccsid: int) -> tuple[tuple[str, str], ...]:
    """The names and values of an MQRFH.

    :param rest: its bytes from 32 to StrucLength
    :raises WireError: the string is not text in the CCSID, a quotation mark is not closed, or a name has no value;
        the message holds nothing of the string
    """
    try:
        text = decode(rest, ccsid, encoding).partition("\0")[0]
    except WireError as error:
        why = f"it is not text in CCSID {ccsid}"
        raise WireError("MQRFH", "NameValueString", BEGIN, why) from error
    words = list(_words(text))
    if len(words) % 2:
        raise WireError("MQRFH", "NameValueString", BEGIN, f"{len(words)} words are not pairs of a name and a value")
    return tuple(zip(words[::2], words[1::2], strict=True))


_WORD = re.compile(r' *(?:"((?:[^"]|"")*)"(?![^ ])|([^ "][^ ]*))')


def _words(text: str) -> Iterator[str]:
    """Words parted by blanks; one in quotation marks may have blanks, and quotation marks that are doubled."""
    at, end = 0, len(text.rstrip(" "))
    while at < end:
        word = _WORD.match(text, at, end)
        if word is None:
            raise WireError("MQRFH", "NameValueString", BEGIN, "a quotation mark is not closed")
        quoted, plain = word.groups()
        yield plain if quoted is None else quoted.replace('""', '"')
        at = word.end()
