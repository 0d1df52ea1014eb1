"""What the queue manager converts by itself: MQGMO_CONVERT, and CONVERT(YES) of a sending channel.

Source: IBM MQ, "Conversion processing", "Processing conventions", "Format (MQCHAR8)".
1. The chain of headers is converted, each from the encoding and CCSID that what stands before it says, and each then
   says the new ones of what follows; MQIIH and MQCIH, whose fields are reserved, are left with them.
2. What stands behind the headers is converted by its format: text, PCF, trigger messages, IMS strings. Data without a
   format is left as it is behind headers, and cannot be converted at the beginning of a message. There are no exits:
   a format of an application is MQRC_FORMAT_ERROR.
3. MQCIH and MQWIH are converted on z/OS only.
4. Where headers cannot be in the wanted character set (UTF-16), they are converted to the queue manager's own, and only
   the data to the wanted one: MQRC_PARTIALLY_CONVERTED.
5. Else all is converted or nothing.
6. The NL of EBCDIC becomes the LF of ASCII, but on z/OS, which has no ConvEBCDICNewline and goes by its tables.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mqlite.messages.transmitted import Transmitted
from mqwire import constants as c
from mqwire.code_pages import Family, family_of
from mqwire.conversion import (
    Form,
    SourceError,
    TargetError,
    orders,
    pcf_converted,
    structure_converted,
    text_converted,
)
from mqwire.errors import NotText, UnknownCcsid, UnknownEncoding, WireError
from mqwire.fields import before_nul
from mqwire.header_conversion import header_converted
from mqwire.headers import walk
from mqwire.structures import MQTM_LAYOUT

ZOS_ONLY = frozenset({"MQCIH", "MQWIH"})
DECIMALS = frozenset({0, c.MQENC_DECIMAL_NORMAL, c.MQENC_DECIMAL_REVERSED})
FLOATS = frozenset({0, c.MQENC_FLOAT_IEEE_NORMAL, c.MQENC_FLOAT_IEEE_REVERSED, c.MQENC_FLOAT_S390, c.MQENC_FLOAT_TNS})
IMS_PREFIX, LONGEST_ITEM = 4, 32_767  # bytes: LL and ZZ, and what LL may say


class NotConverted(Exception):
    """The data cannot be converted; reason is an MQRC_ value, which the MQDLH of a channel says, too."""

    def __init__(self, reason: int) -> None:
        super().__init__(f"reason {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The queue manager that converts: what its own headers are in, and whether it is on z/OS."""

    encoding: int = c.MQENC_NATIVE
    ccsid: int = 1208
    zos: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The message as it is now. Attributes: `partially` its headers are in the queue manager's character set."""

    message: Transmitted
    partially: bool = False


def converted(message: Transmitted, encoding: int, ccsid: int, own: Own) -> Converted:
    """The message in the wanted encoding and CCSID.

    Raises NotConverted: MQRC_FORMAT_ERROR, the format is unknown or the data is not what it says; MQRC_SOURCE_* and
    MQRC_TARGET_*, a CCSID or an encoding that is not known; MQRC_NOT_CONVERTED, a character has no place in the other
    CCSID, or there is no table for it here.
    """
    md = message.md
    if before_nul(md.format) == c.MQFMT_NONE or (md.encoding, md.coded_char_set_id) == (encoding, ccsid):
        return Converted(message=message)
    target = Form(encoding, ccsid, nl_to_lf=not own.zos)
    try:
        return _converted(message, target, own)
    except TargetError as wrong:
        raise NotConverted(_reason(wrong, _TARGET)) from wrong
    except SourceError as wrong:
        raise NotConverted(_reason(wrong, _SOURCE)) from wrong
    except NotText as wrong:
        raise NotConverted(c.MQRC_NOT_CONVERTED) from wrong
    except WireError as wrong:
        raise NotConverted(c.MQRC_FORMAT_ERROR) from wrong


def _converted(message: Transmitted, target: Form, own: Own) -> Converted:
    md = message.md
    _check_numbers(md.encoding, _SOURCE)
    _check_numbers(target.encoding, _TARGET)
    try:
        described = md.format, md.encoding, md.coded_char_set_id
        chain = walk(*described, message.body, q_mgr_ccsid=own.ccsid, msg_type=md.msg_type)
    except (UnknownCcsid, UnknownEncoding) as unknown:
        raise SourceError(unknown) from unknown
    data, form = message.body[chain.payload_offset :], Form(chain.encoding, chain.ccsid)
    payload, said = _payload(chain.format, data, form, target)
    wide = bool(chain.headers) and _is_wide(target)
    of_headers = target._replace(encoding=own.encoding, ccsid=own.ccsid) if wide else target
    parts = [payload]
    for header in reversed(chain.headers):
        if header.name in ZOS_ONLY and not own.zos:
            raise NotConverted(c.MQRC_FORMAT_ERROR)
        raw = message.body[header.offset : header.offset + header.length]
        parts.append(header_converted(header, raw, said, of_headers))
        said = of_headers
    body = b"".join(reversed(parts))
    new = replace(md, encoding=said.encoding, coded_char_set_id=said.ccsid)
    return Converted(message=replace(message, md=new, body=body), partially=wide)


