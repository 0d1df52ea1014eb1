"""The data of a revealed message laid out for a person: JSON and XML in lines, hex beside its characters. Pure.

1. Lines are broken and indented; no value, number or name is changed, and what is not valid stays as it is.
2. Nothing is resolved: XML with a DOCTYPE, which alone can declare entities, stays as it is, and so does what is nested
   deeper than DEEPEST or would grow more than GROWTH times.
3. A byte that is no character of its own in the code page, or none that can be seen, is a point beside the hex.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from mqwire.ccsid import codec_for
from mqwire.errors import WireError

if TYPE_CHECKING:
    from mqops.look.core.taken_apart import BodyShown

BYTES_A_LINE = 16
HEX_WIDTH = 2 * BYTES_A_LINE + BYTES_A_LINE // 4 - 1
"""Characters of a full row in hex, in groups of four bytes."""
DEEPEST, GROWTH = 50, 8
_BLANKS = " \t\r\n"


class Row(NamedTuple):
    """Bytes of the data. Parameters: `offset` of the first one; `hex` in groups of four; `text` their characters."""

    offset: int
    hex: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """The data. Parameters: `form` JSON or XML where it was laid out as such, "" otherwise; `lines` of its text, none
    where it is no text; `rows` of its bytes; `shown` bytes of these; `cut` whether there are more."""

    form: str
    lines: tuple[str, ...]
    rows: tuple[Row, ...]
    shown: int
    cut: bool


class _LeftAsItIs(Exception):
    """The text is not laid out."""


def laid_out(body: BodyShown, most: int) -> LaidOut:
    """The data of a message that is not masked. Parameters: `most` bytes, and characters of the text, to be shown."""
    cut, text = body.length > most, body.text or ""
    form, shown = ("", text[:most]) if cut else indented(text)
    lines, shown_bytes = tuple(shown.splitlines()), min(most, len(body.hex) // 2)
    return LaidOut(form=form, lines=lines, rows=dump(body, most), shown=shown_bytes, cut=cut)


def dump(body: BodyShown, most: int) -> tuple[Row, ...]:
    """The first bytes of the data in rows. Parameters: `most` bytes. A CCSID or an Encoding that is not known gives
    points."""
    raw = bytes.fromhex(body.hex[: 2 * most])
    characters = _characters(body.ccsid, body.encoding)
    rows = []
    for at in range(0, len(raw), BYTES_A_LINE):
        part = raw[at : at + BYTES_A_LINE]
        text = "".join(characters[byte] for byte in part)
        rows.append(Row(at, part.hex(" ", -4), text))
    return tuple(rows)


def _characters(ccsid: int, encoding: int) -> list[str]:
    """The character of each byte in a code page."""
    try:
        codec = codec_for(ccsid, encoding=encoding)
    except WireError:
        return ["."] * 256
    found = []
    for byte in range(256):
        try:
            text = codec.text(bytes([byte]))
        except (WireError, UnicodeError):
            text = ""
        found.append(text if len(text) == 1 and text.isprintable() else ".")
    return found


def indented(text: str) -> tuple[str, str]:
    """The form of a text and the text in lines; "" and the text as it is where it has none."""
    start = text.lstrip(_BLANKS + "\ufeff")[:1]
    form, lay = {"{": ("JSON", _json), "[": ("JSON", _json), "<": ("XML", _xml)}.get(start, ("", None))
    if lay is None:
        return "", text
    try:
        parts, size = [], 0
        for part in lay(text):
            size += len(part)
            if size > GROWTH * len(text) + 1000:
                return "", text
            parts.append(part)
    except (ValueError, RecursionError, expat.ExpatError, _LeftAsItIs):
        return "", text
    return form, "".join(parts).strip("\n")


def _line(depth: int) -> str:
    if depth > DEEPEST:
        raise _LeftAsItIs
    return "\n" + "  " * depth


def _json(text: str) -> Iterator[str]:
    """JSON by its own characters, so that numbers and repeated names stay. Raises `ValueError`, `RecursionError`."""
    json.loads(text, parse_int=str, parse_float=str)
    depth = at = 0
    while at < len(text):
        one = text[at]
        end = at + 1
        if one == '"':
            end = _end_of_string(text, at)
            yield text[at:end]
        elif one in "{[":
            while text[end] in _BLANKS:
                end += 1
            if text[end] in "}]":
                yield one + text[end]
                end += 1
            else:
                depth += 1
                yield one + _line(depth)
        elif one in "}]":
            depth -= 1
            yield _line(depth) + one
        elif one not in _BLANKS:
            yield {",": "," + _line(depth), ":": ": "}.get(one, one)
        at = end


def _end_of_string(text: str, at: int) -> int:
    """The place behind a string of JSON that begins at `at`."""
    end = at + 1
    while text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return end + 1


def _xml(text: str) -> Iterator[str]:
    """XML by its own characters. Raises `ExpatError`, `_LeftAsItIs`."""
    raw = text.encode()
    pieces = [(kind, raw[at:end].decode()) for (at, kind), (end, _next) in pairwise(_marks(raw))]
    depth, last = 0, "end"
    for place, (kind, piece) in enumerate(pieces):
        if kind == "text" and not piece.strip():
            alone = last == "start" and pieces[place + 1][1].startswith("</")
            if alone:
                yield piece
            continue
        if kind == "end":
            depth -= 1
            if piece:  # else of an element without content
                yield (_line(depth) if last == "end" else "") + piece
        elif kind == "start":
            yield ("" if last == "text" else _line(depth)) + piece
            depth += 1
        else:
            yield ("" if kind == "text" or last == "text" else _line(depth)) + piece
        last = "end" if kind == "other" else kind


def _marks(raw: bytes) -> list[tuple[int, str]]:
    """Where each part of an XML document begins, and what it is; the last one is its end."""
    parser = expat.ParserCreate("utf-8")
    found: list[tuple[int, str]] = []

    def mark(kind: str) -> None:
        if not (kind == "text" and found and found[-1][1] == "text"):
            found.append((parser.CurrentByteIndex, kind))

    def doctype(*_declared: object) -> None:
        raise _LeftAsItIs

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = lambda *_of: mark("start")
    parser.EndElementHandler = lambda *_of: mark("end")
    parser.CharacterDataHandler = lambda *_of: mark("text")
    parser.StartCdataSectionHandler = lambda: mark("text")
    parser.EndCdataSectionHandler = lambda: mark("text")
    parser.CommentHandler = lambda *_of: mark("other")
    parser.ProcessingInstructionHandler = lambda *_of: mark("other")
    parser.XmlDeclHandler = lambda *_of: mark("other")
    parser.Parse(raw, True)
    return [*found, (len(raw), "")]
