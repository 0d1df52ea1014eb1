"""Message properties: what a message handle holds, and the MQRFH2 that carries them in front of a message's data.

A property without a folder in its name is in `usr`. Types are written as the folder's `dt` attributes.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.messages.property_names import USER, groups_of, is_reserved, own_name, place, shown_name, validate
from mqlite.messages.property_types import NUMBERS, TYPES
from mqwire import constants as c
from mqwire.code_pages import ASCII, family_of
from mqwire.errors import WireError
from mqwire.folder import Element, Scalar
from mqwire.rfh2 import MQRFH2

NAMED_TYPES = {name: number for number, (name, _) in NUMBERS.items()} | {"bin.hex": c.MQTYPE_BYTE_STRING}
NAMED_TYPES |= {"int": c.MQTYPE_INT64, "string": c.MQTYPE_STRING, "char": c.MQTYPE_STRING}
NIL = (("xsi:nil", "true"),)
COPIES = {
    "forward": c.MQCOPY_FORWARD, "publish": c.MQCOPY_PUBLISH, "reply": c.MQCOPY_REPLY, "report": c.MQCOPY_REPORT,
    "all": c.MQCOPY_ALL, "none": c.MQCOPY_NONE, "default": c.MQCOPY_DEFAULT,
}  # fmt: skip
CONTEXTS = {"none": c.MQPD_NO_CONTEXT, "user": c.MQPD_USER_CONTEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property.

    Attributes: `name` it is kept under; `type` MQTYPE_*; `value` as it lies in the application's memory, text in UTF-8;
    `support` and `context` MQPD_*; `copy` MQCOPY_*; `unknown_type` the dt attribute that IBM MQ does not know, whose
    value is then text.
    """

    name: str
    type: int
    value: bytes
    support: int = c.MQPD_SUPPORT_OPTIONAL
    context: int = c.MQPD_NO_CONTEXT
    copy: int = c.MQCOPY_DEFAULT
    unknown_type: str = ""


@dataclass(slots=True)
class MessageHandle:
    """What MQCRTMH made. cursor: the property inquired last. validating: whether names are checked when they are set.

    The names are listed once, so that a program that inquires one property after the other reads each of them once.
    """

    validating: bool = True
    properties: dict[str, Property] = field(default_factory=dict)
    cursor: str = ""
    _names: list[str] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _groups: Counter[str] | None = None

    def fill(self, properties: dict[str, Property]) -> None:
        """The properties of the message that was got, in place of those before."""
        self.properties, self.cursor, self._names, self._groups = dict(properties), "", [], None

    def set(self, name: str, given: Property, options: int = c.MQSMPO_SET_FIRST) -> None:
        """Set or replace a property; `given` is kept under its own name whatever `given.name` says.

        Parameters: `options` MQSMPO_*: the property under the cursor is replaced where they say so.
        Raises Failure (MQRC_PROPERTY_NAME_ERROR, MQRC_MIXED_CONTENT_NOT_ALLOWED, MQRC_PROPERTY_TYPE_ERROR,
        MQRC_PROPERTY_VALUE_TOO_BIG, MQRC_PROPERTY_NOT_AVAILABLE).
        """
        if self.validating:
            validate(name)
            self._check_content(own_name(name))
        if given.type not in TYPES:
            raise Failure(c.MQRC_PROPERTY_TYPE_ERROR, name)
        if given.type in NUMBERS and len(given.value) != struct.calcsize(NUMBERS[given.type][1]):
            raise Failure(c.MQRC_PROPERTY_VALUE_TOO_BIG, name)
        own = own_name(name)
        if options & c.MQSMPO_SET_PROP_UNDER_CURSOR and self.cursor != own:
            raise Failure(c.MQRC_PROPERTY_NOT_AVAILABLE, name)
        if own not in self.properties:
            self._names = []
            if self._groups is not None:
                self._groups.update(groups_of(own))
        self.properties[own] = replace(given, name=own)

    def _check_content(self, own: str) -> None:
        """Raises Failure (MQRC_MIXED_CONTENT_NOT_ALLOWED): an element would have a value and elements within it."""
        if self._groups is None:
            self._groups = Counter(group for each in self.properties for group in groups_of(each))
        if ".".join(place(own)) in self._groups or any(own_name(group) in self.properties for group in groups_of(own)):
            raise Failure(c.MQRC_MIXED_CONTENT_NOT_ALLOWED, own)

    def find(self, name: str, options: int) -> Property:
        """The property of that name; with a percent sign the first or next that begins so.

        Raises Failure (MQRC_PROPERTY_NOT_AVAILABLE).
        """
        wanted = name if name.endswith("%") else own_name(name)
        for each in self._looked_at(wanted, options):
            if options & c.MQIMPO_INQ_PROP_UNDER_CURSOR or each == wanted or _matches(each, wanted):
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

    def delete(self, name: str, options: int = c.MQDMPO_DEL_FIRST) -> None:
        """Delete a property, or the one under the cursor. Raises Failure (MQRC_PROPERTY_NOT_AVAILABLE)."""
        own = self.cursor if options & c.MQDMPO_DEL_PROP_UNDER_CURSOR else own_name(name)
        if self.properties.pop(own, None) is None:
            raise Failure(c.MQRC_PROPERTY_NOT_AVAILABLE, name)
        self._names, self._groups = [], None


