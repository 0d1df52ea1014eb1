"""Columns that a suite itself names: what stands in a payload or its properties, with a type.

    $.amount            a path into JSON     } as BODY(JSON ...) and BODY(XPATH ...) of a rule reads them
    /Doc/Pmt/IBAN       a path into XML      }
    usr.colour          a property of an MQRFH2, by folder and name
    {offset: 10, length: 5, type: packed, decimals: 2}      a field of a fixed record, in bytes behind the headers

1. Their values are payload: a result, a page, a table or a log has a value's shape only (`mask.masked_text`).
2. A value that is not there (no such name, no such property) is null. A payload that is not JSON, not XML, too short or
   has another type there is no null: the column's own `problem` says where, and that is a failure of its own.
3. A number has at most 15 significant digits, which a double holds exactly; one with more is a problem, never rounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from mqops.observe.core.payload import properties_of
from mqops.quality.body import place
from mqops.quality.columns import PROBLEM, TEST, VALUE, Column, ColumnKind, Source
from mqops.rules.documents import JSON_PATH, XPATH, json_at, json_read, kind_of, xml_values
from mqops.rules.values import BadValue, property_name
from mqwire.ccsid import read_text
from mqwire.errors import WireError
from mqwire.headers import Chain
from mqwire.rfh2 import MQRFH2

KINDS: Mapping[str, ColumnKind] = MappingProxyType(
    {
        "text": ColumnKind.TEXT,
        "number": ColumnKind.NUMBER,
        "flag": ColumnKind.FLAG,
        "date": ColumnKind.TIME,
        "packed": ColumnKind.NUMBER,
        "zoned": ColumnKind.NUMBER,
    }
)
"""Type of a column → kind of its values. `packed` and `zoned` are types of a slice only."""
MOST_DIGITS = 15
ISO_DATE = "%Y-%m-%d"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")

Value = str | float | bool | datetime | None


class Unreadable(ValueError):
    """The payload, or the value, is not of the kind that the column says: where and why, never what stands there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a column asks of a message.

    Attributes: `name` as people write it; `language` json, xml, property or slice; for a probe also column (of the
    snapshot) or document (the whole payload); `path` of all but slice and document; `offset` and `length` (bytes) of a
    slice; `ccsid` of its text, None for that of the payload; `type` a key of `KINDS`; `decimals` of a packed or zoned
    number; `date_format` of a date, as of strptime; `probe` a test of the value, and what it tests by, instead of the
    value (`mqops.quality.probes`).
    """

    name: str
    language: str
    path: str = ""
    offset: int = 0
    length: int = 0
    ccsid: int | None = None
    type: str = "text"
    decimals: int = 0
    date_format: str = ISO_DATE
    probe: str = ""
    probe_by: str = ""

    @property
    def column(self) -> Column:
        """The column: its name in frames is made of what it asks, so that two suites can use one name."""
        key = f"{TEST if self.probe else VALUE}{sha256(repr(self).encode()).hexdigest()[:16]}"
        kind = ColumnKind.FLAG if self.probe else KINDS[self.type]
        return Column(name=key, kind=kind, source=Source.PAYLOAD, meaning=self.name, problem=f"{key}{PROBLEM}")

    @property
    def of_document(self) -> bool:
        """Whether it tests a whole payload, which fails where it cannot be read."""
        return self.language == "document"


def asked_by_name(name: str) -> Asked | None:
    """What a name asks that is a path or a property; None where it is neither."""
    if JSON_PATH.fullmatch(name):
        return Asked(name=name, language="json", path=name)
    if XPATH.fullmatch(name):
        return Asked(name=name, language="xml", path=name)
    try:
        return Asked(name=name, language="property", path=property_name(name)) if "." in name else None
    except BadValue:
        return None


class Payload:
    """One message's payload, parsed at most once for all columns.

    Parameters: `chain` of its headers; `columns` of the message, for tests of them.
    """

    def __init__(self, body: bytes, chain: Chain, columns: Mapping[str, Any]) -> None:
        self.raw = body[chain.payload_offset :]
        self._chain = chain
        self._columns = columns
        self._text: str | None = None
        self._document: Any = None
        self._no_json = ""

    @property
    def text(self) -> str:
        """The payload as text, strictly in its CCSID. Raises `Unreadable`."""
        if self._text is None:  # no `cached_property`: it takes a lock in Python 3.11, for each message
            try:
                self._text = read_text(self.raw, self._chain.ccsid, self._chain.encoding, structure="payload", offset=0)
            except WireError as error:
                raise Unreadable(f"not text in CCSID {self._chain.ccsid}") from error
        return self._text

    @property
    def json(self) -> str:
        """The text, which is an object or an array of JSON. Raises `Unreadable`."""
        self._json_document()
        return self.text

    def _json_document(self) -> Any:
        if self._document is None:
            if not self._no_json:
                problem, self._document = json_read(self.text)
                self._no_json = problem or (
                    "not JSON: neither an object nor an array" if self._document is None else ""
                )
            if self._no_json:
                raise Unreadable(self._no_json)
        return self._document

    @cached_property
    def _properties(self) -> Mapping[str, str]:
        """By folder and name. Raises `Unreadable`: a folder is at fault, and what it would say is unknown."""
        try:
            for header in self._chain.headers:
                if isinstance(header.value, MQRFH2):
                    header.value.elements(header.encoding, offset=header.offset)
        except WireError as error:
            raise Unreadable(place(error)) from error
        found: dict[str, str] = json.loads(properties_of(self._chain) or "{}")
        return found

    @cached_property
    def xml(self) -> str:
        """The text, which is XML as rules read it. Raises `Unreadable`."""
        if kind_of(self.text) != "xml":
            raise Unreadable("not XML as rules read it")
        return self.text

    def value(self, asked: Asked) -> Value:
        """The value of a column. Raises `Unreadable`."""
        return _LANGUAGES[asked.language](self, asked)

    def _json(self, asked: Asked) -> Value:
        found = json_at(self._json_document(), asked.path)
        if found is None or (asked.type == "text" and isinstance(found, str)):
            return found
        if asked.type == "flag":
            return _flag(found)
        if isinstance(found, bool) or not isinstance(found, _VALUES):
            raise Unreadable(f"not {_A[asked.type]} at {asked.path}")
        if asked.type == "number":
            if isinstance(found, str):
                raise Unreadable(f"not a number at {asked.path}")
            return _exact(Decimal(found))
        return _typed(str(found), asked)

    def _xml(self, asked: Asked) -> Value:
        return _typed(xml_values(self.xml, [asked.path])[0], asked)

    def _property(self, asked: Asked) -> Value:
        return _typed(self._properties.get(asked.path), asked)

    def _column(self, asked: Asked) -> Value:
        found: Value = self._columns[asked.path]
        return found

    def _slice(self, asked: Asked) -> Value:
        field = self.raw[asked.offset : asked.offset + asked.length]
        if len(field) < asked.length:
            raise Unreadable(f"the payload ends before byte {asked.offset + asked.length:,}")
        if asked.type == "packed":
            return _exact(_scaled(_packed(field), asked))
        if asked.type == "zoned":
            return _exact(_scaled(_zoned(field), asked))
        ccsid = self._chain.ccsid if asked.ccsid is None else asked.ccsid
        try:
            text = read_text(field, ccsid, self._chain.encoding, structure="payload", offset=asked.offset)
        except WireError as error:
            raise Unreadable(f"not text in CCSID {ccsid} at byte {asked.offset}") from error
        return _typed(text.rstrip(" "), asked)


_LANGUAGES: Mapping[str, Callable[[Payload, Asked], Value]] = MappingProxyType(
    {
        "json": Payload._json,
        "xml": Payload._xml,
        "property": Payload._property,
        "slice": Payload._slice,
        "column": Payload._column,
    }
)
_VALUES = (str, int, Decimal)
_A = {"text": "a text", "number": "a number", "flag": "true or false", "date": "a date"}


def _typed(text: str | None, asked: Asked) -> Value:
    """A text as the type of its column. Raises `Unreadable`."""
    if text is None or asked.type == "text":
        return text
    stripped = text.strip(" \t\r\n")
    if asked.type == "flag":
        return _flag(stripped)
    if asked.type == "date":
        try:
            return _in_utc(datetime.strptime(stripped, asked.date_format))
        except (ValueError, OverflowError) as error:
            raise Unreadable(f"not a date of the form {asked.date_format}") from error
    if not _NUMBER.fullmatch(stripped):
        raise Unreadable("not a number")
    return _exact(Decimal(stripped))


def _in_utc(moment: datetime) -> datetime:
    """A moment without a zone is one of UTC. Raises OverflowError: it is before the year 1, or after 9999."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _flag(found: object) -> bool:
    if isinstance(found, bool):
        return found
    if found in ("true", "false"):
        return found == "true"
    raise Unreadable("not true or false")


