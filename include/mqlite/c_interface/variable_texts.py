"""Texts of variable length (MQCHARV) within the structures of any call, as C gives and takes them.

The text begins at VSPtr, else VSOffset bytes from the beginning of the structure; VSLength may be
MQVS_NULL_TERMINATED (IBM MQ, "MQCHARV").
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mqlite.failure import Failure
from mqwire import ccsid as sets
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.layout import Layout

PARTS = ("VSPtr", "VSOffset", "VSBufSize", "VSLength", "VSCCSID")
OWN = (c.MQCCSI_APPL, c.MQCCSI_Q_MGR, 1208)


class VariableTexts:
    """Reads and writes them. Parameters: `ffi` of the bridge module."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi

    def read(self, structure: Any, layout: Layout, name: str, *, longest: int, reason: int, too_long: int = 0) -> str:
        """The text of a field.

        Parameters: `structure` its buffer; `name` of the field, blank where the structure is the MQCHARV; `longest`
        bytes that it may have.
        Raises Failure with `reason`, or with `too_long` where that is another for a length that cannot be.
        """
        address, offset, _, length, ccsid = _reader(layout, name)(structure)
        if not length:
            return ""
        if length < c.MQVS_NULL_TERMINATED or length > longest:
            raise Failure(too_long or reason)
        place = self._place(structure, address, offset)
        if place is None:
            raise Failure(reason)
        if length == c.MQVS_NULL_TERMINATED:
            length = self._length(place, longest, 2 if ccsid in sets.UTF16 else 1)
            if length > longest:
                raise Failure(too_long or reason)
        raw = bytes(self._ffi.buffer(place, length)) if length else b""
        try:
            return raw.decode() if ccsid in OWN else sets.decode(raw, ccsid)
        except (UnicodeDecodeError, WireError) as error:
            raise Failure(reason) from error

    def fill(self, structure: Any, layout: Layout, name: str, value: str, *, rightmost: bool = False) -> None:
        """Give a field as much of a text as its buffer takes, and the length of the whole text, if it has a buffer.

        Parameters: `rightmost` which end of the text is given where there is no room for all.
        """
        address, offset, room, _, _ = _reader(layout, name)(structure)
        place = self._place(structure, address, offset)
        if place is None:
            return
        encoded = value.encode()
        room = max(0, min(room, len(encoded)))
        given = encoded[len(encoded) - room :] if rightmost else encoded[:room]
        if given:
            self._ffi.buffer(place, len(given))[:] = given
        layout.writer(name + "VSLength")(structure, len(encoded))

    def name(self, structure: Any, layout: Layout, name: str, text: bytes, ccsid: int, *, only_length: bool) -> bool:
        """Fill in a name of an output field, whole or not at all; False where its buffer is too small.

        Parameters: `only_length` the buffer stays as it is.
        """
        address, offset, room, _, _ = _reader(layout, name)(structure)
        place = self._place(structure, address, offset)
        if place is None:
            return True
        layout.writer(name + "VSLength", name + "VSCCSID")(structure, len(text), ccsid)
        if only_length:
            return True
        if len(text) > room:
            return False
        if text:
            self._ffi.buffer(place, len(text))[:] = text
        return True

    def _place(self, structure: Any, address: int, offset: int) -> Any:
        if address:
            return self._ffi.cast("char *", address)
        return self._ffi.cast("char *", self._ffi.from_buffer(structure)) + offset if offset else None

    def _length(self, place: Any, longest: int, width: int) -> int:
        """Bytes before the NUL; more than `longest` where it is not found."""
        at = 0
        while at <= longest and any(place[at + step] != b"\0" for step in range(width)):
            at += width
        return at


@cache
def _reader(layout: Layout, name: str) -> Any:
    return layout.reader(*(name + part for part in PARTS))
