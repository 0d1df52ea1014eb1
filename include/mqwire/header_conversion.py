"""A header of a chain from one encoding and CCSID into another: its fields, and the data of its own behind them.

1. Encoding and CodedCharSetId say what follows it then; where they are reserved (MQIIH, MQCIH) only their byte order
   changes.
2. MQXQH: the embedded MQMD is converted, too. MQRFH2: folders stay in NameValueCCSID, two-byte characters change the
   byte order. MQRFH: the string is text. MQEPH: the PCF is converted as such. MQRMH and MQDH: what their offsets lead
   to.
3. StrucLength follows where data of no fixed width has grown. A header without a table cannot be converted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from mqwire import constants as c
from mqwire.conversion import (
    Form,
    field_converted,
    orders,
    pcf_converted,
    structure_converted,
    target_codec,
    text_converted,
)
from mqwire.errors import WireError
from mqwire.header_fields import BEGIN, RESTS
from mqwire.headers import MQH_LAYOUT, Header, Says
from mqwire.layout import Layout
from mqwire.rfh2 import MQRFH2_LAYOUT
from mqwire.structures import MQDLH_LAYOUT, MQMD_LAYOUT, MQMDE_LAYOUT, MQXQH_LAYOUT

Convert: TypeAlias = Callable[[bytes, Form, Form, int], bytes]
TWO_BYTES = frozenset({1200, 13488, 17584})
NAME = 48  # MQOR: ObjectName, ObjectQMgrName
RECORD_FIELDS = {
    c.MQPMRF_MSG_ID: 24, c.MQPMRF_CORREL_ID: 24, c.MQPMRF_GROUP_ID: 24, c.MQPMRF_FEEDBACK: 4,
    c.MQPMRF_ACCOUNTING_TOKEN: 32,
}  # fmt: skip
RESOURCES = ("SrcEnv", "SrcName", "DestEnv", "DestName")


def header_converted(header: Header, raw: bytes, said: Form, target: Form) -> bytes:
    """The bytes of a header in the wanted form.

    Parameters: `raw` its bytes; `said` the form of what follows it then. Raises WireError (NotText for characters that
    have no place), SourceError, TargetError.
    """
    source = Form(header.encoding, header.ccsid)
    convert = _OF_HEADER.get(header.name)
    if convert is None:
        raise WireError(header.name, "", header.offset, "there is no table of its fields")
    new = bytearray(convert(raw, source, target, header.value.version))
    layout, at = header.value.LAYOUT, 0
    if header.says is Says.MSG_DESC:
        layout, at = MQMD_LAYOUT, MQXQH_LAYOUT.offset("msg_desc")
    if header.says is not Says.BEFORE:
        layout.writer("encoding", "coded_char_set_id", encoding=target.encoding)(
            new, said.encoding, said.ccsid, offset=at
        )
    if "StrucLength" in {field.name for field in layout.fields}:
        layout.writer("struc_length", encoding=target.encoding)(new, len(new))
    return bytes(new)


def _fixed(layout: Layout) -> Convert:
    def convert(raw: bytes, source: Form, target: Form, version: int) -> bytes:
        return structure_converted(layout, raw, source, target, version)

    return convert


def _begun(name: str) -> Convert:
    """A header of 32 bytes and the fields of its own table; what no field has is left as it is."""

    def convert(raw: bytes, source: Form, target: Form, version: int) -> bytes:
        begin = structure_converted(MQH_LAYOUT, raw[:BEGIN], source, target, version)
        return begin + structure_converted(RESTS[name], raw[BEGIN:], source, target, version)

    return convert


def _transmission(raw: bytes, source: Form, target: Form, version: int) -> bytes:
    at = MQXQH_LAYOUT.offset("msg_desc")
    own = structure_converted(MQXQH_LAYOUT, raw, source, target, version)
    return own[:at] + structure_converted(MQMD_LAYOUT, raw[at:], source, target, c.MQMD_VERSION_1)


def _rules_1(raw: bytes, source: Form, target: Form, version: int) -> bytes:
    text = text_converted(raw[BEGIN:], source, target)
    room = len(raw) - BEGIN
    text += target_codec(target).blank * max(0, room - len(text))
    return structure_converted(MQH_LAYOUT, raw[:BEGIN], source, target, version) + text


def _rules_2(raw: bytes, source: Form, target: Form, version: int) -> bytes:
    before, after = orders(source, target)
    size = MQRFH2_LAYOUT.size
    parts = [structure_converted(MQRFH2_LAYOUT, raw[:size], source, target, version)]
    (ccsid,) = MQRFH2_LAYOUT.reader("name_value_ccsid", encoding=source.encoding)(raw)
    at = size
    while at < len(raw):
        (length,) = struct.unpack_from(f"{before}i", raw, at)
        data = raw[at + 4 : at + 4 + length]
        if ccsid in TWO_BYTES and before != after:
            data = b"".join(data[place : place + 2][::-1] for place in range(0, len(data), 2))
        parts += [struct.pack(f"{after}i", length), data]
        at += 4 + length
    return b"".join(parts)


def _embedded_pcf(raw: bytes, source: Form, target: Form, version: int) -> bytes:
    begin = structure_converted(MQH_LAYOUT, raw[:BEGIN], source, target, version)
    return begin + pcf_converted(raw[BEGIN:], source, target)


def _reference(raw: bytes, source: Form, target: Form, version: int) -> bytes:
    new = bytearray(_begun("MQRMH")(raw, source, target, version))
    read = RESTS["MQRMH"].reader
    for name in RESOURCES:
        length, at = read(f"{name}Length", f"{name}Offset", encoding=source.encoding)(raw[BEGIN:])
        new[at : at + length] = _text_within(raw, at, length, source, target)
    return bytes(new)


def _distribution(raw: bytes, source: Form, target: Form, version: int) -> bytes:
    new = bytearray(_begun("MQDH")(raw, source, target, version))
    before, after = orders(source, target)
    fields, records, objects, puts = RESTS["MQDH"].reader(
        "PutMsgRecFields", "RecsPresent", "ObjectRecOffset", "PutMsgRecOffset", encoding=source.encoding
    )(raw[BEGIN:])
    widths = [(bit, width) for bit, width in RECORD_FIELDS.items() if fields & bit]
    width = sum(width for _, width in widths)
    for number in range(records if 0 <= records <= len(raw) else 0):
        for half in (0, NAME) if objects else ():
            at = objects + number * 2 * NAME + half
            new[at : at + NAME] = _text_within(raw, at, NAME, source, target)
        if puts and fields & c.MQPMRF_FEEDBACK:
            at = puts + number * width + sum(size for bit, size in widths if bit < c.MQPMRF_FEEDBACK)
            _check_inside(raw, at, 4)
            struct.pack_into(f"{after}i", new, at, *struct.unpack_from(f"{before}i", raw, at))
    return bytes(new)


def _text_within(raw: bytes, at: int, length: int, source: Form, target: Form) -> bytes:
    """Text that an offset of a header leads to, converted; it keeps its width."""
    if not length:
        return b""
    _check_inside(raw, at, length)
    return field_converted(raw[at : at + length], source, target)


def _check_inside(raw: bytes, at: int, length: int) -> None:
    if length < 0 or not BEGIN <= at <= len(raw) - length:
        raise WireError("header", "Offset", at, f"{length} bytes at {at} are not within {len(raw)}")


_OF_HEADER: Mapping[str, Convert] = {
    "MQDLH": _fixed(MQDLH_LAYOUT),
    "MQMDE": _fixed(MQMDE_LAYOUT),
    "MQXQH": _transmission,
    "MQRFH": _rules_1,
    "MQRFH2": _rules_2,
    "MQEPH": _embedded_pcf,
    "MQRMH": _reference,
    "MQDH": _distribution,
    **{name: _begun(name) for name in ("MQIIH", "MQCIH", "MQWIH", "MQSAPH")},
}