def _is_wide(target: Form) -> bool:
    """Whether no field of a header can be in a character set."""
    return family_of(target.ccsid) is Family.WIDE


def _payload(name: str, data: bytes, source: Form, target: Form) -> tuple[bytes, Form]:
    """The data behind the headers converted, and what it is in now."""
    if name == c.MQFMT_NONE or not data:
        return data, source if name == c.MQFMT_NONE else target
    convert = _BUILT_IN.get(name)
    if convert is None:
        raise NotConverted(c.MQRC_FORMAT_ERROR)
    return convert(data, source, target), target


def _trigger(data: bytes, source: Form, target: Form) -> bytes:
    if len(data) < MQTM_LAYOUT.size:
        raise WireError("MQTM", "", 0, "it is cut short")
    return structure_converted(MQTM_LAYOUT, data, source, target, 1)


def _ims_strings(data: bytes, source: Form, target: Form) -> bytes:
    """Items of LL (two bytes, of the whole item), ZZ (not converted) and text."""
    before, after = orders(source, target)
    found, at = [], 0
    while at < len(data):
        length = struct.unpack_from(f"{before}H", data, at)[0] if len(data) - at >= IMS_PREFIX else 0
        if not IMS_PREFIX <= length <= len(data) - at:
            raise WireError("MQIMSVS", "LL", at, f"{length} where {len(data) - at} bytes are left")
        text = text_converted(data[at + IMS_PREFIX : at + length], source, target)
        if IMS_PREFIX + len(text) > LONGEST_ITEM:
            raise NotText("MQIMSVS", "LL", at, "the text is too long for it")
        found += [struct.pack(f"{after}H", IMS_PREFIX + len(text)), data[at + 2 : at + IMS_PREFIX], text]
        at += length
    return b"".join(found)


_BUILT_IN: Mapping[str, Callable[[bytes, Form, Form], bytes]] = {
    **dict.fromkeys((c.MQFMT_STRING, c.MQFMT_COMMAND_1, c.MQFMT_COMMAND_2), text_converted),
    **dict.fromkeys((c.MQFMT_ADMIN, c.MQFMT_EVENT, c.MQFMT_PCF), pcf_converted),
    c.MQFMT_TRIGGER: _trigger,
    c.MQFMT_IMS_VAR_STRING: _ims_strings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reasons:
    """The MQRC_ values of one side of a conversion."""

    ccsid: int
    integer: int
    decimal: int
    floating: int


_SOURCE = _Reasons(
    ccsid=c.MQRC_SOURCE_CCSID_ERROR, integer=c.MQRC_SOURCE_INTEGER_ENC_ERROR, decimal=c.MQRC_SOURCE_DECIMAL_ENC_ERROR,
    floating=c.MQRC_SOURCE_FLOAT_ENC_ERROR,
)  # fmt: skip
_TARGET = _Reasons(
    ccsid=c.MQRC_TARGET_CCSID_ERROR, integer=c.MQRC_TARGET_INTEGER_ENC_ERROR, decimal=c.MQRC_TARGET_DECIMAL_ENC_ERROR,
    floating=c.MQRC_TARGET_FLOAT_ENC_ERROR,
)  # fmt: skip


def _check_numbers(encoding: int, reasons: _Reasons) -> None:
    """The parts of an Encoding that no built-in format needs are at least ones that there are."""
    if encoding & c.MQENC_INTEGER_MASK not in {0, c.MQENC_INTEGER_NORMAL, c.MQENC_INTEGER_REVERSED}:
        raise NotConverted(reasons.integer)
    if encoding & c.MQENC_DECIMAL_MASK not in DECIMALS:
        raise NotConverted(reasons.decimal)
    if encoding & c.MQENC_FLOAT_MASK not in FLOATS:
        raise NotConverted(reasons.floating)


def _reason(wrong: SourceError, reasons: _Reasons) -> int:
    return reasons.integer if isinstance(wrong.error, UnknownEncoding) else reasons.ccsid
