"""CONVERT(YES): the sending end converts messages of MQ's own formats to the partner's CCSID and encoding.

Text (MQSTR) changes its CCSID, an MQRFH2 or MQDLH in front of it is taken along. A message without a format stays as
it is; one with a format of an application cannot be converted here, for there is no exit that knows it.
"""

from __future__ import annotations

from dataclasses import replace

from mqlite.messages.transmitted import Transmitted
from mqwire import constants as c
from mqwire.ccsid import decode, encode
from mqwire.errors import UnknownCcsid, WireError
from mqwire.headers import Chain, Header, walk
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMDE


class NotConverted(Exception):
    """The data cannot be converted; reason is an MQRC_ value for the MQDLH."""

    def __init__(self, reason: int) -> None:
        super().__init__(f"reason {reason}")
        self.reason = reason


def converted(message: Transmitted, encoding: int, ccsid: int) -> Transmitted:
    """The message in the partner's encoding and CCSID.

    Raises NotConverted: the format is unknown here (MQRC_FORMAT_ERROR), the CCSID is (MQRC_SOURCE_CCSID_ERROR or
    MQRC_TARGET_CCSID_ERROR), or the data is not what it is said to be (MQRC_NOT_CONVERTED).
    """
    md = message.md
    if md.format == c.MQFMT_NONE or (md.encoding, md.coded_char_set_id) == (encoding, ccsid):
        return message
    try:
        chain = walk(md.format, md.encoding, md.coded_char_set_id, message.body)
    except UnknownCcsid as unknown:
        raise NotConverted(c.MQRC_SOURCE_CCSID_ERROR) from unknown
    except WireError as wrong:
        raise NotConverted(c.MQRC_NOT_CONVERTED) from wrong
    payload, said = _payload(message.body[chain.payload_offset :], chain, encoding, ccsid)
    parts = [payload]
    for header in reversed(chain.headers):
        parts.append(_header(header, said, encoding, ccsid))
        said = (encoding, ccsid)
    body = b"".join(reversed(parts))
    return replace(message, md=replace(md, encoding=said[0], coded_char_set_id=said[1]), body=body)


def _payload(data: bytes, chain: Chain, encoding: int, ccsid: int) -> tuple[bytes, tuple[int, int]]:
    """The application's data converted, and the encoding and CCSID it now has."""
    if chain.format == c.MQFMT_NONE:
        return data, (chain.encoding, chain.ccsid)
    if chain.format != c.MQFMT_STRING:
        raise NotConverted(c.MQRC_FORMAT_ERROR)
    try:
        text = decode(data, chain.ccsid, chain.encoding)
    except UnknownCcsid as unknown:
        raise NotConverted(c.MQRC_SOURCE_CCSID_ERROR) from unknown
    except WireError as wrong:
        raise NotConverted(c.MQRC_NOT_CONVERTED) from wrong
    try:
        return encode(text, ccsid, encoding), (encoding, ccsid)
    except UnknownCcsid as unknown:
        raise NotConverted(c.MQRC_TARGET_CCSID_ERROR) from unknown
    except WireError as wrong:
        raise NotConverted(c.MQRC_NOT_CONVERTED) from wrong


def _header(header: Header, said: tuple[int, int], encoding: int, ccsid: int) -> bytes:
    """A header in the new encoding and CCSID that says what follows it now."""
    value = header.value
    if not isinstance(value, MQDLH | MQMDE | MQRFH2):
        raise NotConverted(c.MQRC_FORMAT_ERROR)
    if isinstance(value, MQRFH2) and value.name_value_ccsid != 1208:
        raise NotConverted(c.MQRC_NOT_CONVERTED)
    try:
        return replace(value, encoding=said[0], coded_char_set_id=said[1]).pack(encoding=encoding, ccsid=ccsid)
    except WireError as wrong:
        raise NotConverted(c.MQRC_NOT_CONVERTED) from wrong
