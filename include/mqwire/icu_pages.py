"""Code pages of hosts by ICU, which has IBM's own tables. Loaded only where a CCSID needs it.

1. PyICU comes from PyPI as ``pyicu-wheels`` (with ``mqops[codepages]``), with ICU in it: PyICU itself is built on the
   spot, with a compiler and ICU's headers, which an operator's machine does not have. Where it is not installed, names
   are read all the same (`mqwire.code_pages`) and only text is missing.
2. Decoding is strict. The text encodes to the same bytes, or it is refused: ICU puts a substitute where a character
   does not exist, and knows second codes for some. In text, second codes are read.
3. Mixed EBCDIC shifts to double byte and back (SO, SI). In text, shifts that change nothing (SI SO between two fields)
   and a missing last one are read; in fields that are written back, they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_SAME = {5486: 1390, 5495: 1399}
"""CCSIDs with the characters of another one, at the same places."""
_ANNOUNCED = frozenset({25546})
"""CCSIDs whose text begins with an escape sequence, whether the bytes have one or not."""
_AT = re.compile(r" in position (\d+)")


class Conversion(NamedTuple):
    """The conversions of one code page. ``text`` reads what ``decode`` does, second codes as rule 2 says, and shifts as
    rule 3 says."""

    decode: Callable[[bytes], str]
    encode: Callable[[str], bytes]
    text: Callable[[bytes], str]


def conversion(ccsid: int) -> Conversion | None:
    """ICU's conversions of a CCSID; None without PyICU, or if ICU has no table for it."""
    if ccsid in _ANNOUNCED:
        return None
    try:
        import icu  # noqa: PLC0415
    except ImportError:
        return None
    name = f"ibm-{_SAME.get(ccsid, ccsid)}"
    try:
        icu.UnicodeString(b"", name, "strict")
    except icu.ICUError:
        return None

    def text(raw: bytes) -> str:
        try:
            return str(icu.UnicodeString(raw, name, "strict"))
        except ValueError as error:
            at = _AT.search(str(error))
            first = int(at[1]) if at else 0
            raise UnicodeDecodeError(name, raw, first, first + 1, "there is no such character") from error

    def decode(raw: bytes) -> str:
        found = text(raw)
        return found if icu.UnicodeString(found).encode(name) == raw else _refuse()

    def encode(value: str) -> bytes:
        raw: bytes = icu.UnicodeString(value).encode(name)
        if not is_lost(value):
            return raw
        at = next((n for n, one in enumerate(value) if is_lost(one)), 0)
        raise UnicodeEncodeError(name, value, at, at + 1, "it does not exist there")

    def is_lost(value: str) -> bool:
        try:
            return str(icu.UnicodeString(icu.UnicodeString(value).encode(name), name, "strict")) != value
        except ValueError:  # ICU's substitute is no character
            return True

    return Conversion(decode, encode, text)


def _refuse() -> str:
    raise UnicodeError("decodes to text that would encode to other bytes")
