"""The MQMD as the engine touches it: a few fields of 364 bytes, read and written in place. Its layout is mqwire's.

A stored descriptor is always version 2: what a version 1 program does not say has its initial value.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from time import time
from typing import Any

from mqwire import constants as c
from mqwire import mqi
from mqwire.ccsid import decode, encode
from mqwire.errors import WireError
from mqwire.fields import text
from mqwire.structures import MQMD

LENGTH_1 = mqi.MQMD.length(1)
LENGTH_2 = mqi.MQMD.length(2)
EMPTY = MQMD().pack()
EXTENSION = EMPTY[LENGTH_1:]
LONGEST_EXPIRY = 999_999_999
"""Tenths of a second, the most that MQMD.Expiry may say."""
BLANK = b" " * 48
"""A name that is not there, in a descriptor whose texts are padded with blanks (`full`)."""
IDENTITY_CONTEXT = slice(mqi.MQMD.offset("UserIdentifier"), mqi.MQMD.offset("PutApplType"))
ALL_CONTEXT = slice(mqi.MQMD.offset("UserIdentifier"), mqi.MQMD.offset("GroupId"))
"""Where the context of a message stands: MQMD has its fields side by side."""

version = mqi.MQMD.reader("StrucId", "Version")
for_put = mqi.MQMD.reader(
    "Report", "MsgType", "Expiry", "Feedback", "Encoding", "CodedCharSetId", "Priority", "Persistence",
    "MsgId", "CorrelId", "GroupId", "MsgSeqNumber", "Offset", "MsgFlags",
)  # fmt: skip
encoding_of = mqi.MQMD.reader("Encoding", "CodedCharSetId")
identity_context = mqi.MQMD.reader("UserIdentifier", "AccountingToken", "ApplIdentityData")
for_match = mqi.MQMD.reader("MsgId", "CorrelId", "GroupId", "MsgSeqNumber", "Offset")
reply_to = mqi.MQMD.reader("ReplyToQ", "ReplyToQMgr")
set_identity = mqi.MQMD.writer("UserIdentifier", "AccountingToken", "ApplIdentityData")
set_origin = mqi.MQMD.writer("PutApplType", "PutApplName", "PutDate", "PutTime", "ApplOriginData")
set_resolved = mqi.MQMD.writer("CodedCharSetId", "Priority", "Persistence", "MsgId", "CorrelId", "BackoutCount")
set_encoding = mqi.MQMD.writer("Encoding", "CodedCharSetId")
flags = mqi.MQMD.reader("MsgFlags")
set_expiry = mqi.MQMD.writer("Expiry")
set_version = mqi.MQMD.writer("Version")
set_backout_count = mqi.MQMD.writer("BackoutCount")
set_reply_to = mqi.MQMD.writer("ReplyToQ", "ReplyToQMgr")
set_format = mqi.MQMD.writer("Format")
version_2 = mqi.MQMD.reader(
    "MsgId", "CorrelId", "GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength"
)  # fmt: skip
set_version_2 = mqi.MQMD.writer("GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength")


_format = mqi.MQMD.reader("Format")
_TEXTS = [
    (mqi.MQMD.offset(field.key), mqi.MQMD.offset(field.key) + field.length)
    for field in mqi.MQMD.fields
    if field.kind == "char" and field.name != "StrucId"
]


TRANSMITTED = c.MQFMT_XMIT_Q_HEADER.encode().ljust(8)
_report = mqi.MQMD.reader("Report")
_expiry = mqi.MQMD.reader("Expiry")
_persistence = mqi.MQMD.reader("Persistence")


def report_of(md: Any) -> int:
    """MQMD.Report."""
    return int(_report(md)[0])


def expiry_of(md: Any) -> int:
    """MQMD.Expiry, tenths of a second."""
    return int(_expiry(md)[0])


def persistence_of(md: Any) -> int:
    """MQMD.Persistence, MQPER_*."""
    return int(_persistence(md)[0])


def flags_of(md: Any) -> int:
    """MQMD.MsgFlags, MQMF_*."""
    return int(flags(md)[0])


def is_transmitted(md: Any) -> bool:
    """Whether MQMD.Format says that an MQXQH begins the data."""
    return bool(_format(md)[0] == TRANSMITTED)


def format_of(md: Any) -> str:
    """MQMD.Format without its padding."""
    return text(_format(md)[0])


def full(raw: Any, given_version: int) -> bytearray:
    """A version 2 descriptor from what a program passed; text that ends with a NUL is blank from there on."""
    if given_version >= 2:
        found = bytearray(raw[:LENGTH_2])
    else:
        found = bytearray(raw[:LENGTH_1]) + EXTENSION
        set_version(found, 2)
    for start, end in _TEXTS:
        nul = found.find(0, start, end)
        if nul >= 0:
            found[nul:end] = b" " * (end - nul)
    return found


_last_second: tuple[int, str, str] = (0, "", "")


def put_moment() -> tuple[str, str]:
    """PutDate YYYYMMDD and PutTime HHMMSSTH, GMT, now."""
    global _last_second  # noqa: PLW0603
    now = time()
    second, date, clock = _last_second
    if second != int(now):
        second = int(now)
        moment = datetime.fromtimestamp(second, UTC)
        date, clock = moment.strftime("%Y%m%d"), moment.strftime("%H%M%S")
        _last_second = (second, date, clock)
    return date, f"{clock}{int((now - second) * 100):02d}"


@lru_cache(maxsize=1024)
def field_of(value: str, length: int, ccsid: int) -> bytes:
    """A text as programs get it, in the character set of theirs, with blanks to its length in bytes.

    A character that has no place in it, or does not exist in it, is left out with those behind it: DEFINE refuses such
    a text, but earlier versions counted characters. They also took any CCSID for a queue manager: Latin-1 is given in
    place of one that is unknown, or no ASCII.
    """
    for end in range(len(value), 0, -1):
        with suppress(WireError):
            encoded = encode("AA" + value[:end], ccsid)
            if encoded[:2] == b"AA" and len(encoded) <= length + 2:
                return encoded[2:].ljust(length)
    return value.encode("latin-1", "replace")[:length].ljust(length)


def text_of_program(given: str, ccsid: int) -> str:
    """A text that a program gives in its character set; what is none stays as it is.

    Parameters: `given` each byte as a Latin-1 character, as `mqwire.fields.text` has it.
    """
    if given.isascii():
        return given
    try:
        return decode(given.encode("latin-1"), ccsid)
    except WireError:
        return given
