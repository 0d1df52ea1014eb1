"""One message, taken apart: MQMD, the chain of headers, the data behind them. Pure.

1. Nothing is guessed. A header that is not what its Format says ends the chain: `broken` says why, and nothing behind
   that place is read. Data that is not text in its own CCSID has no text, and `no_text` says why.
2. The MQDLH is found by its bytes, as in a snapshot (`mqops.observe.core.decode`, rule 3), whatever the Format says.
3. Payload is what an application wrote: the data, the values in an MQRFH, the bytes of a header that have no name here,
   and the folders of an MQRFH2 but those in `OPEN_FOLDERS`, which the queue manager and JMS write. It is masked unless
   `revealed`: text by its shape, hex by `xx`, both of the first bytes. Passwords in headers are never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NotRequired, TypeAlias, TypedDict

from mqops.as_json import JsonObject, json_object
from mqops.look.core.field_values import Shown, shown
from mqops.observe.core.decode import dlh_of, md_text
from mqops.observe.core.mask import SHOWN_BYTES, masked, masked_text
from mqops.observe.core.payload import BINARY_FORMATS
from mqops.observe.core.put_time import put_second
from mqwire import constants as c
from mqwire.errors import CutShort, UnknownCcsid, UnknownEncoding, WireError
from mqwire.folder import Element
from mqwire.header_fields import BEGIN, Value, fields_of, name_value_pairs
from mqwire.headers import MQH, Chain, Header, inherited, walk_far
from mqwire.layout import Layout
from mqwire.readable import MOST_BAD, Readable, readable
from mqwire.rfh2 import MQRFH2, Folder
from mqwire.structures import MQDLH, MQMD, MQMD_LAYOUT, MQTM, MQTMC2, MQXQH, Structure

OPEN_FOLDERS = frozenset({"mcd", "jms", "mqext", "mqps", "mqema", "psc", "pscr"})
OPEN_ATTRIBUTES = frozenset({"dt", "xsi:nil", "content", "context", "copy", "support"})
"""Attributes that IBM MQ gives a meaning, of folders and their elements."""
_NUMBERS = frozenset({"StrucLength", "Version", "NameValueLength", "NameValueCCSID"})
"""Fields whose errors quote numbers only."""
UNNAMED = "(in hex)"
"""The bytes of a header that have no name here."""
LONGEST_CHARACTER = 4
"""Bytes of a character at most."""
NEVER_SHOWN = "(a password, never shown)"
_REASON_IS_OF_MQ = frozenset({c.MQCRC_MQ_API_ERROR, c.MQCRC_BRIDGE_ERROR, c.MQCRC_BRIDGE_TIMEOUT})
"""ReturnCode of an MQCIH whose Reason is one of MQ; others have one of CICS (IBM MQ, "MQCIH", table of ReturnCode)."""
_read_md = MQMD_LAYOUT.reader(*MQMD_LAYOUT.keys)


FieldsShown: TypeAlias = "Mapping[str, Shown | FieldsShown]"
"""MQ's name of a field → its value, or the fields of the structure that it is."""


class ElementShown(TypedDict):
    """An element of a folder. Parameters: `name` its path, "" for the folder itself; `attributes` other than dt."""

    name: str
    type: str
    value: str
    attributes: NotRequired[dict[str, str]]


