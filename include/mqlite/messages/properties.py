"""Message properties: what a message handle holds, and the MQRFH2 that carries them in front of a message's data.

A property without a folder in its name is in `usr`. Types are written as the folder's `dt` attributes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.folder import Element, Scalar
from mqwire.rfh2 import MQRFH2

USER = "usr"
NUMBERS = {
    c.MQTYPE_BOOLEAN: ("boolean", "<i"), c.MQTYPE_INT8: ("i1", "<b"), c.MQTYPE_INT16: ("i2", "<h"),
    c.MQTYPE_INT32: ("i4", "<i"), c.MQTYPE_INT64: ("i8", "<q"), c.MQTYPE_FLOAT32: ("r4", "<f"),
    c.MQTYPE_FLOAT64: ("r8", "<d"),
}  # fmt: skip
TYPES = {name: number for number, (name, _) in NUMBERS.items()} | {"bin.hex": c.MQTYPE_BYTE_STRING}
TYPES |= {"int": c.MQTYPE_INT64, "string": c.MQTYPE_STRING}
NIL = (("xsi:nil", "true"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property. type: MQTYPE_*. value: as it lies in the application's memory, text in UTF-8."""

    name: str
    type: int
    value: bytes


@dataclass(slots=True)
class MessageHandle:
    """What MQCRTMH made. cursor: the property inquired last.

    The names are listed once, so that a program that inquires one property after the other reads each of them once.
    """

    properties: dict[str, Property] = field(default_factory=dict)
    cursor: str = ""
    _names: list[str] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def fill(self, properties: dict[str, Property]) -> None:
        """The properties of the message that was got, in place of those before."""
        self.properties, self.cursor, self._names = dict(properties), "", []

    def set(self, name: str, kind: int, value: bytes) -> None:
        """Set or replace a property. Raises Failure (MQRC_PROPERTY_NAME_ERROR, _TYPE_ERROR, MQRC_VALUE_ERROR)."""
        own = own_name(name)
        if not own or any(not part.isidentifier() for part in own.split(".")):
            raise Failure(c.MQRC_PROPERTY_NAME_ERROR, name)
        if kind in NUMBERS and len(value) != struct.calcsize(NUMBERS[kind][1]):
            raise Failure(c.MQRC_PROPERTY_VALUE_TOO_BIG, name)
        if kind not in NUMBERS and kind not in (c.MQTYPE_NULL, c.MQTYPE_STRING, c.MQTYPE_BYTE_STRING):
            raise Failure(c.MQRC_PROPERTY_TYPE_ERROR, name)
        if own not in self.properties:
            self._names = []
        self.properties[own] = Property(name=own, type=kind, value=value)

    def find(self, name: str, options: int) -> Property:
        """The property of that name; with a percent sign the first or next that begins so.

        Raises Failure (MQRC_PROPERTY_NOT_AVAILABLE).
        """
        wanted = own_name(name)
        for each in self._looked_at(wanted, options):
            if each == wanted or (wanted.endswith("%") and each.startswith(wanted[:-1])):
                self.cursor = each
                return self.properties[each]
        raise Failure(c.MQRC_PROPERTY_NOT_AVAILABLE, name)

    def _looked_at(self, wanted: str, options: int) -> Iterable[str]:
        """The names that can be meant, in their order."""
        if options & c.MQIMPO_INQ_PROP_UNDER_CURSOR:
            return [self.cursor] if self.cursor in self.properties else []
        if not self._names:
            self._names = list(self.properties)
            self._places = {each: place for place, each in enumerate(self._names)}
        start = 0
        if options & c.MQIMPO_INQ_NEXT and self.cursor in self.properties:
            start = self._places[self.cursor] + 1
        if not wanted.endswith("%"):
            return [wanted] if self._places.get(wanted, -1) >= start else []
        return (self._names[place] for place in range(start, len(self._names)))

    def delete(self, name: str) -> None:
        """Delete a property. Raises Failure (MQRC_PROPERTY_NOT_AVAILABLE)."""
        if self.properties.pop(own_name(name), None) is None:
            raise Failure(c.MQRC_PROPERTY_NOT_AVAILABLE, name)
        self._names = []