def _exact(number: Decimal) -> float:
    """Rule 3. Zero has no sign: it is equal to itself in every engine. Raises `Unreadable`."""
    written = str(number)
    if len(written) <= MOST_DIGITS and "E" not in written:
        return float(written) + 0.0
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    if len(digits) > MOST_DIGITS or not -300 < number.adjusted() < 300:
        raise Unreadable(f"a number of more than {MOST_DIGITS} digits")
    return float(number) + 0.0


def _scaled(digits: str, asked: Asked) -> Decimal:
    """A number without a point, exactly: arithmetic would round it to 28 digits."""
    return Decimal(f"{digits}e-{asked.decimals}")


def _packed(field: bytes) -> str:
    """COMP-3: two digits a byte, the sign in the last half: C, A, E, F plus, D, B minus. Raises `Unreadable`."""
    digits, sign = field.hex()[:-1], field.hex()[-1:]
    if not digits.isdigit() or sign not in "abcdef" or not sign:
        raise Unreadable("not a packed decimal")
    return f"-{digits}" if sign in "bd" else digits


def _zoned(field: bytes) -> str:
    """A digit in the lower half of each byte; the upper half of the last one is the sign: D, B (EBCDIC), 7 (ASCII)
    minus, F, C, A, E (EBCDIC), 3 (ASCII) plus. Raises `Unreadable`."""
    zones, digits = field.hex()[::2], field.hex()[1::2]
    if not digits.isdigit() or (set(zones[:-1]) - {"f"} and set(zones[:-1]) - {"3"}) or zones[-1] not in "abcdef37":
        raise Unreadable("not a zoned decimal")
    return f"-{digits}" if zones[-1] in "bd7" else digits
