"""What can be seen in one message's body: headers, text, JSON, XML. Strict, and silent about what the body says.

1. Format, Encoding and CCSID come from the chain of headers, never from a guess. Payload that is to be text is decoded
   strictly in its CCSID; nothing is replaced.
2. A problem names a place (structure, field, byte, line, column), never a piece of the message.
3. If the headers are not valid, what follows them is unknown: all columns about the payload are null.
4. JSON is what the rules language calls JSON (`mqops.rules.documents.json_problem`). XML is well-formed XML 1.0 without
   entity declarations, which could make a small message endless, and with at most `MOST_DECLARED` declarations of
   attributes, each of which costs time in each element; no external resource is ever read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias
from xml.parsers import expat

from mqops.observe.core.payload import BINARY_FORMATS
from mqops.rules.documents import json_problem
from mqwire import constants as c
from mqwire.ccsid import read_text
from mqwire.code_pages import family_of
from mqwire.errors import UnknownCcsid, UnknownEncoding, WireError
from mqwire.headers import Chain, walk
from mqwire.rfh2 import MQRFH2

Seen: TypeAlias = dict[str, str | int | bool | None]
BLANKS = " \t\r\n"
MOST_DECLARED = 100
"""Attributes that a document's own DOCTYPE declares; the parser goes through all of them in each element."""


class Message(NamedTuple):
    """What the look needs to know of one message: `body` is everything after the MQMD; `msg_type` MQMD.MsgType."""

    format: str
    encoding: int
    ccsid: int
    msg_type: int
    body: bytes

    @property
    def chain(self) -> Chain:
        """Its headers. Raises WireError: one is not what its Format says."""
        return walk(self.format, self.encoding, self.ccsid, self.body, msg_type=self.msg_type)


def look(message: Message, wanted: frozenset[str]) -> Seen:
    """The wanted columns of `Source.BODY` for one message; columns that are missing in the result are null.

    Parameters: `wanted` names of columns, so that only these are parsed.
    """
    seen: Seen = {}
    chain = _headers(message, seen)
    if chain is None:
        return seen
    payload = message.body[chain.payload_offset :]
    seen |= {"payload_format": chain.format, "payload_ccsid": chain.ccsid, "payload_length": len(payload)}
    if wanted & _NEED_TEXT:
        _payload(payload, chain, wanted, seen)
    return seen


_NEED_TEXT = frozenset(
    {
        *("body_text_valid", "body_text_problem", "payload_kind", "payload_parses", "payload_problem"),
        *("payload_json_valid", "payload_json_problem", "payload_xml_valid", "payload_xml_problem"),
    }
)


def _headers(message: Message, seen: Seen) -> Chain | None:
    """The chain of headers with its MQRFH2 folders parsed, or None where there is a fault."""
    try:
        chain = message.chain
        for header in chain.headers:
            if isinstance(header.value, MQRFH2):
                seen["rfh2_valid"] = True
                header.value.elements(header.encoding, offset=header.offset)
    except WireError as error:
        seen |= {"headers_valid": False, "headers_problem": place(error)}
        if error.structure.startswith("MQRFH2"):
            seen |= {"rfh2_valid": False, "rfh2_problem": place(error)}
        return None
    seen |= {"headers_valid": True, "headers": " ".join(header.name for header in chain.headers)}
    return chain


def _payload(payload: bytes, chain: Chain, wanted: frozenset[str], seen: Seen) -> None:
    text, fault = _text(payload, chain)
    if chain.format == c.MQFMT_STRING:
        seen |= {"body_text_valid": fault is None, "body_text_problem": fault}
    if wanted & {"payload_json_valid", "payload_json_problem"}:
        seen["payload_json_problem"] = problem = json_problem(text) if text is not None else fault
        seen["payload_json_valid"] = problem is None
    if wanted & {"payload_xml_valid", "payload_xml_problem"}:
        seen["payload_xml_problem"] = problem = xml_problem(text) if text is not None else fault
        seen["payload_xml_valid"] = problem is None
    if wanted & {"payload_kind", "payload_parses", "payload_problem"}:
        seen["payload_kind"] = kind = _kind(payload, text, chain.format)
        if kind in PARSERS and text is not None:
            seen["payload_problem"] = problem = PARSERS[kind](text)
            seen["payload_parses"] = problem is None


def _text(payload: bytes, chain: Chain) -> tuple[str | None, str | None]:
    """The payload as text, or None and where it is not text in its CCSID."""
    try:
        text = read_text(payload, chain.ccsid, chain.encoding, structure="payload", offset=chain.payload_offset)
    except (UnknownCcsid, UnknownEncoding):
        why = "is unknown" if family_of(chain.ccsid) is None else "cannot be converted here"
        return None, f"CCSID {chain.ccsid} {why}"
    except WireError as error:
        return None, f"not text in CCSID {chain.ccsid} at byte {error.offset} of the body"
    return text, None


def _kind(payload: bytes, text: str | None, format_name: str) -> str:
    if not payload:
        return "empty"
    if text is None or format_name in BINARY_FORMATS or "\0" in text:
        return "binary"
    begin = text.lstrip(BLANKS + "\ufeff")[:1]
    return "json" if begin and begin in "{[" else "xml" if begin == "<" else "text"


def place(error: WireError) -> str:
    """Where, without what: the error's message may quote the message."""
    where = f"{error.structure}.{error.field}" if error.field else error.structure
    return f"{where} at offset {error.offset}"


class _Declared(ValueError):
    """The document declares an entity, or too many attributes: it says which."""


def xml_problem(text: str) -> str | None:
    """Where a text is not XML, or None if it is."""
    parser = expat.ParserCreate("utf-8")  # wins over the declaration: the text is decoded already
    parser.EntityDeclHandler = _refuse_entity
    parser.AttlistDeclHandler = _counted_attributes()
    try:
        parser.Parse(text.removeprefix("\ufeff").encode(), True)
    except expat.ExpatError as error:
        return f"not XML at line {error.lineno}, column {error.offset + 1}"
    except _Declared as declared:
        return f"not accepted: it declares {declared}"
    except UnicodeEncodeError:
        return "not XML: half of a surrogate pair"
    return None


def _refuse_entity(*_declaration: object) -> None:
    raise _Declared("entities")


def _counted_attributes() -> Callable[..., None]:
    """A handler of declarations that refuses the first one too many."""
    left = iter(range(MOST_DECLARED))

    def declared(*_declaration: object) -> None:
        if next(left, None) is None:
            raise _Declared("too many attributes")

    return declared


PARSERS: Mapping[str, Callable[[str], str | None]] = {"json": json_problem, "xml": xml_problem}
"""Kind of payload → where a text is not one."""