def own_name(name: str) -> str:
    """The name without the folder that it has anyway."""
    return name.removeprefix(f"{USER}.")


def fold(md: bytearray, body: bytes, properties: dict[str, Property]) -> bytes:
    """The data behind an MQRFH2 of the properties; the descriptor says so."""
    if not properties:
        return body
    folders: dict[str, list[Element]] = {}
    for each in properties.values():
        where, _, name = each.name.rpartition(".")
        folders.setdefault(where or USER, []).append(written(name, each))
    encoding, ccsid = d.encoding_of(md)
    header = MQRFH2(encoding=encoding, coded_char_set_id=ccsid, format=d.format_of(md)).with_folders(
        *(Element(name=name, children=tuple(inside)) for name, inside in folders.items())
    )
    d.set_format(md, c.MQFMT_RF_HEADER_2)
    d.set_encoding(md, c.MQENC_NATIVE, ccsid if ccsid > 0 else 1208)
    return header.pack() + body


def unfold(md: bytearray, body: bytes) -> tuple[bytes, dict[str, Property]]:
    """The data without a leading MQRFH2, and its properties. A header that cannot be read stays data.

    A folder that is not valid counts as having no properties: it stays in the data, in an MQRFH2 of such folders (IBM
    MQ, "MQRFH2 headers that are not valid").
    """
    if d.format_of(md) != c.MQFMT_RF_HEADER_2:
        return body, {}
    encoding, md_ccsid = d.encoding_of(md)
    ccsid = md_ccsid if md_ccsid > 0 else 819
    try:
        header = MQRFH2.unpack(body, encoding=encoding, ccsid=ccsid)
    except WireError:
        return body, {}
    found: dict[str, Property] = {}
    left: list[bytes] = []
    for one in header.read(encoding):
        try:
            if one.error is not None:
                raise one.error
            found |= {each.name: each for folder in one.elements for each in read(folder)}
        except WireError:
            left.append(one.raw)
    data = body[header.struc_length :]
    if left:
        return replace(header, folders=tuple(left)).pack(encoding=encoding, ccsid=ccsid) + data, found
    d.set_format(md, header.format)
    inner = header.coded_char_set_id
    d.set_encoding(md, header.encoding, md_ccsid if inner == c.MQCCSI_INHERIT else inner)
    return data, found


def written(name: str, each: Property) -> Element:
    """A property as an element."""
    if each.type == c.MQTYPE_NULL:
        return Element(name=name, attributes=NIL)
    if each.type == c.MQTYPE_STRING:
        return Element(name=name, value=each.value.decode("utf-8", "replace"))
    if each.type == c.MQTYPE_BYTE_STRING:
        return Element(name=name, attributes=(("dt", "bin.hex"),), value=each.value.hex())
    kind, code = NUMBERS[each.type]
    (number,) = struct.unpack(code, each.value)
    return Element(
        name=name, attributes=(("dt", kind),), value=repr(int(bool(number)) if kind == "boolean" else number)
    )


def read(folder: Element) -> Iterator[Property]:
    """The properties of a folder. Raises WireError: a value is not of its type."""
    for element in folder.children:
        name = element.name if folder.name == USER else f"{folder.name}.{element.name}"
        value = element.typed()
        kind = TYPES.get(element.attribute("dt") or "string", c.MQTYPE_STRING)
        if value is None:
            yield Property(name=name, type=c.MQTYPE_NULL, value=b"")
        elif isinstance(value, bytes):
            yield Property(name=name, type=c.MQTYPE_BYTE_STRING, value=value)
        elif kind in NUMBERS and not isinstance(value, str):
            yield Property(name=name, type=kind, value=_packed(element, kind, value))
        else:
            yield Property(name=name, type=c.MQTYPE_STRING, value=str(value).encode())


def _packed(element: Element, kind: int, value: Scalar) -> bytes:
    """A number as it lies in memory. Raises WireError where its type does not hold it."""
    try:
        return struct.pack(NUMBERS[kind][1], value)
    except (struct.error, OverflowError) as error:
        raise WireError("MQRFH2", element.name, 0, f"the number is out of the range of {NUMBERS[kind][0]}") from error
