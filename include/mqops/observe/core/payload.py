"""The data behind the headers of a message, and its properties: the columns that extended rules compare.

1. The chain of headers begins behind the MQDLH; without a valid MQDLH it begins with the MQMD. It gives Format,
   Encoding and CCSID of the data. If the chain is not valid, all columns are null: nothing says what the data is. A
   report without data has no headers, whatever its Format says.
2. Data is text if its Format is not one of `BINARY_FORMATS`, it is valid in its CCSID, and it has no NUL. Nothing is
   replaced, but an NL of EBCDIC by a line feed: MQGMO_CONVERT does so, and JSON and XML know no other. `text_decoded`
   is null if the bytes from `text_offset` on are already that text in UTF-8, as in most messages, so that the snapshot
   does not have it twice.
3. A property is an element without child elements in any folder of an MQRFH2, named `folder.name`. The first of a name
   counts; one that is nil does not. The column is a JSON object of texts. It is null if the names have more than
   `MOST_NAMES` characters. A folder that is not valid counts as having no properties, the others are used (IBM: MQRFH2
   headers that are not valid). Each folder is parsed once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from mqops.rules.documents import DocumentKind, kind_of
from mqwire import constants as c
from mqwire.ccsid import read_text
from mqwire.errors import WireError
from mqwire.folder import Element, jms_destination
from mqwire.headers import Chain, inherited, walk
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


def payload_of(described: Described, dead: Described | None, body: bytes, msg_type: int) -> Payload:
    """The columns of a body.

    Parameters: `described` what the MQMD says of the body; `dead` what the MQDLH says, None if there is no valid one;
    `msg_type` MQMD.MsgType.
    """
    return payload_at(*behind_dlh(described, dead), body, msg_type)


def behind_dlh(described: Described, dead: Described | None) -> tuple[Described, int]:
    """What is said of what stands behind the MQDLH, and where that begins; parameters as `payload_of`."""
    if dead is None:
        return described, 0
    return dead._replace(ccsid=inherited(dead.ccsid, described.ccsid)), MQDLH_LAYOUT.size


def payload_at(described: Described, offset: int, body: bytes, msg_type: int) -> Payload:
    """The columns of a body whose headers or data, as `described`, begin at `offset`."""
    try:
        chain = walk(*described, body, offset=offset, msg_type=msg_type)
    except WireError:
        return Payload()
    kind, text = kind_and_text(chain.format, chain.encoding, chain.ccsid, body, chain.payload_offset)
    parsed = _folders(chain)
    return Payload(
        jms_destination=jms_destination(parsed[0]) if parsed else None,
        text_offset=chain.payload_offset if kind else None,
        text_kind=kind,
        text_decoded=text,
        properties=_properties(parsed),
    )


def kind_and_text(
    format_name: str, encoding: int, ccsid: int, body: bytes, offset: int
) -> tuple[DocumentKind | None, str | None]:
    """Rule 2: `text_kind` and `text_decoded` of the data that begins at `offset`, behind all headers."""
    if format_name in BINARY_FORMATS:
        return None, None
    raw = body[offset:]
    if raw.isascii() and ccsid in ASCII_CCSIDS:
        return kind_of(raw.decode("ascii")), None
    try:
        text = read_text(raw, ccsid, encoding)
    except WireError:
        return None, None
    kind = kind_of(text)
    return kind, text if kind and text.encode() != raw else None


def properties_of(chain: Chain) -> str | None:
    """Rule 3, of a chain of headers."""
    return _properties(_folders(chain))


def _folders(chain: Chain) -> list[_Folders]:
    """The valid folders of each MQRFH2."""
    return [one.value.good_elements(one.encoding) for one in chain.headers if isinstance(one.value, MQRFH2)]


def _properties(parsed: Sequence[_Folders]) -> str | None:
    """Rule 3. Parameters: `parsed` the valid folders of each MQRFH2."""
    found: dict[str, str] = {}
    characters = 0
    for folders in parsed:
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
