"""CCSID to codec: strict both ways, exact both ways, unknown ones refused. Knows no structure.

1. A decoded text encodes back to the same bytes, or decoding fails: some multi-byte pages have two codes for one
   character. Only ``Codec.text`` reads more: such second codes, and shifts of mixed EBCDIC that change nothing.
2. CCSIDs 1200, 13488 and 17584 have the byte order of the integers of the same data (Encoding); 1202 is always
   little-endian, 1201 always big-endian.
3. The special values (0 queue manager, -1 embedded, -2 inherit, -3 application) are no character sets: the caller
   resolves them from the chain of headers.
4. A code page is converted by Python, by the tables of `mqwire.ebcdic` and `mqwire.single_byte`, or by ICU
   (`mqwire.icu_pages`). What consists of the characters that all pages of its family have at one place
   (`mqwire.code_pages`) is read in every CCSID of IBM's lists: so the names in headers are, even where nothing
   converts the page.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial

from mqwire.code_pages import EBCDIC, NL, Family, family_of, invariant_bytes
from mqwire.constants import MQENC_INTEGER_MASK, MQENC_INTEGER_NORMAL, MQENC_INTEGER_REVERSED, MQENC_NATIVE
from mqwire.ebcdic import decoding_table
from mqwire.errors import NotText, UnknownCcsid, UnknownEncoding
from mqwire.icu_pages import Conversion, conversion
from mqwire.single_byte import PAGES

Bytes = bytes | bytearray | memoryview

# Python's own codecs
_PYTHON: dict[int, str] = {
    **{37: "cp037", 424: "cp424", 500: "cp500", 875: "cp875", 1026: "cp1026", 1140: "cp1140"},
    **{367: "ascii", 819: "latin-1", 923: "iso8859-15", 1208: "utf-8"},
    **{n: f"cp{n}" for n in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 865, 866, 869)},
    **{912: "iso8859-2", 913: "iso8859-3", 914: "iso8859-4", 915: "iso8859-5", 1089: "iso8859-6", 813: "iso8859-7"},
    **{916: "iso8859-8", 920: "iso8859-9", 921: "iso8859-13", 878: "koi8-r", 1168: "koi8-u", 1125: "cp1125"},
    **{n: f"cp{n}" for n in range(1250, 1259)},
    **{n: f"cp{n - 5346 + 1250}" for n in range(5346, 5355)},
    **{
        943: "cp932",
        954: "euc_jp",
        970: "euc_kr",
        1363: "cp949",
        950: "cp950",
        1386: "gbk",
        1350: "euc_jp",
        1381: "gb2312",
        1392: "gb18030",
        5488: "gb18030",
    },
}
_UTF16_BY_ENCODING = frozenset({1200, 13488, 17584})
_UTF16_FIXED = {1201: "utf-16-be", 1202: "utf-16-le"}
UTF16 = _UTF16_BY_ENCODING | _UTF16_FIXED.keys()
_JAPANESE_PC = 943
_MORE_IN_ICU = frozenset({950, 970, 1363, 1386})
"""CCSIDs of which IBM's table has more than Python's, above all the characters that users define: a character that
Python has not is converted by ICU."""
_NO_TABLE = "there is no conversion table for its CCSID here"
_SPECIAL = {0: "queue manager's", -1: "embedded", -2: "inherited", -3: "application's", -4: "as published"}


@dataclass(frozen=True, slots=True)
class Codec:
    """One character set.

    ``decode``, ``encode`` and ``text`` are strict and raise ``UnicodeError``. ``text`` is for reading alone: it reads
    what ``decode`` does, second codes of a character, and mixed EBCDIC with shifts that would not be written. ``blank``
    is the encoded blank: structures can be in this character set only if it is one byte. A ``partial`` one has the
    invariant characters only (rule 4).
    """

    ccsid: int
    decode: Callable[[bytes], str]
    encode: Callable[[str], bytes]
    blank: bytes
    text: Callable[[bytes], str]
    partial: bool = False


@lru_cache(maxsize=256)
def _codec(ccsid: int, utf16: str) -> Codec | None:
    name = utf16 or _PYTHON.get(ccsid)
    if name is not None:
        return _python_codec(ccsid, name)
    page = decoding_table(ccsid) or _derived(ccsid)
    if page is not None:
        return _table_codec(ccsid, page)
    family = family_of(ccsid)
    if family is None:
        return None
    page_of_icu = conversion(ccsid)
    return (
        _invariant_codec(ccsid, family, page_of_icu) if family is not Family.WIDE else _wide_codec(ccsid, page_of_icu)
    )


def _wide_codec(ccsid: int, page: Conversion | None) -> Codec | None:
    return Codec(ccsid, page.decode, page.encode, page.encode("\u3000"), page.text) if page else None


def _invariant_codec(ccsid: int, family: Family, page: Conversion | None) -> Codec:
    """The invariant characters without a table; all others by the page, or not at all."""
    known = invariant_bytes(ccsid)
    bytes_known, characters_known = bytes(known), frozenset(known.values())
    code = "cp500" if family in EBCDIC else "ascii"

    def reading(other: Callable[[bytes], str] | None) -> Callable[[bytes], str]:
        def read(raw: bytes) -> str:
            beyond = raw.translate(None, bytes_known)
            if not beyond:
                return raw.decode(code)
            if other is not None:
                return other(raw)
            at = raw.index(beyond[:1])
            raise UnicodeDecodeError(f"ccsid {ccsid}", raw, at, at + 1, _NO_TABLE)

        return read

    def encode(text: str) -> bytes:
        beyond = set(text) - characters_known
        if not beyond:
            return text.encode(code)
        if page is not None:
            return page.encode(text)
        at = min(map(text.index, beyond))
        raise UnicodeEncodeError(f"ccsid {ccsid}", text, at, at + 1, _NO_TABLE)

    decode, text = (reading(page.decode), reading(page.text)) if page else (reading(None), reading(None))
    return Codec(ccsid, decode, encode, " ".encode(code), text, partial=page is None)


def _derived(ccsid: int) -> str | None:
    """The 256 characters of a page of `mqwire.single_byte`."""
    if ccsid not in PAGES:
        return None
    base, cells = PAGES[ccsid]
    codec = codec_for(base)
    characters = [_character_of(codec, byte) for byte in range(256)]
    for cell in cells.split():
        characters[int(cell[:2], 16)] = chr(int(cell[2:], 16))
    return "".join(characters)


def _character_of(codec: Codec, byte: int) -> str:
    """The character of a byte; U+FFFE, which is none, if there is none."""
    try:
        return codec.decode(bytes([byte]))
    except UnicodeError:
        return "\ufffe"


def _table_codec(ccsid: int, page: str) -> Codec:
    back = codecs.charmap_build(page)

    def decode(raw: bytes) -> str:
        return codecs.charmap_decode(raw, "strict", page)[0]

    def encode(text: str) -> bytes:
        return codecs.charmap_encode(text, "strict", back)[0]

    return Codec(ccsid, decode, encode, encode(" "), decode)


def _python_codec(ccsid: int, name: str) -> Codec:
    lookup = codecs.lookup(name)
    errors = _from_icu(ccsid, name) if ccsid in _MORE_IN_ICU else "strict"
    write = _with_ibm_extension(name) if ccsid == _JAPANESE_PC else partial(str.encode, encoding=name, errors=errors)

    def plain(raw: bytes) -> str:
        return raw.decode(name, errors)

    def exact(raw: bytes) -> str:
        text = raw.decode(name, errors)
        if write(text) != raw:
            raise UnicodeError("decodes to text that would encode to other bytes")
        return text

    return Codec(ccsid, plain if _is_exact(lookup.name) else exact, write, " ".encode(name), plain)


def _from_icu(ccsid: int, name: str) -> str:
    """The name of an error handler that takes a character from ICU which Python has not; the error stays where ICU has
    not that either. All other characters are Python's, whatever stands beside them: in IBM's tables X'5C' of 1363 is a
    won sign, and controls have each other's places."""
    page_of = lru_cache(maxsize=1)(conversion)

    def character(error: UnicodeError) -> tuple[str | bytes, int]:
        page = page_of(ccsid)
        if page is not None and isinstance(error, UnicodeDecodeError):
            for end in (error.start + 1, error.start + 2):
                with suppress(UnicodeError):
                    text = page.text(error.object[error.start : end])
                    if len(text) == 1:
                        return text, end
        if page is not None and isinstance(error, UnicodeEncodeError):
            one = error.object[error.start : error.end]
            with suppress(UnicodeError):
                raw = page.encode(one)
                if raw.decode(name, errors) == one:  # else Python has another character there
                    return raw, error.end
        raise error

    errors = f"mqwire.{ccsid}"
    codecs.register_error(errors, character)
    return errors