def _matches(own: str, wanted: str) -> bool:
    """Whether a property is one that a name with a percent sign at its end means, by any name that it has."""
    if not wanted.endswith("%"):
        return False
    begin = wanted[:-1]
    return any(name.startswith(begin) for name in (own, shown_name(own), ".".join(place(own))))


def fold(md: bytearray, body: bytes, properties: dict[str, Property]) -> bytes:
    """The data behind an MQRFH2 of the properties; the descriptor says so.

    The header is in the CCSID of the data, or in UTF-8 where that is not one of ASCII: it has the names of IBM MQ in
    ASCII (IBM MQ, "MQRFH2": its fields are in the CCSID that stands before it).
    """
    if not properties:
        return body
    top: dict[str, Any] = {}
    for each in properties.values():
        *groups, name = place(each.name)
        inside = top
        for group in groups:
            inside = inside.setdefault(group, {})
        inside.setdefault("", []).append(written(name, each))
    encoding, ccsid = d.encoding_of(md)
    header = MQRFH2(encoding=encoding, coded_char_set_id=ccsid, format=d.format_of(md)).with_folders(
        *(_folder(name, inside) for name, inside in top.items())
    )
    d.set_format(md, c.MQFMT_RF_HEADER_2)
    d.set_encoding(md, c.MQENC_NATIVE, ccsid if family_of(ccsid) in ASCII else 1208)
    return header.pack() + body


def _folder(name: str, inside: dict[str, Any]) -> Element:
    """A folder or a group: its properties, which stand at the blank name, and its groups."""
    groups = (_folder(group, within) for group, within in inside.items() if group)
    return Element(name=name, children=(*inside.get("", ()), *groups))


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
    """A property as an element; its descriptor are attributes (IBM MQ, "Mapping property descriptor fields")."""
    described = [(key, text) for key, text in (("context", _context(each)), ("copy", _copies(each))) if text]
    if each.type == c.MQTYPE_NULL:
        return Element(name=name, attributes=(*NIL, *described))
    if each.type == c.MQTYPE_STRING:
        kind = [("dt", each.unknown_type)] if each.unknown_type else []
        return Element(name=name, attributes=(*kind, *described), value=each.value.decode("utf-8", "replace"))
    if each.type == c.MQTYPE_BYTE_STRING:
        return Element(name=name, attributes=(("dt", "bin.hex"), *described), value=each.value.hex())
    named, code = NUMBERS[each.type]
    (number,) = struct.unpack(code, each.value)
    value = repr(int(bool(number)) if named == "boolean" else number)
    return Element(name=name, attributes=(("dt", named), *described), value=value)


def _context(each: Property) -> str:
    return "user" if each.context == c.MQPD_USER_CONTEXT else ""


def _copies(each: Property) -> str:
    """The copy options as an attribute, blank for the default."""
    if each.copy == c.MQCOPY_DEFAULT:
        return ""
    if each.copy & c.MQCOPY_ALL or not each.copy:
        return "all" if each.copy else "none"
    single = ("forward", "publish", "reply", "report")
    return ",".join(name for name in single if each.copy & COPIES[name])


def read(folder: Element) -> Iterator[Property]:
    """The properties of a folder. Raises WireError: a value is not of its type.

    No property is an element whose name has a full stop, or one of folder usr with a name that is reserved (IBM MQ,
    "MQRFH2 folder restrictions").
    """
    return _read(folder, () if folder.name == USER else (folder.name,))


def _read(around: Element, path: tuple[str, ...]) -> Iterator[Property]:
    for element in around.children:
        name = ".".join((*path, element.name))
        if "." in element.name or (not path and is_reserved(name)):
            continue
        if element.children:
            yield from _read(element, (*(path or (USER,)), element.name))
        else:
            yield _property(name, element)


def _property(name: str, element: Element) -> Property:
    named = element.attribute("dt") or "string"
    copies = (element.attribute("copy") or "default").split(",")
    made = Property(
        name=name,
        type=NAMED_TYPES.get(named, c.MQTYPE_STRING),
        value=element.value.encode(),
        context=CONTEXTS.get(element.attribute("context") or "", c.MQPD_NO_CONTEXT),
        copy=sum({COPIES.get(each.strip(), 0) for each in copies}),
        unknown_type="" if named in NAMED_TYPES else named,
    )
    if made.unknown_type:
        return made
    value = element.typed()
    if value is None:
        return replace(made, type=c.MQTYPE_NULL, value=b"")
    if isinstance(value, bytes):
        return replace(made, value=value)
    if made.type in NUMBERS and not isinstance(value, str):
        return replace(made, value=_packed(element, made.type, value))
    return replace(made, type=c.MQTYPE_STRING, value=str(value).encode())


def _packed(element: Element, kind: int, value: Scalar) -> bytes:
    """A number as it lies in memory. Raises WireError where its type does not hold it."""
    try:
        return struct.pack(NUMBERS[kind][1], value)
    except (struct.error, OverflowError) as error:
        raise WireError("MQRFH2", element.name, 0, f"the number is out of the range of {NUMBERS[kind][0]}") from error
