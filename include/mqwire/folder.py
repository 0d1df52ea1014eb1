"""The text of an MQRFH2 folder: an XML-like subset, read and written without an XML parser. Knows no bytes.

1. Elements, attributes, character data, CDATA, the five predefined escapes (``&lt; &gt; &amp; &quot; &apos;``) and
   numeric ones (``&#10;``) are read; comments and processing instructions (``<?xml?>``) are passed over. No document
   type and no other entity exists, so nothing is expanded.
2. Text beside child elements is kept as ``value``, without their places; blanks there mean nothing. Several folders may
   stand in one text. A name may have colons and periods.
3. Positions in errors are characters of the folder's text.
4. The time to read a text grows with its length and no faster. What is beyond a bound is refused as not well formed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from mqwire.errors import WireError

CHARACTERS = 4 << 20
"""Of the text of a folder: as many as a message of the default MAXMSGL has bytes."""
TAGS = 20_000
"""Tags in the text of a folder, two of an element with text: a JMS message has a few dozen."""
ATTRIBUTES = 100
"""Attributes of an element: IBM MQ writes two, ``dt`` and ``xsi:nil``."""
DEPTH = 64
"""Elements around each other: IBM MQ writes a property at depth 2, a name with dots a few deeper."""
PATH = 4095
"""Characters of the names of an element and those around it, with dots: IBM's MQ_MAX_PROPERTY_NAME_LENGTH."""
SHOWN = 20
"""Characters of the text that an error shows."""
_NAME = re.compile(r"[^\s<>&\"'/=!?]+")
_BLANKS = re.compile(r"[ \t\r\n]*")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_ESCAPE = re.compile(r"&([^;&<]*)(;?)")
_NUMERIC = re.compile(r"#(?:x([0-9A-Fa-f]{1,8})|([0-9]{1,8}))")
_NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BEGINS = re.compile(r"[\s<]*([^\s<>&\"'/=!?]*)")
_PASSED_OVER = (("<!--", "-->"), ("<?", "?>"))
_CDATA = ("<![CDATA[", "]]>")
_ESCAPES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_ESCAPED = str.maketrans({character: f"&{name};" for name, character in _ESCAPES.items()})

Scalar = str | int | float | bool | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element: its name, attributes in order, text (``value``, of all its places) and ``children``."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    value: str = ""
    children: tuple[Element, ...] = ()

    def find(self, path: str) -> Element | None:
        """The first element below this one by names with dots, as in ``"jms.Dst"`` said below its folder: ``"Dst"``."""
        found: Element | None = self
        for name in path.split("."):
            found = next((child for child in found.children if child.name == name), None) if found else None
        return found

    def attribute(self, name: str) -> str | None:
        """The value of an attribute, or None."""
        return next((value for key, value in self.attributes if key == name), None)

    def typed(self) -> Scalar | None:
        """The value by its ``dt`` attribute (string if there is none); None for ``xsi:nil="true"``.

        :raises WireError: the text is not of the type, or the type is unknown
        """
        if self.attribute("xsi:nil") == "true":
            return None
        kind = self.attribute("dt") or "string"
        try:
            return _typed(kind, self.value)
        except ValueError as error:
            raise WireError("MQRFH2", self.name, 0, f"{self.value[:SHOWN]!r} is not of type {kind[:SHOWN]}") from error

    def text(self) -> str:
        """The element written out, without padding."""
        attributes = "".join(f' {key}="{value.translate(_ESCAPED)}"' for key, value in self.attributes)
        inside = self.value.translate(_ESCAPED) + "".join(child.text() for child in self.children)
        return f"<{self.name}{attributes}>{inside}</{self.name}>"


def folder(name: str, values: Mapping[str, str]) -> Element:
    """A folder of plain strings, as ``folder("jms", {"Dst": "queue:///Q1"})``."""
    return Element(name=name, children=tuple(Element(name=key, value=value) for key, value in values.items()))


def jms_destination(elements: tuple[Element, ...]) -> str | None:
    """JMSDestination (``jms.Dst``), such as ``queue:///ORDERS``, or None if there is none."""
    found = next((element.find("Dst") for element in elements if element.name == "jms"), None)
    return found.value if found else None


def begun_name(text: str) -> str:
    """The name with which a text that is no folder begins, as far as one can be seen: ``jms`` of ``<<jms``."""
    found = _BEGINS.match(text)
    return found[1][:SHOWN] if found and "<" in found[0] else ""


def parse(text: str) -> tuple[Element, ...]:
    """The folders in a NameValueData text; padding after them means nothing.

    :raises WireError: not well formed, beyond ``CHARACTERS``, ``TAGS``, ``ATTRIBUTES``, ``DEPTH`` or ``PATH``, or
        anything rule 1 does not allow
    """
    found, error = parse_far(text)
    if error is not None:
        raise error
    return found


def parse_far(text: str) -> tuple[tuple[Element, ...], WireError | None]:
    """The folders in a NameValueData text up to the first that is not valid, and why that is not (see ``parse``)."""
    found: list[Element] = []
    try:
        if len(text) > CHARACTERS:
            _fail(CHARACTERS, f"the text has {len(text)} characters, more than {CHARACTERS}")
        if text.count("<") > TAGS:
            _fail(0, f"the text has more than {TAGS} tags")
        found.extend(_folders(text.rstrip("\0")))
    except WireError as error:
        return tuple(found), error
    return tuple(found), None