def _with_ibm_extension(name: str) -> Callable[[str], bytes]:
    """CCSID 943 writes the characters of IBM's extension (X'FA40' to X'FC4B') there; Python writes those that NEC has
    selected of them (X'ED40' to X'EEFC') at that second place. Names of people have such characters."""
    codes: dict[str, bytes] = {}
    for number in range(0xFA40, 0xFC4C):
        raw = number.to_bytes(2, "big")
        character = raw.decode(name, "ignore")
        if len(character) == 1 and character.encode(name)[0] in {0xED, 0xEE}:
            codes[character] = raw
    extension = re.compile(f"([{''.join(codes)}])")

    def write(text: str) -> bytes:
        if text.isascii():
            return text.encode(name)
        try:
            return b"".join(codes.get(part) or part.encode(name) for part in extension.split(text))
        except UnicodeEncodeError:
            return text.encode(name)  # raises: the place is one of the whole text

    return write


def _is_exact(name: str) -> bool:
    """Whether decoding and encoding again gives the same bytes: UTF-8, UTF-16, and single-byte pages in which no two
    bytes stand for one character."""
    if name.startswith("utf"):
        return True
    cells = [bytes([i]).decode(name, "ignore") for i in range(256)]
    single = "".join(cells)
    return len(set(single)) == len(single) and "" not in cells


