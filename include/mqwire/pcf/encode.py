"""PCF values to bytes, in either byte order. Lengths and counts are worked out; nothing is truncated."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeAlias

from mqwire import constants as c
from mqwire.ccsid import Codec, codec_for
from mqwire.errors import NotText, WireError
from mqwire.layout import byte_order
from mqwire.pcf.decode import list_length
from mqwire.pcf.structures import (
    BY_STRUCTURE,
    MQCFBF,
    MQCFBS,
    MQCFGR,
    MQCFH_LAYOUT,
    MQCFIF,
    MQCFIL,
    MQCFIN,
    MQCFIN64,
    MQCFSF,
    MQCFSL,
    MQCFST,
    Message,
    Parameter,
)

_Parts: TypeAlias = tuple[tuple[int, ...], bytes, bytes | None]
_ATTRIBUTES = {  # fields that are given; the others are worked out
    **{"Parameter": "parameter", "Value": "value", "FilterValue": "value"},
    **{"CodedCharSetId": "ccsid", "Operator": "operator", "Reserved": "reserved"},
}


def encode(message: Message, *, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> bytes:
    """The bytes of a PCF message.

    :param encoding: Encoding of the message data
    :param ccsid: CCSID of the message data, for strings that say MQCCSI_DEFAULT
    :raises WireError: a value is out of range, too long for its ``length``, or not in its CCSID; the offset is that of
        the field in its own structure
    """
    header = message.header
    values = {name: getattr(header, name) for name in header.__slots__}
    values |= {"parameter_count": len(message.parameters)}
    head = MQCFH_LAYOUT.pack(values, encoding=encoding)
    writer = _Writer(order=byte_order(encoding), encoding=encoding, ccsid=ccsid)
    return head + b"".join(map(writer.parameter, message.parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    order: str
    encoding: int
    ccsid: int

    def parameter(self, item: Parameter) -> bytes:
        try:
            fixed, data, padding = self._parts(item)
            return self._structure(item, fixed, data, padding)
        except struct.error as error:
            raise _unfit(item, error) from error

    def _parts(self, item: Parameter) -> _Parts:
        """The fixed fields after Parameter, the data, and the padding asked for."""
        parts: _Parts
        match item:
            case MQCFIN():
                parts = (item.value,), b"", None
            case MQCFIN64():
                parts = (item.reserved,), struct.pack(f"{self.order}q", item.value), None
            case MQCFIF():
                parts = (item.operator, item.value), b"", None
            case MQCFGR():
                parts = (len(item.value),), b"", None
            case MQCFBS():
                parts = (len(item.value),), item.value, item.padding
            case MQCFBF():
                parts = (item.operator, len(item.value)), item.value, item.padding
            case MQCFST():
                data = self._text(item, self._codec(item), item.value, item.length)
                parts = (item.ccsid, len(data)), data, item.padding
            case MQCFSF():
                data = self._text(item, self._codec(item), item.value, item.length)
                parts = (item.operator, item.ccsid, len(data)), data, item.padding
            case MQCFSL():
                length, data = self._list(item)
                parts = (item.ccsid, len(item.value), length), data, item.padding
            case _:
                code = "i" if isinstance(item, MQCFIL) else "q"
                data = struct.pack(f"{self.order}{len(item.value)}{code}", *item.value)
                parts = (len(item.value),), data, item.padding
        return parts

    def _structure(self, item: Parameter, fixed: tuple[int, ...], data: bytes, padding: bytes | None) -> bytes:
        shape = BY_STRUCTURE[type(item)]
        tail = bytes(-len(data) % 4) if padding is None else padding
        length = shape.size + len(data) + len(tail)
        if length % 4:
            raise WireError(type(item).__name__, "StrucLength", 4, f"{length} is not a multiple of 4")
        head = struct.pack(f"{self.order}{len(shape.fields) + 2}i", shape.kind, length, item.parameter, *fixed)
        members = map(self.parameter, item.value) if isinstance(item, MQCFGR) else ()
        return b"".join([head, data, tail, *members])

    def _list(self, item: MQCFSL) -> tuple[int, bytes]:
        codec, length = self._codec(item), item.length
        if length is None:
            try:
                length = list_length(item.value, codec)
            except UnicodeError as error:
                raise NotText("MQCFSL", "Strings", 24, f"text is not in CCSID {codec.ccsid}") from error
        if length == 0 and len(item.value) > 1:
            raise WireError("MQCFSL", "StringLength", 20, f"{len(item.value)} strings of no length")
        return length, b"".join(self._text(item, codec, text, length) for text in item.value)

    def _codec(self, item: MQCFST | MQCFSF | MQCFSL) -> Codec:
        own = self.ccsid if item.ccsid == c.MQCCSI_DEFAULT else item.ccsid
        at = 8 + 4 * BY_STRUCTURE[type(item)].fields.index("CodedCharSetId")
        return codec_for(own, type(item).__name__, at, self.encoding)

    def _text(self, item: Parameter, codec: Codec, text: str, length: int | None) -> bytes:
        title, field = type(item).__name__, BY_STRUCTURE[type(item)].data
        at = BY_STRUCTURE[type(item)].size
        try:
            raw = codec.encode(text)
        except UnicodeError as error:
            raise NotText(title, field, at, f"{text!r} is not in CCSID {codec.ccsid}") from error
        if length is None:
            return raw
        blanks, odd = divmod(length - len(raw), len(codec.blank))
        if blanks < 0 or odd:
            raise WireError(title, field, at, f"{text!r} has {len(raw)} bytes and does not fill {length}")
        return raw + codec.blank * blanks


def _unfit(item: Parameter, error: struct.error) -> WireError:
    """Which value the structure does not take."""
    shape = BY_STRUCTURE[type(item)]
    for place, field in enumerate(shape.fields):
        value = getattr(item, _ATTRIBUTES.get(field, ""), 0)
        if not isinstance(value, int) or not -(2**31) <= value < 2**31:
            return WireError(type(item).__name__, field, 8 + 4 * place, f"parameter {item.parameter}: {error}")
    return WireError(type(item).__name__, shape.data, shape.size, f"parameter {item.parameter}: {error}")