class FolderShown(TypedDict):
    """A folder of an MQRFH2. One that is not valid has no elements: it says where it is, why (`broken`), and has its
    bytes (`hex`)."""

    name: str
    masked: bool
    elements: list[ElementShown]
    attributes: NotRequired[dict[str, str]]
    offset: NotRequired[int]
    length: NotRequired[int]
    broken: NotRequired[str]
    hex: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderShown:
    """A header. Parameters: `folders` of an MQRFH2, and the NameValueString of an MQRFH as one, None for other headers;
    `broken` why what the header has itself cannot be read."""

    name: str
    offset: int
    length: int
    fields: FieldsShown
    folders: tuple[FolderShown, ...] | None = None
    broken: str = ""

    def to_json(self) -> JsonObject:
        """A JSON object, without what the header does not have."""
        return {name: one for name, one in json_object(self).items() if one is not None and one != ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyShown:
    """The data behind all headers. Parameters: `text` None if it is not text, `no_text` why; `masked` whether text and
    hex show its shape only; `offset` where it begins behind the MQMD; `length` in bytes; `bad_bytes` the offsets in it
    of what is no text in its CCSID: the text has U+FFFD there."""

    text: str | None
    hex: str
    ccsid: int
    encoding: int
    format: str
    offset: int
    length: int
    masked: bool
    no_text: str = ""
    bad_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageShown:
    """A message taken apart. Parameters: `md` by MQ's names; `broken` why the chain of headers ends early; `origin`
    where the message was to go, or came from."""

    md: Mapping[str, Shown]
    headers: tuple[HeaderShown, ...]
    body: BodyShown
    broken: str = ""
    origin: Mapping[str, Shown] | None = None


def taken_apart(md: bytes, body: bytes, *, revealed: bool = False, most: int | None = None) -> MessageShown:
    """A message. Parameters: `md` an MQMD of version 2 in this machine's byte order; `body` all that follows it; `most`
    bytes of revealed data that are made text and hex, None for all."""
    fields = dict(zip(MQMD_LAYOUT.keys, _read_md(md), strict=True))
    texts = {one.key: md_text(fields[one.key]) for one in MQMD_LAYOUT.fields if one.kind == "char"}
    raw_format: bytes = fields["format"]
    dead, chain, broken = _chain(raw_format, fields["encoding"], fields["coded_char_set_id"], body, fields["msg_type"])
    headers = [_header(one, body, revealed=revealed) for one in chain.headers]
    if dead is not None:
        headers.insert(0, _structure("MQDLH", dead, 0, MQDLH.LAYOUT.size))
    trigger = None if broken else _trigger(chain, body)
    if trigger is not None:
        headers.append(_structure(type(trigger).__name__, trigger, chain.payload_offset, trigger.LAYOUT.size))
        size = chain.payload_offset + trigger.LAYOUT.size
        chain = replace(chain, payload_offset=size, format=c.MQFMT_NONE if size == len(body) else chain.format)
    return MessageShown(
        md={one.name: shown(one.name, texts.get(one.key, fields[one.key])) for one in MQMD_LAYOUT.fields},
        headers=tuple(headers),
        body=_body(chain, body, broken=broken is not None, revealed=revealed, most=most if revealed else None),
        broken=_why(broken, revealed=revealed) if broken else "",
        origin=_origin(dead, chain, texts["put_date"], texts["put_time"]),
    )


def _why(error: WireError, *, revealed: bool) -> str:
    """What is wrong with a header. Some errors quote bytes of the message: these name the place only."""
    numbers_only = isinstance(error, (CutShort, UnknownCcsid, UnknownEncoding)) or error.field in _NUMBERS
    if revealed or numbers_only:
        return str(error)
    return f"{error.structure}.{error.field} at offset {error.offset} is not valid"


def _chain(
    raw_format: bytes, encoding: int, ccsid: int, body: bytes, msg_type: int
) -> tuple[MQDLH | None, Chain, WireError | None]:
    """The MQDLH, None without a valid one; the chain of headers behind it, and the error that ends the chain early."""
    try:
        dead, _rest = dlh_of(raw_format, encoding, ccsid, body)
    except WireError:
        return None, *walk_far(raw_format, encoding, ccsid, body, msg_type=msg_type)
    inner = inherited(dead.coded_char_set_id, ccsid)
    return dead, *walk_far(dead.format, dead.encoding, inner, body, offset=MQDLH.LAYOUT.size, msg_type=msg_type)


def _header(header: Header, body: bytes, *, revealed: bool) -> HeaderShown:
    value = header.value
    found = _structure(header.name, value, header.offset, header.length)
    if isinstance(value, MQH):
        return _of_family(found, header, value, body, revealed=revealed)
    if not isinstance(value, MQRFH2):
        return found
    shown_folders: list[FolderShown] = []
    for one in value.read(header.encoding, offset=header.offset):
        shown_folders += [_folder(element, revealed=revealed) for element in one.elements]
        if one.error is not None:
            shown_folders.append(_bad_folder(one, one.error, revealed=revealed))
    return replace(found, folders=tuple(shown_folders))


def _of_family(found: HeaderShown, header: Header, value: MQH, body: bytes, *, revealed: bool) -> HeaderShown:
    """A header with the fields behind its first 32 bytes."""
    rest = body[header.offset + BEGIN : header.offset + header.length]
    broken = ""
    if header.name == "MQRFH":
        try:
            return replace(found, folders=_name_value_string(rest, header, revealed=revealed))
        except WireError as error:
            broken = f"MQRFH.NameValueString at offset {header.offset + BEGIN}: {error.message}"
    fields, unnamed = fields_of(header.name, value.version, rest, header.encoding, header.ccsid)
    more = {name: _field_of_family(name, one, fields) for name, one in fields.items()}
    if unnamed:
        name = "NameValueString" if header.name == "MQRFH" else UNNAMED
        more[name] = unnamed.hex() if revealed else "xx" * min(len(unnamed), SHOWN_BYTES)
    return replace(found, fields={**found.fields, **more}, broken=broken)


def _field_of_family(name: str, value: Value, fields: Mapping[str, Value]) -> Shown:
    if value is None:
        return NEVER_SHOWN
    if name == "Reason" and fields["ReturnCode"] not in _REASON_IS_OF_MQ:
        assert isinstance(value, int)
        return value
    return shown(name.removeprefix("PCFHeader."), value)


def _name_value_string(rest: bytes, header: Header, *, revealed: bool) -> tuple[FolderShown, ...]:
    pairs = name_value_pairs(rest, header.encoding, header.ccsid)
    elements = [
        ElementShown(name=name, type="", value=value if revealed else masked_text(value)) for name, value in pairs
    ]
    return (FolderShown(name="NameValueString", masked=not revealed, elements=elements),)


def _structure(name: str, value: Structure, offset: int, length: int) -> HeaderShown:
    return HeaderShown(name=name, offset=offset, length=length, fields=_fields(value.LAYOUT, value))


def _fields(layout: Layout, value: Structure, *, first_version: bool = False) -> FieldsShown:
    """By MQ's names, in the order of the structure; the descriptor in an MQXQH, which is one of version 1, is an
    object."""
    found: dict[str, Shown | FieldsShown] = {}
    for one in layout.fields:
        if first_version and one.since != 1:
            continue
        if one.key == "struc_id":
            found[one.name] = str(layout.struc_id or getattr(value, "struc_id", ""))
            continue
        content = getattr(value, one.key)
        inner = _fields(MQMD_LAYOUT, content, first_version=True) if isinstance(content, MQMD) else None
        found[one.name] = shown(one.name, content) if inner is None else inner
    return found


def _folder(element: Element, *, revealed: bool) -> FolderShown:
    """A folder with its attributes and elements: path, type, value, other attributes."""
    is_open = revealed or element.name in OPEN_FOLDERS

    def text(value: str) -> str:
        return value if is_open else masked_text(value)

    def leaf(name: str, one: Element) -> ElementShown:
        found = ElementShown(name=name, type=(name and one.attribute("dt")) or "", value=text(one.value))
        if name and (more := attributes(one, "dt")):  # those of the folder itself stand beside it
            found["attributes"] = more
        return found

    def attributes(one: Element, *but: str) -> dict[str, str]:
        plain = {name: value if name in OPEN_ATTRIBUTES else text(value) for name, value in one.attributes}
        return {name: value for name, value in plain.items() if name not in but}

    leaves = [leaf(name, one) for name, one in _texts(element, "")]
    found = FolderShown(name=element.name, masked=not is_open, elements=leaves)
    if of_folder := attributes(element):
        found["attributes"] = of_folder
    return found


def _texts(element: Element, path: str) -> Iterator[tuple[str, Element]]:
    """Path and element of each that has no children, or has text or attributes beside them; of the folder only with
    text."""
    is_folder = not path
    if element.value or (not is_folder and (not element.children or element.attributes)):
        yield path, element
    for child in element.children:
        yield from _texts(child, child.name if is_folder else f"{path}.{child.name}")


def _bad_folder(folder: Folder, error: WireError, *, revealed: bool) -> FolderShown:
    """A folder that is not valid: its place, the error, and its bytes."""
    raw = folder.raw
    return {
        "name": folder.name,
        "masked": not revealed,
        "elements": [],
        "offset": folder.offset,
        "length": len(raw),
        "broken": _why(error, revealed=revealed),
        "hex": raw.hex() if revealed else "xx" * min(len(raw), SHOWN_BYTES),
    }


def _trigger(chain: Chain, body: bytes) -> MQTM | MQTMC2 | None:
    """The trigger message that the data is; None for other data."""
    if chain.format != c.MQFMT_TRIGGER:
        return None
    for kind in (MQTM, MQTMC2):
        try:
            return kind.unpack(body, offset=chain.payload_offset, encoding=chain.encoding, ccsid=chain.ccsid)
        except WireError:
            continue
    return None


def _body(chain: Chain, body: bytes, *, broken: bool, revealed: bool, most: int | None) -> BodyShown:
    length = len(body) - chain.payload_offset
    cut = most is not None and length > most
    raw = body[chain.payload_offset :][:most]
    found, why = _beginning(chain, raw, broken=broken) if cut else _decoded(chain, raw, broken=broken)
    text = found.text if found else None
    if not revealed and found is not None:
        text = masked_text(found.text) if found.bad else masked(raw, chain.ccsid, chain.encoding)
    return BodyShown(
        text=text,
        hex=raw.hex() if revealed else "xx" * min(len(raw), SHOWN_BYTES),
        ccsid=chain.ccsid,
        encoding=chain.encoding,
        format=chain.format,
        offset=chain.payload_offset,
        length=length,
        masked=not revealed,
        no_text=why,
        bad_bytes=found.bad if found else (),
    )


def _beginning(chain: Chain, raw: bytes, *, broken: bool) -> tuple[Readable | None, str]:
    """As `_decoded`, of data that is cut: a character that the cut divides is left out."""
    ends = (_decoded(chain, raw[: len(raw) - less], broken=broken) for less in range(LONGEST_CHARACTER))
    return min(ends, key=lambda one: len(one[0].bad) if one[0] else MOST_BAD + 1)


def _decoded(chain: Chain, raw: bytes, *, broken: bool) -> tuple[Readable | None, str]:
    """The text of the data, or None and why there is none. The reason holds nothing of the data."""
    if broken:
        return None, "a header before it is broken, so nothing says what it is"
    if chain.format in BINARY_FORMATS:
        return None, f"Format {chain.format} is not text"
    try:
        found = readable(raw, chain.ccsid, chain.encoding)
    except (UnknownCcsid, UnknownEncoding) as error:
        return None, error.message
    return found, "" if found else f"it is not text in CCSID {chain.ccsid}"


ORIGIN = {
    "MQDLH": "where it was to go, and why it is here",
    "MQXQH": "where it is to go",
    "MQRFH2": "where JMS sent it",
    "backout run": "where it came from",
}
"""What the origin of a message tells, in words, for each thing that it is known `by`."""


def _origin(dead: MQDLH | None, chain: Chain, put_date: str, put_time: str) -> dict[str, Shown] | None:
    """Where it was to go, by the MQDLH, else the MQXQH; None where no header says it.

    Parameters: `put_date` and `put_time` of the MQMD.
    """
    if dead is not None:
        return {
            "by": "MQDLH",
            "queue": shown("DestQName", dead.dest_q_name),
            "queue_manager": shown("DestQMgrName", dead.dest_q_mgr_name),
            "reason": shown("Reason", dead.reason),
            "application": shown("PutApplName", dead.put_appl_name),
            "application_type": shown("PutApplType", dead.put_appl_type),
            "at": _dead_lettered_at(dead, put_date, put_time),
        }
    header = chain.first("MQXQH")
    if header is not None and isinstance(header.value, MQXQH):
        names = {"queue": header.value.remote_q_name, "queue_manager": header.value.remote_q_mgr_name}
        return {"by": "MQXQH", **{name: shown(name, text) for name, text in names.items()}}
    return None


def _dead_lettered_at(dead: MQDLH, put_date: str, put_time: str) -> str:
    """Date and time of the MQDLH, as they are; where they are not valid, that the age is by those of the MQMD."""
    said = f"{dead.put_date} {dead.put_time}".strip()
    if put_second(dead.put_date, dead.put_time) is not None:
        return said
    of_dlh = f"{said}: not a valid time" if said else "the MQDLH has no time"
    if put_second(put_date, put_time) is None:
        return f"{of_dlh}; nor has the MQMD, so the age is unknown"
    return f"{of_dlh}; the age is that of the MQMD, put at {put_date} {put_time}"
