"""The header of a page of a Parquet file (parquet.thrift, `PageHeader`), in Thrift's compact protocol. Pure.

| field | of PageHeader                         | field 5, 7, 8: of the page's kind                                   |
|-------|---------------------------------------|---------------------------------------------------------------------|
| 1     | kind of the page                      | number of its values                                                |
| 2     | bytes, unpacked                       | encoding (field 5 DataPageHeader, field 7 DictionaryPageHeader)     |
| 3     | bytes in the file, behind the header  |                                                                     |
| 4     | checksum                              | encoding (field 8 DataPageHeaderV2)                                 |
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)
_OF_KIND = {DATA_PAGE: (5, 2), DICTIONARY_PAGE: (7, 2), DATA_PAGE_V2: (8, 4)}
"""Kind of the page → the field with its own header, and the field of the encoding therein."""
LONGEST = 16 << 20
"""Bytes of a header that are read: statistics with the least and the greatest value stand in it."""
DEEPEST = 8


class Content(Protocol):
    """The bytes of a file, one by one."""

    def __len__(self) -> int: ...

    def __getitem__(self, at: int, /) -> int: ...


class Page(NamedTuple):
    """A page. Parameters: `unpacked` bytes; `end` where the next one begins; `encoding` -1 where it has none."""

    kind: int
    unpacked: int
    values: int
    encoding: int
    end: int


def page_header(content: Content, at: int) -> Page:
    """The page that begins at `at`. Raises `ValueError`: it is no header, or it reaches beyond the content."""
    reader = _Reader(content, at)
    fields = reader.struct(0)
    kind, unpacked, packed = (fields.get(number) for number in (1, 2, 3))
    if not (isinstance(kind, int) and isinstance(unpacked, int) and isinstance(packed, int)):
        raise ValueError("the header of a page is not whole")
    own, encoding = _OF_KIND.get(kind, (0, 0))
    more = fields.get(own, {})
    values = more.get(1, 0) if isinstance(more, dict) else None
    found = more.get(encoding, -1) if isinstance(more, dict) else None
    if min(unpacked, packed) < 0 or not isinstance(values, int) or values < 0 or not isinstance(found, int):
        raise ValueError("the header of a page has values that cannot be")
    if reader.at + packed > len(content):
        raise ValueError("a page ends behind the end of the file")
    return Page(kind, unpacked, values, found, reader.at + packed)


class _Reader:
    """Reads values one after the other. Attributes: `at` the next byte."""

    def __init__(self, content: Content, at: int) -> None:
        self._content, self.at = content, at
        self._end = min(len(content), at + LONGEST)

    def struct(self, depth: int) -> dict[int, Any]:
        """Field → value, those of a struct as such a dictionary; texts and lists are passed over."""
        if depth > DEEPEST:
            raise ValueError("the header of a page is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int, *, in_list: bool = False) -> Any:
        match kind:
            case 4 | 5 | 6:
                return self._number()
            case 12:
                return self.struct(depth + 1)
            case 1 | 2 if not in_list:  # a truth value stands in its field's head; in a list it is a byte
                pass
            case 1 | 2 | 3:
                self._skip(1)
            case 7:
                self._skip(8)
            case 8:
                self._skip(self._unsigned())
            case 9 | 10:
                self._list(depth)
            case _:
                raise ValueError(f"the header of a page has a value of kind {kind}")
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        for _ in range(head >> 4 if head >> 4 < 15 else self._unsigned()):
            self._value(head & 15, depth + 1, in_list=True)

    def _skip(self, length: int) -> None:
        self.at += length
        if self.at > self._end:
            raise ValueError("the header of a page is not whole")

    def _byte(self) -> int:
        self._skip(1)
        return self._content[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            if (shift := shift + 7) > 63:
                raise ValueError("the header of a page has a number of more than 64 bits")

    def _number(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