def _folders(text: str) -> Iterator[Element]:
    at = _passed_over(text, _skip(text, 0))
    while at < len(text):
        element, at = _element(text, at, 1, 0)
        yield element
        at = _passed_over(text, _skip(text, at))


def _passed_over(text: str, at: int) -> int:
    """The place behind comments, processing instructions and blanks between folders."""
    while (end := _end_of(text, at, _PASSED_OVER)) is not None:
        at = _skip(text, end)
    return at


def _end_of(text: str, at: int, kinds: Iterable[tuple[str, str]]) -> int | None:
    """The place behind what begins at ``at``, if it is of one of these kinds: how it begins, how it ends."""
    for begin, last in kinds:
        if text.startswith(begin, at):
            end = text.find(last, at + len(begin))
            if end < 0:
                _fail(at, f"{begin!r} has no {last!r} behind it")
            return end + len(last)
    return None


def _typed(kind: str, value: str) -> Scalar:
    if kind in {"string", "char"}:
        return value
    if kind == "boolean":
        if value not in {"0", "1", "true", "false"}:
            raise ValueError(value)
        return value in {"1", "true"}
    if kind in {"i1", "i2", "i4", "i8", "int"} and _INTEGER.fullmatch(value):
        return int(value)
    if kind in {"r4", "r8"} and "_" not in value:
        return float(value)
    if kind == "bin.hex":
        return bytes.fromhex(value)
    raise ValueError(kind)


def _element(text: str, at: int, depth: int, path: int) -> tuple[Element, int]:
    """The element that begins at ``at`` and where it ends; ``path`` characters of names stand around it."""
    if depth > DEPTH:
        _fail(at, f"elements are nested deeper than {DEPTH}")
    at = _expect(text, at, "<")
    name, at = _name(text, at)
    path += len(name) + 1
    if path > PATH:
        _fail(at, f"the names down to this element have more than {PATH} characters")
    attributes, at = _attributes(text, at)
    if text.startswith("/>", at):
        return Element(name=name, attributes=attributes), at + 2
    at = _expect(text, at, ">")
    value, children, at = _content(text, at, depth, path)
    at = _expect(text, at, "</")
    at = _expect(text, at, name)
    at = _expect(text, _skip(text, at), ">")
    return Element(name=name, attributes=attributes, value=value, children=children), at


def _content(text: str, at: int, depth: int, path: int) -> tuple[str, tuple[Element, ...], int]:
    pieces: list[str] = []
    children: list[Element] = []
    while True:
        end = text.find("<", at)
        if end < 0:
            _fail(len(text), "the text ends inside an element")
        pieces.append(_unescaped(text[at:end], at))
        if text.startswith("</", end):
            break
        behind = _end_of(text, end, _PASSED_OVER)
        if behind is None and (behind := _end_of(text, end, [_CDATA])) is not None:
            pieces.append(text[end + len(_CDATA[0]) : behind - len(_CDATA[1])])
        if behind is None:
            child, behind = _element(text, end, depth + 1, path)
            children.append(child)
        at = behind
    value = "".join(pieces)
    return ("" if children and not value.strip(" \t\r\n") else value), tuple(children), end


def _attributes(text: str, at: int) -> tuple[tuple[tuple[str, str], ...], int]:
    found: dict[str, str] = {}
    after = _skip(text, at)
    while after < len(text) and text[after] not in "/>":
        if after == at:
            _fail(at, "a blank is missing before an attribute")
        name, at = _name(text, after)
        at = _expect(text, _skip(text, at), "=")
        at = _skip(text, at)
        quote = text[at : at + 1]
        end = text.find(quote, at + 1) if quote in {'"', "'"} else -1
        if end < 0:
            _fail(at, "an attribute's value is not in quotes")
        if name in found:
            _fail(after, f"attribute {name[:SHOWN]!r} occurs twice")
        if len(found) == ATTRIBUTES:
            _fail(after, f"an element has more than {ATTRIBUTES} attributes")
        found[name] = _unescaped(text[at + 1 : end], at + 1)
        at = end + 1
        after = _skip(text, at)
    return tuple(found.items()), after


def _unescaped(raw: str, at: int) -> str:
    def replace(match: re.Match[str]) -> str:
        said = match[1] if match[2] else ""
        if said in _ESCAPES:
            return _ESCAPES[said]
        number = _NUMERIC.fullmatch(said)
        code = 0 if number is None else int(number[1], 16) if number[1] else int(number[2])
        if not 0 < code <= sys.maxunicode or _NO_CHARACTER.match(chr(code)):
            _fail(at + match.start(), f"{match[0][:SHOWN]!r} is not one of the five escapes, nor a character's number")
        return chr(code)

    return _ESCAPE.sub(replace, raw)


def _name(text: str, at: int) -> tuple[str, int]:
    match = _NAME.match(text, at)
    if match is None:
        _fail(at, "a name is missing")
    return match[0], match.end()


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, token: str) -> int:
    if not text.startswith(token, at):
        _fail(at, f"{token!r} is expected, not {text[at : at + 8]!r}")
    return at + len(token)


def _fail(at: int, message: str) -> NoReturn:
    raise WireError("MQRFH2", "NameValueData", at, message)
