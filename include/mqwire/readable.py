"""Text for people: what of some bytes is text in their CCSID, with a mark in place of what is not. For nothing else.

1. A byte, or a sequence of bytes, that the CCSID does not have is U+FFFD in the text, and its offset is told.
2. In mixed EBCDIC what follows such a place is read as it stands there: behind a shift-out two bytes are a character.
3. An NL of EBCDIC is a line feed, as ``ccsid.read_text`` has it.
4. With more than ``MOST_BAD`` of them the bytes are no text. NULs are characters.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqwire.ccsid import codec_for, with_line_feeds
from mqwire.code_pages import Family, family_of
from mqwire.errors import UnknownCcsid

MARK = "\ufffd"
_SHIFT_OUT, _SHIFT_IN = b"\x0e", b"\x0f"
MOST_BAD = 100
"""Places that are no text, in text: a record with a few binary fields has some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """``text`` with marks, and the offsets in bytes of what these stand for."""

    text: str
    bad: tuple[int, ...] = ()


def readable(raw: bytes, ccsid: int, encoding: int) -> Readable | None:
    """The text of some bytes; None if they are none (rule 4), or the place that is not valid cannot be told.

    :param encoding: Encoding of the same data
    :raises WireError: no conversion of the CCSID is known here, or the byte order is not
    """
    codec = codec_for(ccsid, encoding=encoding)
    mixed = family_of(ccsid) is Family.MIXED_EBCDIC
    pieces: list[str] = []
    bad: list[int] = []
    at = 0
    try:
        while len(bad) <= MOST_BAD:
            shift = _SHIFT_OUT if mixed and _is_shifted(raw, at) else b""
            rest = shift + raw[at:]
            try:
                text = with_line_feeds("".join([*pieces, codec.text(rest)]), ccsid)
                return Readable(text=text, bad=tuple(bad))
            except UnicodeDecodeError as error:
                if codec.partial:
                    why = f"CCSID {ccsid} cannot be converted here"
                    raise UnknownCcsid("text", "", at + error.start, why) from error
                pieces += [codec.text(rest[: error.start]), MARK]
                place = at + error.start - len(shift)
                end = at + error.end - len(shift)
            bad.append(place)
            double = mixed and _is_shifted(raw, place) and raw[end : end + 1] not in (b"", _SHIFT_IN)
            at = max(end, place + 1) + double
    except UnicodeError:
        return None
    return None


def _is_shifted(raw: bytes, at: int) -> bool:
    """Whether two bytes are a character at this place of mixed EBCDIC."""
    return raw.rfind(_SHIFT_OUT, 0, at) > raw.rfind(_SHIFT_IN, 0, at)
