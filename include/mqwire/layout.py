"""Field tables as data, one codec loop. Byte order and CCSID are parameters; offsets stand nowhere else.

1. A table is a list of ``Field`` in wire order. Offsets follow from widths; ``aligned=True`` adds C alignment (call
   structures, 64-bit Linux), message structures have none.
2. A field belongs to the structure from version ``since`` on. The length of version n is the end of its last field,
   rounded up to the widest alignment met so far, as ``sizeof`` does.
3. Text is decoded strictly; only trailing blanks are taken off, NUL is kept. Bytes stay bytes.
4. ``unpack`` and ``pack`` are for any encoding and CCSID. ``reader`` and ``writer`` are precompiled for a few fields of
   a buffer in one byte order and leave text as bytes.
5. Encoding and CCSID are said by what stands before a structure. Where they are unknown, the first field that cannot be
   read for it is named here; ``headers`` knows who said so and names that.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn, TypeAlias

from mqwire.access import make_reader, make_writer
from mqwire.ccsid import Codec, codec_for
from mqwire.constants import MQENC_INTEGER_MASK, MQENC_INTEGER_NORMAL, MQENC_INTEGER_REVERSED, MQENC_NATIVE
from mqwire.errors import CutShort, UnknownCcsid, UnknownEncoding, WireError
from mqwire.fields import Field

Buffer: TypeAlias = bytes | bytearray | memoryview
_NUMBERS = frozenset({"long", "int64", "pointer"})
_TEXT = frozenset({"char", "digits"})


class _Row(NamedTuple):
    """A field as the codec loop wants it."""

    key: str
    kind: str
    at: int
    length: int
    initial: Any
    field: Field


class _Program(NamedTuple):
    """One version in one byte order: the struct, its rows, and the defaults of fields of later versions."""

    struct: struct.Struct
    rows: tuple[_Row, ...]
    later: dict[str, Any]


def byte_order(encoding: int) -> str:
    """``">"`` or ``"<"`` from the integer part of an Encoding value.

    :raises UnknownEncoding: neither normal nor reversed
    """
    integer = encoding & MQENC_INTEGER_MASK
    if integer == MQENC_INTEGER_REVERSED:
        return "<"
    if integer == MQENC_INTEGER_NORMAL:
        return ">"
    raise UnknownEncoding("data", "Encoding", 0, f"byte order of integers unknown in encoding {encoding}")


class Layout:
    """A named field table with its codec.

    :param name: MQ's structure name
    :param fields: the table
    :param struc_id: four characters expected in StrucId, without trailing blanks; None if the structure has none
    :param versions: version numbers that exist, where they are not just those of the fields' ``since``
    :param aligned: C alignment (call structures)
    """

    def __init__(
        self,
        name: str,
        fields: Iterable[Field],
        *,
        struc_id: str | None = None,
        versions: Iterable[int] = (),
        aligned: bool = False,
    ) -> None:
        self.name = name
        self.fields = tuple(fields)
        self.keys = tuple(field.key for field in self.fields)
        self.struc_id = struc_id
        self.versions = tuple(sorted(versions or {field.since for field in self.fields}))
        self._offsets: dict[str, int] = {}
        self._by_name: dict[str, Field] = {}
        self._lengths: dict[int, int] = {}
        self._place(aligned)
        self.size = self._lengths[self.versions[-1]]
        self._version = self._by_name.get("version")
        self._programs = {(order, v): self._compile(order, v) for order in "<>" for v in self.versions}

    def __repr__(self) -> str:
        return f"Layout({self.name}, {self.size} bytes)"

    def _place(self, aligned: bool) -> None:
        end, widest = 0, 1
        for field in self.fields:
            alignment = field.alignment if aligned else 1
            widest = max(widest, alignment)
            start = -(-end // alignment) * alignment
            end = start + field.width
            for alias in (field.name, field.key):
                self._offsets[alias] = start
                self._by_name[alias] = field
            for version in self.versions:
                if version >= field.since:
                    self._lengths[version] = -(-end // widest) * widest

    def _compile(self, order: str, version: int) -> _Program:
        rows, parts, end = [], [order], 0
        for field in self.fields:
            if field.since > version:
                continue
            start = self._offsets[field.key]
            parts.append(f"{start - end}x{field.code}")
            end = start + field.width
            rows.append(_Row(field.key, field.kind, start, field.length, field.initial, field))
        parts.append(f"{self._lengths[version] - end}x")
        later = {field.key: field.initial for field in self.fields if field.since > version}
        return _Program(struct.Struct("".join(parts)), tuple(rows), later)

    def length(self, version: int) -> int:
        """Bytes of this version of the structure.

        :raises WireError: no such version
        """
        return self._lengths[version] if version in self._lengths else self._refuse(version, 0)

    def offset(self, name: str) -> int:
        """Where a field begins, by its attribute or MQ name.

        :raises KeyError: no such field
        """
        return self._offsets[name]

    def field(self, name: str) -> Field:
        """The table row of a field, by its attribute or MQ name.

        :raises KeyError: no such field
        """
        return self._by_name[name]

    # any encoding, any CCSID

    def unpack(
        self,
        buf: Buffer,
        *,
        offset: int = 0,
        encoding: int = MQENC_NATIVE,
        ccsid: int = 819,
        version: int | None = None,
    ) -> dict[str, Any]:
        """All fields by attribute name; those beyond the structure's version have their defaults.

        :param version: take this version's fields whatever the Version field says
        :raises WireError: too short, wrong StrucId or Version, text not valid in the CCSID
        """
        order, codec = self._said(encoding, ccsid, offset)
        if version is None:
            version = self._check(buf, offset, order, codec)
        elif version not in self._lengths:
            self._refuse(version, offset)
        program, rows, later = self._programs[order, version]
        self._need(buf, offset, program.size)
        decode = codec.decode
        values: dict[str, Any] = {}
        for (key, kind, at, _, _, field), raw in zip(rows, program.unpack_from(buf, offset), strict=True):
            if kind == "char":
                try:
                    values[key] = decode(raw).rstrip(" ")
                except UnicodeError as error:
                    why = f"not text in CCSID {ccsid}: {error}"
                    raise WireError(self.name, field.name, offset + at, why) from error
            else:
                values[key] = raw if kind != "digits" else self._number(field, raw, codec, offset + at)
        values.update(later)
        return values

    def pack(
        self,
        values: Mapping[str, Any],
        *,
        encoding: int = MQENC_NATIVE,
        ccsid: int = 819,
        version: int | None = None,
    ) -> bytes:
        """The bytes of the structure; fields not given have their defaults.

        :param version: write this version's fields and length; else the one in ``values`` or its default
        :raises WireError: unknown field, value too long, out of range, not in the CCSID, or beyond the version
        """
        order, codec = self._said(encoding, ccsid)
        if version is None:
            version = values.get("version", self._version.initial) if self._version else self.versions[-1]
        if version not in self._lengths:
            self._refuse(version, 0)
        program, rows, later = self._programs[order, version]
        self._check_keys(values, version, later)
        wire = [self._encoded(row, values.get(row.key, row.initial), codec) for row in rows]
        try:
            return program.pack(*wire)
        except struct.error:
            raise self._culprit(order, rows, wire) from None

    def _said(self, encoding: int, ccsid: int = 819, offset: int = 0) -> tuple[str, Codec]:
        """Byte order and character set, or the first field that cannot be read without them."""
        try:
            return byte_order(encoding), codec_for(ccsid)
        except (UnknownEncoding, UnknownCcsid) as error:
            kinds = _NUMBERS if isinstance(error, UnknownEncoding) else _TEXT
            field = next((field for field in self.fields if field.kind in kinds), self.fields[0])
            raise type(error)(self.name, field.name, offset + self._offsets[field.key], error.message) from error

    def _check(self, buf: Buffer, offset: int, order: str, codec: Codec) -> int:
        """The version, after looking at StrucId and Version."""
        if self.struc_id is not None:
            self._need(buf, offset, 4)
            raw = bytes(buf[offset : offset + 4])
            if raw != codec.encode(f"{self.struc_id:<4}"):
                raise WireError(
                    self.name, "StrucId", offset, f"{raw!r} is not {self.struc_id!r} in CCSID {codec.ccsid}"
                )
        field = self._version
        if field is None:
            return self.versions[-1]
        at = self._offsets["version"]
        self._need(buf, offset, at + field.width)
        found = struct.unpack_from(order + field.code, buf, offset + at)[0]
        version: int = self._number(field, found, codec, offset + at) if field.kind == "digits" else found
        if version not in self._lengths:
            self._refuse(version, offset)
        return version

    def _refuse(self, version: Any, offset: int) -> NoReturn:
        known = ", ".join(map(str, self.versions))
        at = offset + self._offsets.get("version", 0)
        raise WireError(self.name, "Version", at, f"version {version} is not one of {known}")

    def _need(self, buf: Buffer, offset: int, length: int) -> None:
        there = len(buf) - offset
        if offset < 0 or there < length:
            raise self._cut_short(offset, max(there, 0) if offset >= 0 else 0, length)

    def _cut_short(self, offset: int, there: int, length: int) -> CutShort:
        within = [field for field in self.fields if self._offsets[field.key] + field.width <= length]
        cut = (field for field in within if self._offsets[field.key] + field.width > there)
        field = next(cut, within[-1])  # the last one, where only the padding after it is missing
        why = f"{there} bytes where {length} are needed" if offset >= 0 else "before the first byte"
        return CutShort(self.name, field.name, offset + self._offsets[field.key], why)

    def _number(self, field: Field, raw: bytes, codec: Codec, at: int) -> int:
        try:
            text = codec.decode(raw)
            number = int(text)
        except ValueError as error:
            raise WireError(self.name, field.name, at, f"{raw!r} is not a number in CCSID {codec.ccsid}") from error
        if text != f"{number:>{field.length}}":
            raise WireError(self.name, field.name, at, f"{text!r} is not a right-adjusted number")
        return number

    def _encoded(self, row: _Row, value: Any, codec: Codec) -> Any:
        kind = row.kind
        if kind == "char":
            return self._encoded_text(row, value, codec)
        if kind == "byte":
            if not isinstance(value, bytes):
                raise WireError(self.name, row.field.name, row.at, f"{type(value).__name__} where bytes are needed")
            if len(value) > row.length:
                raise WireError(self.name, row.field.name, row.at, f"{len(value)} bytes are too long for {row.length}")
        elif not isinstance(value, int):
            raise WireError(self.name, row.field.name, row.at, f"{type(value).__name__} where an integer is needed")
        elif kind == "digits":
            return self._encoded_text(row, f"{value:>{row.length}}", codec)
        return value

    def _encoded_text(self, row: _Row, value: Any, codec: Codec) -> bytes:
        if not isinstance(value, str):
            raise WireError(self.name, row.field.name, row.at, f"{type(value).__name__} where text is needed")
        try:
            raw = codec.encode(value)
        except UnicodeError as error:
            raise WireError(self.name, row.field.name, row.at, f"{value!r} is not in CCSID {codec.ccsid}") from error
        if len(raw) > row.length:
            why = f"{value!r} has {len(raw)} bytes, too long for {row.length}"
            raise WireError(self.name, row.field.name, row.at, why)
        return raw.ljust(row.length, codec.blank)

    def _check_keys(self, values: Mapping[str, Any], version: int, later: Mapping[str, Any]) -> None:
        for key in values:
            field = self._by_name.get(key)
            if field is None or field.key != key:
                raise WireError(self.name, key, 0, "no such field")
        for key, initial in later.items():
            if values.get(key, initial) != initial:
                field, at = self._by_name[key], self._offsets[key]
                raise WireError(
                    self.name, field.name, at, f"{values[key]!r} needs version {field.since}, not {version}"
                )

    def _culprit(self, order: str, rows: tuple[_Row, ...], wire: list[Any]) -> WireError:
        """Which value the struct refused."""
        for row, value in zip(rows, wire, strict=True):
            try:
                struct.pack(order + row.field.code, value)
            except struct.error as error:
                return WireError(self.name, row.field.name, row.at, f"{value!r}: {error}")
        return WireError(self.name, "", 0, "cannot be packed")

    # precompiled access

    def reader(self, *names: str, encoding: int = MQENC_NATIVE) -> Callable[..., tuple[Any, ...]]:
        """A function ``(buf, offset=0) -> tuple`` that reads just these fields, in the order named.

        Text comes as its bytes, undecoded and with its padding: see ``fields.text``. StrucId and Version are not looked
        at.

        :param names: attribute or MQ names
        :param encoding: fixed byte order
        :raises WireError: from the function, when the buffer ends before the last of the fields
        """
        return make_reader(self.name, self._said(encoding)[0], self._located(names))

    def writer(self, *names: str, encoding: int = MQENC_NATIVE) -> Callable[..., None]:
        """A function ``(buf, *values, offset=0)`` that writes just these fields in place and touches no other byte.

        Text is given as ``bytes`` or as Latin-1 ``str`` and is padded with blanks; bytes are padded with NUL.

        :param names: attribute or MQ names
        :param encoding: fixed byte order
        :raises WireError: from the function, when a value is too long or out of range, or the buffer too short
        """
        return make_writer(self.name, self._said(encoding)[0], self._located(names))

    def _located(self, names: Iterable[str]) -> list[tuple[int, Field]]:
        return [(self._offsets[name], self._by_name[name]) for name in names]