def is_known(ccsid: int) -> bool:
    """Whether text in this CCSID can be converted, all of it."""
    if ccsid in UTF16:
        return True
    found = _codec(ccsid, "")
    return found is not None and not found.partial


def codec_for(
    ccsid: int, structure: str = "text", offset: int = 0, encoding: int | None = None, field: str = ""
) -> Codec:
    """The codec of a CCSID.

    :param structure: MQ structure to name in an error, with a field (else CodedCharSetId or Encoding) and its offset
    :param encoding: Encoding of the same data, needed for 1200, 13488 and 17584; None for a structure's fixed-length
        fields, which cannot be in a two-byte character set
    :raises UnknownCcsid: no conversion known, one of MQ's special values, or two bytes a character in fixed fields
    :raises UnknownEncoding: the byte order of two-byte characters is unknown
    """
    if encoding is None and family_of(ccsid) is Family.WIDE:
        why = f"fixed-length fields cannot be in CCSID {ccsid}: it has {Family.WIDE.value}"
        raise UnknownCcsid(structure, field or "CodedCharSetId", offset, why)
    utf16 = _utf16(ccsid, encoding or 0, structure, offset, field) if ccsid in UTF16 else ""
    found = _codec(ccsid, utf16)
    if found is None:
        raise UnknownCcsid(structure, field or "CodedCharSetId", offset, _why_none(ccsid))
    return found


def _why_none(ccsid: int) -> str:
    special = _SPECIAL.get(ccsid)
    if special:
        return f"CCSID {ccsid} means the {special} one, which is not known here"
    return f"CCSID {ccsid} {'is unknown' if family_of(ccsid) is None else 'cannot be converted here'}"


def _utf16(ccsid: int, encoding: int, structure: str, offset: int, field: str) -> str:
    if ccsid in _UTF16_FIXED:
        return _UTF16_FIXED[ccsid]
    integer = encoding & MQENC_INTEGER_MASK
    if integer == MQENC_INTEGER_NORMAL:
        return "utf-16-be"
    if integer == MQENC_INTEGER_REVERSED:
        return "utf-16-le"
    why = f"byte order of CCSID {ccsid} unknown in encoding {encoding}"
    raise UnknownEncoding(structure, field or "Encoding", offset, why)


def decode(
    raw: Bytes,
    ccsid: int,
    encoding: int = MQENC_NATIVE,
    *,
    structure: str = "text",
    field: str = "",
    offset: int = 0,
) -> str:
    """Text from bytes, strictly; nothing is stripped.

    :param structure: what to name in an error, with the ``field`` the bytes are of and their ``offset``
    :raises WireError: unknown CCSID, or bytes that are not text in it; ``offset`` + the place of the bad byte is named
    """
    codec = codec_for(ccsid, structure, offset, encoding, field)
    try:
        return codec.text(bytes(raw))
    except UnicodeError as error:
        at = offset + getattr(error, "start", 0)
        if codec.partial:
            raise UnknownCcsid(structure, field, at, f"CCSID {ccsid} cannot be converted here") from error
        raise NotText(structure, field, at, f"not text in CCSID {ccsid}: {_why(error)}") from error


def read_text(
    raw: Bytes,
    ccsid: int,
    encoding: int = MQENC_NATIVE,
    *,
    structure: str = "text",
    field: str = "",
    offset: int = 0,
) -> str:
    """As ``decode``, for reading alone: an NL of EBCDIC is the line feed that a program gets with MQGMO_CONVERT."""
    return with_line_feeds(decode(raw, ccsid, encoding, structure=structure, field=field, offset=offset), ccsid)


def with_line_feeds(text: str, ccsid: int) -> str:
    """A text that was decoded from a CCSID: as ``read_text``."""
    return text.replace(NL, "\n") if NL in text and family_of(ccsid) in EBCDIC else text


def encode(
    text: str,
    ccsid: int,
    encoding: int = MQENC_NATIVE,
    *,
    structure: str = "text",
    field: str = "",
    offset: int = 0,
) -> bytes:
    """Bytes from text, strictly.

    :param structure: what to name in an error, with the ``field`` the bytes are for and their ``offset``
    :raises WireError: unknown CCSID, or a character that is not in it
    """
    codec = codec_for(ccsid, structure, offset, encoding, field)
    try:
        return codec.encode(text)
    except UnicodeError as error:
        if codec.partial:
            raise UnknownCcsid(structure, field, offset, f"CCSID {ccsid} cannot be converted here") from error
        raise NotText(structure, field, offset, f"{_character(error)} does not exist in CCSID {ccsid}") from error


def _why(error: UnicodeError) -> str:
    return error.reason if isinstance(error, UnicodeDecodeError) else str(error)


def _character(error: UnicodeError) -> str:
    return repr(error.object[error.start]) if isinstance(error, UnicodeEncodeError) else "the text"
