"""MQRFH2: the fixed 36 bytes and its name/value folders, kept as the bytes they came in. Knows folders, no queue.

    StrucId RFH_ | Version 2 | StrucLength | Encoding | CodedCharSetId | Format | Flags | NameValueCCSID
    { NameValueLength (multiple of 4) | NameValueData }*

1. The fixed part is in the encoding and CCSID of whatever came before; folders are in NameValueCCSID, two-byte
   characters in the byte order of the fixed part's integers.
2. A folder keeps its padding: ``pack`` of what ``unpack`` gave is identical byte for byte.
3. Offsets in errors are those of the buffer for ``unpack``, else those of the header's own bytes; ``texts`` and
   ``elements`` add the ``offset`` at which it begins.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from mqwire import constants as c
from mqwire.ccsid import decode, encode
from mqwire.errors import WireError
from mqwire.fields import char, long
from mqwire.folder import Element, begun_name, parse_far
from mqwire.layout import Buffer, Layout, byte_order
from mqwire.structures import Structure, header_fields

MQRFH2_LAYOUT = Layout(
    "MQRFH2",
    [
        char("StrucId", 4, c.MQRFH_STRUC_ID),
        *header_fields(c.MQRFH_VERSION_2, c.MQRFH_STRUC_LENGTH_FIXED_2),
        long("NameValueCCSID", 1208),
    ],
    struc_id=c.MQRFH_STRUC_ID,
    versions=[c.MQRFH_VERSION_2],
)
_DATA = "NameValueData"
FOLDERS = 1000
"""Folders of a header: IBM MQ writes one each for mcd, jms, usr and the like; an empty one costs time all the same."""
_NAME_VALUE_CCSIDS = frozenset({1200, 1208, 13488, 17584})


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """One NameValueData, read: ``elements`` up to the first that is not valid, ``error`` why that is not.

    ``name`` is what the data that is not valid begins with, as far as that can be seen; ``offset`` where the data
    begins. What is not valid counts as having no properties (IBM: MQRFH2 headers that are not valid).
    """

    offset: int
    raw: bytes
    elements: tuple[Element, ...] = ()
    error: WireError | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MQRFH2(Structure):
    """Rules and formatting header 2: ``format``, ``encoding`` and ``coded_char_set_id`` describe what follows.

    ``folders`` holds each NameValueData as bytes, padding included; see ``elements`` and ``with_folders``.
    """

    LAYOUT: ClassVar[Layout] = MQRFH2_LAYOUT

    version: int = c.MQRFH_VERSION_2
    encoding: int = c.MQENC_NATIVE
    coded_char_set_id: int = c.MQCCSI_INHERIT
    format: str = c.MQFMT_NONE
    flags: int = 0
    name_value_ccsid: int = 1208
    folders: tuple[bytes, ...] = ()

    @property
    def struc_length(self) -> int:
        """Bytes of the whole header with its folders."""
        return self.LAYOUT.size + sum(4 + len(folder) for folder in self.folders)

    @classmethod
    def unpack(cls, raw: Buffer, *, offset: int = 0, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> Self:
        """The header that begins at ``offset``; folders are cut apart, not parsed.

        :raises WireError: naming structure, field and offset; also if lengths do not add up to StrucLength, or there
            are more than ``FOLDERS``
        """
        values = cls.LAYOUT.unpack(raw, offset=offset, encoding=encoding, ccsid=ccsid)
        length = values.pop("struc_length")
        values.pop("struc_id")
        if not cls.LAYOUT.size <= length <= len(raw) - offset:
            at = offset + cls.LAYOUT.offset("struc_length")
            raise WireError(
                "MQRFH2", "StrucLength", at, f"{length} is not from {cls.LAYOUT.size} to {len(raw) - offset}"
            )
        order = byte_order(encoding)
        return cls(**values, folders=_cut(raw, offset + cls.LAYOUT.size, offset + length, order))

    def pack(self, *, encoding: int = c.MQENC_NATIVE, ccsid: int = 819) -> bytes:
        """As ``Structure.pack``; StrucLength and the folders' lengths are worked out.

        :raises WireError: a value does not fit, or a folder is not a multiple of 4 bytes
        """
        parts = [self.LAYOUT.pack(self.values(), encoding=encoding, ccsid=ccsid)]
        number = struct.Struct(byte_order(encoding) + "i")
        for folder in self.folders:
            if len(folder) % 4:
                at = sum(map(len, parts))
                raise WireError("MQRFH2", "NameValueLength", at, f"{len(folder)} is not a multiple of 4")
            parts += [number.pack(len(folder)), folder]
        return b"".join(parts)

    def texts(self, encoding: int = c.MQENC_NATIVE, *, offset: int = 0) -> tuple[str, ...]:
        """The folders as text, padding included.

        :param encoding: Encoding of the header itself (it is in ``Header.encoding`` of a chain)
        :param offset: where the header begins (``Header.offset`` of a chain), for errors
        :raises WireError: NameValueCCSID is not one of 1200, 1208, 13488, 17584, or the bytes are not text in it
        """
        self._check_ccsid(offset)
        return tuple(self._text(folder, at, encoding, offset) for at, folder in self._places(offset))

    def elements(self, encoding: int = c.MQENC_NATIVE, *, offset: int = 0) -> tuple[Element, ...]:
        """The folders parsed, in order, all of them valid; parameters as ``texts``.

        :raises WireError: as ``texts``, or a folder is not well formed
        """
        found: list[Element] = []
        for one in self.read(encoding, offset=offset):
            if one.error is not None:
                raise one.error
            found += one.elements
        return tuple(found)

    def good_elements(self, encoding: int = c.MQENC_NATIVE) -> tuple[Element, ...]:
        """The folders that are valid, in order; those that are not count as having nothing."""
        return tuple(element for one in self.read(encoding) for element in one.elements)

    def read(self, encoding: int = c.MQENC_NATIVE, *, offset: int = 0) -> tuple[Folder, ...]:
        """Each NameValueData parsed, whether it is valid or not; parameters as ``texts``."""
        return tuple(self._folder(folder, at, encoding, offset) for at, folder in self._places(offset))

    def _places(self, offset: int) -> Iterator[tuple[int, bytes]]:
        at = offset + self.LAYOUT.size + 4
        for folder in self.folders:
            yield at, folder
            at += len(folder) + 4

    def _text(self, folder: bytes, at: int, encoding: int, offset: int) -> str:
        self._check_ccsid(offset)
        return decode(folder, self.name_value_ccsid, encoding, structure="MQRFH2", field=_DATA, offset=at)

    def _folder(self, raw: bytes, at: int, encoding: int, offset: int) -> Folder:
        try:
            text = self._text(raw, at, encoding, offset)
        except WireError as error:
            return Folder(offset=at, raw=raw, error=error, name=begun_name(raw.decode("latin-1").replace("\0", "")))
        found, wrong = parse_far(text)
        if wrong is None:
            return Folder(offset=at, raw=raw, elements=found)
        place = at + len(encode(text[: wrong.offset], self.name_value_ccsid, encoding))  # it counts characters
        said = WireError("MQRFH2", wrong.field, place, wrong.message)
        said.__cause__ = wrong
        name = "" if found else begun_name(text)
        return Folder(offset=at, raw=raw, elements=found, error=said, name=name)

    def with_folders(self, *folders: Element | str, encoding: int = c.MQENC_NATIVE) -> Self:
        """A copy that has these folders instead, padded with blanks to a multiple of 4 bytes.

        :param encoding: Encoding the header will be packed with
        :raises WireError: text that does not exist in NameValueCCSID
        """
        self._check_ccsid(0)
        texts = [folder if isinstance(folder, str) else folder.text() for folder in folders]
        wire: list[bytes] = []
        at = self.LAYOUT.size
        for text in texts:
            wire.append(_padded(text, self.name_value_ccsid, encoding, at + 4))
            at += 4 + len(wire[-1])
        values = {key: getattr(self, key) for key in self.__slots__ if key != "folders"}
        return type(self)(**values, folders=tuple(wire))

    def _check_ccsid(self, offset: int) -> None:
        if self.name_value_ccsid not in _NAME_VALUE_CCSIDS:
            at = offset + self.LAYOUT.offset("name_value_ccsid")
            known = "1200, 1208, 13488, 17584"
            raise WireError("MQRFH2", "NameValueCCSID", at, f"{self.name_value_ccsid} is not one of {known}")


def _cut(raw: Buffer, start: int, end: int, order: str) -> tuple[bytes, ...]:
    folders: list[bytes] = []
    while start < end:
        if end - start < 4:
            raise WireError("MQRFH2", "NameValueLength", start, f"{end - start} bytes are left where 4 are needed")
        length: int = struct.unpack_from(order + "i", raw, start)[0]
        if length % 4 or not 0 <= length <= end - start - 4:
            why = f"{length} is not a multiple of 4 from 0 to {end - start - 4}"
            raise WireError("MQRFH2", "NameValueLength", start, why)
        if len(folders) == FOLDERS:
            raise WireError("MQRFH2", "NameValueLength", start, f"the header has more than {FOLDERS} folders")
        folders.append(bytes(raw[start + 4 : start + 4 + length]))
        start += 4 + length
    return tuple(folders)


def _padded(text: str, ccsid: int, encoding: int, at: int) -> bytes:
    raw = encode(text, ccsid, encoding, structure="MQRFH2", field=_DATA, offset=at)
    while len(raw) % 4:
        raw += encode(" ", ccsid, encoding)
    return raw
