"""Values of message properties: how they lie in an application's memory and how one type becomes another.

What becomes what, and how, is IBM MQ, "MQIMPO", Options, MQIMPO_CONVERT_TYPE. Integers and floats are kept in the
native encoding, text in UTF-8.
"""

from __future__ import annotations

import re
import struct

from mqlite.failure import Failure
from mqwire import ccsid as sets
from mqwire import constants as c
from mqwire.errors import WireError

UTF_8 = 1208
NUMBERS = {
    c.MQTYPE_BOOLEAN: ("boolean", "<i"), c.MQTYPE_INT8: ("i1", "<b"), c.MQTYPE_INT16: ("i2", "<h"),
    c.MQTYPE_INT32: ("i4", "<i"), c.MQTYPE_INT64: ("i8", "<q"), c.MQTYPE_FLOAT32: ("r4", "<f"),
    c.MQTYPE_FLOAT64: ("r8", "<d"),
}  # fmt: skip
INTEGERS = (c.MQTYPE_INT8, c.MQTYPE_INT16, c.MQTYPE_INT32, c.MQTYPE_INT64)
FLOATS = (c.MQTYPE_FLOAT32, c.MQTYPE_FLOAT64)
TYPES = frozenset({*NUMBERS, c.MQTYPE_NULL, c.MQTYPE_STRING, c.MQTYPE_BYTE_STRING})
BECOMES: dict[int, frozenset[int]] = {
    c.MQTYPE_BOOLEAN: frozenset({c.MQTYPE_STRING, *INTEGERS}),
    c.MQTYPE_BYTE_STRING: frozenset({c.MQTYPE_STRING}),
    c.MQTYPE_INT8: frozenset({c.MQTYPE_STRING, *INTEGERS[1:]}),
    c.MQTYPE_INT16: frozenset({c.MQTYPE_STRING, *INTEGERS[2:]}),
    c.MQTYPE_INT32: frozenset({c.MQTYPE_STRING, c.MQTYPE_INT64}),
    c.MQTYPE_INT64: frozenset({c.MQTYPE_STRING}),
    c.MQTYPE_FLOAT32: frozenset({c.MQTYPE_STRING, c.MQTYPE_FLOAT64}),
    c.MQTYPE_FLOAT64: frozenset({c.MQTYPE_STRING}),
    c.MQTYPE_STRING: frozenset({c.MQTYPE_BOOLEAN, *INTEGERS, *FLOATS}),
}
TRUTH = {"TRUE": 1, "1": 1, "FALSE": 0, "0": 0}
_WHOLE = re.compile(r"([+-]?[0-9]+)")
_FLOATING = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")


def converted(value: bytes, kind: int, wanted: int) -> bytes:
    """The value of type `kind` as the type `wanted` has it.

    Raises Failure (MQRC_PROPERTY_TYPE_ERROR: no type; MQRC_PROP_CONV_NOT_SUPPORTED; MQRC_PROP_NUMBER_FORMAT_ERROR).
    """
    if wanted not in TYPES and wanted != c.MQTYPE_AS_SET:
        raise Failure(c.MQRC_PROPERTY_TYPE_ERROR)
    if wanted in (kind, c.MQTYPE_AS_SET):
        return value
    if wanted not in BECOMES.get(kind, frozenset()):
        raise Failure(c.MQRC_PROP_CONV_NOT_SUPPORTED)
    if kind == c.MQTYPE_BYTE_STRING:
        return value.hex().upper().encode()
    if kind == c.MQTYPE_STRING:
        return _from_text(value.decode("utf-8", "replace"), wanted)
    (number,) = struct.unpack(NUMBERS[kind][1], value)
    if wanted == c.MQTYPE_STRING:
        return _text(number, kind).encode()
    return struct.pack(NUMBERS[wanted][1], int(bool(number)) if kind == c.MQTYPE_BOOLEAN else number)


def _text(number: float, kind: int) -> str:
    if kind == c.MQTYPE_BOOLEAN:
        return "TRUE" if number else "FALSE"
    return f"{number:.9g}" if kind == c.MQTYPE_FLOAT32 else repr(number)


def _from_text(text: str, wanted: int) -> bytes:
    """Digits as far as they go; what follows them does not matter. Raises Failure (MQRC_PROP_NUMBER_FORMAT_ERROR)."""
    try:
        if wanted == c.MQTYPE_BOOLEAN:
            return struct.pack("<i", TRUTH[text.upper()])
        number = text.lstrip(" ")
        match = _FLOATING.match(number) if wanted in FLOATS else _WHOLE.match(number)
        if match is None:
            raise ValueError(text)
        return struct.pack(NUMBERS[wanted][1], float(match[1]) if wanted in FLOATS else int(match[1]))
    except (KeyError, ValueError, OverflowError, struct.error) as error:
        raise Failure(c.MQRC_PROP_NUMBER_FORMAT_ERROR) from error


def taken_in(value: bytes, kind: int, encoding: int, ccsid: int) -> bytes:
    """A value that the application gives in this encoding and CCSID, as it is kept.

    Raises Failure (MQRC_SOURCE_CCSID_ERROR).
    """
    if kind == c.MQTYPE_STRING and not is_utf_8(ccsid):
        try:
            return sets.decode(value, ccsid, encoding).encode()
        except WireError as error:
            raise Failure(c.MQRC_SOURCE_CCSID_ERROR) from error
    return _turned(value, kind, encoding)


def given_out(value: bytes, kind: int, encoding: int, ccsid: int) -> bytes:
    """A value as it is kept, in the encoding and CCSID that the application wants.

    Raises WireError where that cannot be.
    """
    if kind == c.MQTYPE_STRING and not is_utf_8(ccsid):
        return sets.encode(sets.decode(value, UTF_8), ccsid, encoding)
    return _turned(value, kind, encoding)


def is_utf_8(ccsid: int) -> bool:
    """Whether a CCSID is that of the programs of this machine, by number or as MQCCSI_APPL or MQCCSI_Q_MGR."""
    return ccsid in (UTF_8, c.MQCCSI_APPL, c.MQCCSI_Q_MGR)


def _turned(value: bytes, kind: int, encoding: int) -> bytes:
    """A number in the byte order that the encoding says."""
    mask, normal = c.MQENC_INTEGER_MASK, c.MQENC_INTEGER_NORMAL
    if kind in FLOATS:
        mask, normal = c.MQENC_FLOAT_MASK, c.MQENC_FLOAT_IEEE_NORMAL
    return value[::-1] if kind in NUMBERS and encoding & mask == normal else value
