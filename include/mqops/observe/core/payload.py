"""What stands behind the headers of a message, and the properties in them: the columns that extended rules ask.

1. The chain of headers begins behind the MQDLH, where there is a valid one, else with the MQMD. It says Format,
   Encoding and CCSID of the data. Where it is not valid nobody knows what follows: all columns are null.
2. Data is text if its Format is not one of `BINARY_FORMATS`, it is valid in its CCSID, and it has no NUL. Nothing is
   replaced. `text_decoded` is null where the bytes from `text_offset` on are that text in UTF-8 already, as they are
   in most messages: it is not kept twice.
3. A property is an element without elements in it of any MQRFH2 folder, named `folder.name`; the first of a name
   counts, and one that is nil is none. They are kept as a JSON object of texts. None are kept where a folder is not
   valid, or their names have more than `MOST_NAMES` characters. Each folder is parsed once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from mqops.rules.documents import kind_of
from mqwire import constants as c
from mqwire.ccsid import decode
from mqwire.errors import WireError
from mqwire.folder import Element, jms_destination
from mqwire.headers import Chain, Header, walk
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH_LAYOUT

BINARY_FORMATS = frozenset({c.MQFMT_ADMIN, c.MQFMT_EVENT, c.MQFMT_PCF, c.MQFMT_TRIGGER})
ASCII_CCSIDS = frozenset({819, 1208, 437, 850, 923, 1252, 367})
"""CCSIDs whose bytes up to X'7F' are ASCII."""
MOST_NAMES = 1 << 20
"""Characters of the names of a message's properties: names of elements that stand around many are repeated in each."""
_Folders: TypeAlias = tuple[Element, ...]


class Payload(NamedTuple):
    """The columns, in the order of the snapshot's."""

    jms_destination: str | None = None
    text_offset: int | None = None
    text_kind: str | None = None
    text_decoded: str | None = None
    properties: str | None = None


class Described(NamedTuple):
    """Format, Encoding and CCSID, as a header says them of what follows."""

    format: str | bytes
    encoding: int
    ccsid: int


def payload_of(described: Described, dead: Described | None, body: bytes) -> Payload:
    """What stands in a body.

    Parameters: `described` what the MQMD says of the body; `dead` what the MQDLH says, None where none is valid.
    """
    offset = 0
    if dead is not None:
        ccsid = described.ccsid if dead.ccsid == c.MQCCSI_INHERIT else dead.ccsid
        described, offset = dead._replace(ccsid=ccsid), MQDLH_LAYOUT.size
    try:
        chain = walk(*described, body, offset=offset)
    except WireError:
        return Payload()
    kind, text = _text(chain, body)
    parsed = [_folders(header) for header in chain.headers if isinstance(header.value, MQRFH2)]
    return Payload(
        jms_destination=jms_destination(parsed[0] or ()) if parsed else None,
        text_offset=chain.payload_offset if kind else None,
        text_kind=kind,
        text_decoded=text,
        properties=_properties(parsed),
    )


def _text(chain: Chain, body: bytes) -> tuple[str | None, str | None]:
    """Rule 2: kind, and the text where its bytes are not the same in UTF-8."""
    if chain.format in BINARY_FORMATS:
        return None, None
    raw = body[chain.payload_offset :]
    if raw.isascii() and chain.ccsid in ASCII_CCSIDS:
        return kind_of(raw.decode("ascii")), None
    try:
        text = decode(raw, chain.ccsid, chain.encoding)
    except WireError:
        return None, None
    kind = kind_of(text)
    return kind, text if kind and text.encode() != raw else None


def _folders(header: Header) -> _Folders | None:
    """The folders of an MQRFH2; None where one is not valid."""
    assert isinstance(header.value, MQRFH2)
    try:
        return header.value.elements(header.encoding)
    except WireError:
        return None


def _properties(parsed: Sequence[_Folders | None]) -> str | None:
    """Rule 3. Parameters: `parsed` the folders of each MQRFH2."""
    found: dict[str, str] = {}
    characters = 0
    for folders in parsed:
        if folders is None:
            return None
        for folder in folders:
            for name, value in _leaves(folder, folder.name):
                characters += len(name)
                if characters > MOST_NAMES:
                    return None
                found.setdefault(name, value)
    return json.dumps(found, ensure_ascii=False) if found else None


def _leaves(element: Element, name: str) -> Iterator[tuple[str, str]]:
    for child in element.children:
        below = f"{name}.{child.name}"
        if child.children:
            yield from _leaves(child, below)
        elif child.attribute("xsi:nil") != "true":
            yield below, child.value
