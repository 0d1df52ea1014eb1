"""Text for people: what of some bytes is text in their CCSID, with a mark in place of what is not. For nothing else.

1. A byte, or a sequence of bytes, that the CCSID does not have is U+FFFD in the text, and its offset is told.
2. With more than ``MOST_BAD`` of them the bytes are no text. NULs are characters.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqwire.ccsid import codec_for

MARK = "\ufffd"
MOST_BAD = 100
"""Places that are no text, in text: a record with a few binary fields has some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """``text`` with marks, and the offsets in bytes of what these stand for."""

    text: str
    bad: tuple[int, ...] = ()


def readable(raw: bytes, ccsid: int, encoding: int) -> Readable | None:
    """The text of some bytes; None if they are none (rule 2), or the place that is not valid cannot be told.

    :param encoding: Encoding of the same data
    :raises WireError: no conversion of the CCSID is known here, or the byte order is not
    """
    decode = codec_for(ccsid, encoding=encoding).decode
    pieces: list[str] = []
    bad: list[int] = []
    at = 0
    while len(bad) <= MOST_BAD:
        rest = raw[at:]
        try:
            return Readable(text="".join([*pieces, decode(rest)]), bad=tuple(bad))
        except UnicodeDecodeError as error:
            pieces += [decode(rest[: error.start]), MARK]
            bad.append(at + error.start)
            at += max(error.end, error.start + 1)
        except UnicodeError:
            return None
    return None
