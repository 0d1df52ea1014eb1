"""PCF bytes to values, in either byte order. Every length and count is checked before it is believed.

1. StrucLength is a multiple of 4, at least the fixed part and its data, and within the message.
2. ParameterCount of the header counts the parameters outside groups; that of a group those in it.
3. A parameter type that is not one of the eleven is refused: what it means can not be known.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from mqwire import constants as c
from mqwire.ccsid import Codec, codec_for
from mqwire.errors import CutShort, NotText, WireError
from mqwire.layout import Buffer, byte_order
from mqwire.pcf.structures import (
    BY_KIND,
    MQCFBF,
    MQCFBS,
    MQCFGR,
    MQCFH,
    MQCFH_LAYOUT,
    MQCFIF,
    MQCFIL,
    MQCFIL64,
    MQCFIN,
    MQCFIN64,
    MQCFSF,
    MQCFSL,
    MQCFST,
    Message,
    Parameter,
    Shape,
)

DEPTH = 32
LEAST = 16


def decode(raw: Buffer, *, encoding: int = c.MQENC_NATIVE, ccsid: int = 819, offset: int = 0) -> Message:
    """The PCF message that fills ``raw`` from ``offset`` to its end.

    :param encoding: Encoding of the message data
    :param ccsid: CCSID of the message data, for strings that say MQCCSI_DEFAULT
    :raises WireError: naming structure, field and offset; also if bytes are left over
    """
    message, end = decode_from(raw, encoding=encoding, ccsid=ccsid, offset=offset)
    if end != len(raw):
        at = offset + MQCFH_LAYOUT.offset("parameter_count")
        why = f"{len(raw) - end} bytes follow the last parameter, which ends at {end}"
        raise WireError("MQCFH", "ParameterCount", at, why)
    return message


def decode_from(
    raw: Buffer, *, encoding: int = c.MQENC_NATIVE, ccsid: int = 819, offset: int = 0
) -> tuple[Message, int]:
    """The PCF message that begins at ``offset``, and the offset after it (as inside an MQEPH).

    :raises WireError: naming structure, field and offset
    """
    values = MQCFH_LAYOUT.unpack(raw, offset=offset, encoding=encoding)
    length, count = values.pop("struc_length"), values.pop("parameter_count")
    if length != c.MQCFH_STRUC_LENGTH:
        at = offset + MQCFH_LAYOUT.offset("struc_length")
        raise WireError("MQCFH", "StrucLength", at, f"{length} is not {c.MQCFH_STRUC_LENGTH}")
    reader = _Reader(raw=raw, order=byte_order(encoding), encoding=encoding, ccsid=ccsid)
    at = offset + MQCFH_LAYOUT.offset("parameter_count")
    parameters, end = reader.parameters(offset + length, reader.count("MQCFH", at, count, offset + length), 0)
    return Message(header=MQCFH(**values), parameters=parameters), end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A parameter whose lengths are consistent: its fixed fields, and where its data and the structure end."""

    shape: Shape
    at: int
    fixed: tuple[int, ...]
    end: int

    @property
    def title(self) -> str:
        return self.shape.structure.__name__

    def fail(self, field: str, message: str) -> NoReturn:
        places = ("Type", "StrucLength", *self.shape.fields)
        at = 4 * places.index(field) if field in places else self.shape.size
        raise WireError(self.title, field, self.at + at, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    raw: Buffer
    order: str
    encoding: int
    ccsid: int

    def count(self, title: str, at: int, count: int, start: int) -> int:
        most = (len(self.raw) - start) // LEAST
        if not 0 <= count <= most:
            raise WireError(title, "ParameterCount", at, f"{count} parameters where the bytes hold at most {most}")
        return count

    def parameters(self, at: int, count: int, depth: int) -> tuple[tuple[Parameter, ...], int]:
        found: list[Parameter] = []
        for _ in range(count):
            part = self.part(at)
            at = part.end
            if part.shape.kind == c.MQCFT_GROUP:
                self.exact(part, part.shape.size)
                identifier, inside = part.fixed
                if depth >= DEPTH:
                    part.fail("ParameterCount", f"groups are nested deeper than {DEPTH}")
                inside = self.count("MQCFGR", part.at + 12, inside, at)
                members, at = self.parameters(at, inside, depth + 1)
                found.append(MQCFGR(parameter=identifier, value=members))
            else:
                found.append(_DECODERS[part.shape.kind](self, part))
        return tuple(found), at

    def part(self, at: int) -> _Part:
        left = len(self.raw) - at
        if left < LEAST:
            raise self.cut_short(at, left)
        kind, length = struct.unpack_from(f"{self.order}2i", self.raw, at)
        shape = BY_KIND.get(kind)
        if shape is None:
            raise WireError("PCF parameter", "Type", at, f"{kind} is not a parameter type")
        if length % 4 or not shape.size <= length <= left:
            why = f"{length} is not a multiple of 4 from {shape.size} to {left}"
            raise WireError(shape.structure.__name__, "StrucLength", at + 4, why)
        fixed = struct.unpack_from(f"{self.order}{len(shape.fields)}i", self.raw, at + 8)
        return _Part(shape=shape, at=at, fixed=fixed, end=at + length)

    def cut_short(self, at: int, left: int) -> CutShort:
        kind = struct.unpack_from(f"{self.order}i", self.raw, at)[0] if left >= 4 else c.MQCFT_NONE
        shape = BY_KIND.get(kind)
        names = ("Type", "StrucLength", "Parameter", shape.fields[1] if shape else "Value")
        why = f"{left} bytes where at least {LEAST} are needed"
        title = shape.structure.__name__ if shape else "PCF parameter"
        return CutShort(title, names[left // 4], at + left // 4 * 4, why)

    def exact(self, part: _Part, size: int) -> None:
        if part.end - part.at != size:
            part.fail("StrucLength", f"{part.end - part.at} is not {size}")

    def data(self, part: _Part, length: int, field: str) -> tuple[bytes, bytes | None]:
        """The data and the padding after it (None if it is the usual one)."""
        start = part.at + part.shape.size
        if not 0 <= length <= part.end - start:
            part.fail(field, f"{length} bytes of data where the structure holds {part.end - start}")
        padding = bytes(self.raw[start + length : part.end])
        return bytes(self.raw[start : start + length]), None if padding == bytes(-length % 4) else padding

    def codec(self, part: _Part, ccsid: int) -> Codec:
        own = self.ccsid if ccsid == c.MQCCSI_DEFAULT else ccsid
        at = part.at + 8 + 4 * part.shape.fields.index("CodedCharSetId")
        return codec_for(own, part.title, at, self.encoding)

    def text(self, part: _Part, codec: Codec, data: bytes) -> str:
        try:
            return codec.decode(data).rstrip(" ")
        except UnicodeError as error:
            why = f"not text in CCSID {codec.ccsid}: {error}"
            raise NotText(part.title, part.shape.data, part.at + part.shape.size, why) from error

    def numbers(self, part: _Part, count: int, code: str, width: int) -> tuple[tuple[int, ...], bytes | None]:
        most = (part.end - part.at - part.shape.size) // width
        if not 0 <= count <= most:
            part.fail("Count", f"{count} values where the structure holds at most {most}")
        data, padding = self.data(part, count * width, "Count")
        return struct.unpack(f"{self.order}{count}{code}", data), padding


def _integer(reader: _Reader, part: _Part) -> Parameter:
    reader.exact(part, part.shape.size)
    return MQCFIN(parameter=part.fixed[0], value=part.fixed[1])


def _integer64(reader: _Reader, part: _Part) -> Parameter:
    reader.exact(part, c.MQCFIN64_STRUC_LENGTH)
    value: int = struct.unpack_from(f"{reader.order}q", reader.raw, part.at + part.shape.size)[0]
    return MQCFIN64(parameter=part.fixed[0], value=value, reserved=part.fixed[1])


def _integer_list(reader: _Reader, part: _Part) -> Parameter:
    values, padding = reader.numbers(part, part.fixed[1], "i", 4)
    return MQCFIL(parameter=part.fixed[0], value=values, padding=padding)


def _integer64_list(reader: _Reader, part: _Part) -> Parameter:
    values, padding = reader.numbers(part, part.fixed[1], "q", 8)
    return MQCFIL64(parameter=part.fixed[0], value=values, padding=padding)


def _string(reader: _Reader, part: _Part) -> Parameter:
    parameter, ccsid, length = part.fixed
    data, padding = reader.data(part, length, "StringLength")
    codec = reader.codec(part, ccsid)
    text = reader.text(part, codec, data)
    own = None if len(codec.encode(text)) == length else length
    return MQCFST(parameter=parameter, value=text, ccsid=ccsid, length=own, padding=padding)


def _string_list(reader: _Reader, part: _Part) -> Parameter:
    parameter, ccsid, count, length = part.fixed
    room = part.end - part.at - part.shape.size
    if not 0 <= length <= room:
        part.fail("StringLength", f"{length} bytes where the structure holds {room}")
    if not 0 <= count <= (room // length if length else 1):
        part.fail("Count", f"{count} strings of {length} bytes where the structure holds {room} bytes")
    data, padding = reader.data(part, count * length, "Count")
    codec = reader.codec(part, ccsid)
    texts = tuple(reader.text(part, codec, data[i * length : (i + 1) * length]) for i in range(count))
    own = None if length == list_length(texts, codec) else length
    return MQCFSL(parameter=parameter, value=texts, ccsid=ccsid, length=own, padding=padding)


def list_length(texts: tuple[str, ...], codec: Codec) -> int:
    """StringLength where none is asked for: the longest text's, at least one blank; 0 for an empty list."""
    return max((len(codec.encode(text or " ")) for text in texts), default=0)


def _byte_string(reader: _Reader, part: _Part) -> Parameter:
    data, padding = reader.data(part, part.fixed[1], "StringLength")
    return MQCFBS(parameter=part.fixed[0], value=data, padding=padding)


def _integer_filter(reader: _Reader, part: _Part) -> Parameter:
    reader.exact(part, part.shape.size)
    parameter, operator, value = part.fixed
    return MQCFIF(parameter=parameter, operator=operator, value=value)


def _string_filter(reader: _Reader, part: _Part) -> Parameter:
    parameter, operator, ccsid, length = part.fixed
    data, padding = reader.data(part, length, "FilterValueLength")
    codec = reader.codec(part, ccsid)
    text = reader.text(part, codec, data)
    own = None if len(codec.encode(text)) == length else length
    return MQCFSF(parameter=parameter, operator=operator, value=text, ccsid=ccsid, length=own, padding=padding)


def _byte_string_filter(reader: _Reader, part: _Part) -> Parameter:
    parameter, operator, length = part.fixed
    data, padding = reader.data(part, length, "FilterValueLength")
    return MQCFBF(parameter=parameter, operator=operator, value=data, padding=padding)


_DECODERS: dict[int, Callable[[_Reader, _Part], Parameter]] = {
    c.MQCFT_INTEGER: _integer,
    c.MQCFT_STRING: _string,
    c.MQCFT_INTEGER_LIST: _integer_list,
    c.MQCFT_STRING_LIST: _string_list,
    c.MQCFT_BYTE_STRING: _byte_string,
    c.MQCFT_INTEGER_FILTER: _integer_filter,
    c.MQCFT_STRING_FILTER: _string_filter,
    c.MQCFT_BYTE_STRING_FILTER: _byte_string_filter,
    c.MQCFT_INTEGER64: _integer64,
    c.MQCFT_INTEGER64_LIST: _integer64_list,
}
