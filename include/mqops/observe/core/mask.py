"""A message shown without its text (law 9): the shape of the text."""

from __future__ import annotations

import string
import unicodedata
from typing import NamedTuple

from mqops.observe.core.payload import ASCII_CCSIDS, Described, behind_dlh
from mqwire.ccsid import codec_for
from mqwire.errors import WireError
from mqwire.headers import walk_far

SHOWN_BYTES = 48
_AS_IT_IS = frozenset(string.punctuation + " ")
_BY_CATEGORY = {"L": "x", "M": "x", "N": "9"}


class TextRow(NamedTuple):
    """What `shape` reads of a message of a snapshot, and what tells it from others."""

    msg_id: bytes
    body_sha256: bytes
    body: bytes
    dlh_format: str | None
    dlh_ccsid: int | None
    dlh_encoding: int | None
    format: str
    ccsid: int
    encoding: int


SHAPE_OF = TextRow._fields[2:]
"""The columns by which `shape` goes."""


def shape(message: TextRow) -> str:
    """The masked text of a message of a snapshot, behind all its headers, as the page of the message has it; a point a
    byte from a header on that cannot be read."""
    dead = None
    if message.dlh_format is not None and message.dlh_ccsid is not None and message.dlh_encoding is not None:
        dead = Described(message.dlh_format, message.dlh_encoding, message.dlh_ccsid)
    described, offset = behind_dlh(Described(message.format, message.encoding, message.ccsid), dead)
    chain, broken = walk_far(*described, message.body, offset=offset)
    data = message.body[chain.payload_offset :]
    return "." * len(data[:SHOWN_BYTES]) if broken else masked(data, chain.ccsid, chain.encoding)


def masked(body: bytes, ccsid: int, encoding: int) -> str:
    """The shape of a body's first bytes: letters and marks as `x`, numbers as `9`, ASCII punctuation and blanks as they
    are, everything else as `.`: what belongs to a word in one script or another is not known here.

    Parameters: `body` behind its MQDLH; `ccsid` and `encoding` of its text. Returns one `.` a byte where the bytes are
    no text in that character set, so nothing is ever guessed.
    """
    head = body[:SHOWN_BYTES]
    if ccsid in ASCII_CCSIDS and head.isascii():
        return head.translate(_ASCII).decode("ascii")
    try:
        codec = codec_for(ccsid, encoding=encoding)
    except WireError:
        return "." * len(head)
    for cut in range(min(4, len(head))):  # the last character may be cut in two
        try:
            return masked_text(codec.text(head[: len(head) - cut]))
        except UnicodeError:
            continue
    return "." * len(head)


def masked_text(text: str) -> str:
    """The shape of a text, as `masked` has it, of its first characters."""
    return "".join(map(_masked, text[:SHOWN_BYTES]))


def _masked(character: str) -> str:
    if character in _AS_IT_IS:
        return character
    return _BY_CATEGORY.get(unicodedata.category(character)[0], ".")


_ASCII = bytes(ord(_masked(chr(code))) if code < 0x80 else 0 for code in range(256))
