"""Structures and PCF from one encoding and CCSID into another, field by field. Knows no queue and no MQMD around them.

1. A number changes its byte order, a text its CCSID and keeps its width, bytes stay as they are.
2. A structure with an Encoding and CodedCharSetId of its own says there what follows it: the caller sets them.
3. Text that grows beyond its field, or that a CCSID does not have, is an error (``NotText``); nothing is lost.
4. The NL of an EBCDIC page (X'15') is the LF of an ASCII page where the form says so (IBM MQ, "AllQueueManagers stanza
   of the mqs.ini file", ConvEBCDICNewline); no other page has a line end of one character for it.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import NamedTuple

from mqwire import constants as c
from mqwire import pcf
from mqwire.ccsid import Codec, codec_for, with_line_feeds
from mqwire.code_pages import ASCII, family_of
from mqwire.errors import NotText, UnknownCcsid, UnknownEncoding
from mqwire.layout import Layout, byte_order


class Form(NamedTuple):
    """How numbers and text are written: an Encoding and a CCSID. `nl_to_lf` of a form that is wanted: rule 4."""

    encoding: int
    ccsid: int
    nl_to_lf: bool = False


class SourceError(Exception):
    """The CCSID or the encoding of the data is not one that is known."""

    def __init__(self, error: UnknownCcsid | UnknownEncoding) -> None:
        super().__init__(str(error))
        self.error = error


class TargetError(SourceError):
    """The CCSID or the encoding that is wanted is not one that is known."""


def source_codec(form: Form, *, fixed: bool = False) -> Codec:
    """The character set of data. Parameters: `fixed` for fields of a fixed width.

    Raises SourceError; NotText where IBM MQ has the CCSID, and there is no table for it here.
    """
    return _codec(form, SourceError, fixed=fixed)


def target_codec(form: Form, *, fixed: bool = False) -> Codec:
    """The character set that is wanted. Raises TargetError, NotText as `source_codec`."""
    return _codec(form, TargetError, fixed=fixed)


def _codec(form: Form, kind: type[SourceError], *, fixed: bool) -> Codec:
    try:
        return codec_for(form.ccsid, encoding=None if fixed else form.encoding)
    except UnknownCcsid as error:
        if family_of(form.ccsid) is not None and not fixed:
            raise NotText("text", "", 0, error.message) from error
        raise kind(error) from error
    except UnknownEncoding as error:
        raise kind(error) from error


def orders(source: Form, target: Form) -> tuple[str, str]:
    """Both byte orders. Raises SourceError, TargetError."""
    try:
        before = byte_order(source.encoding)
    except UnknownEncoding as error:
        raise SourceError(error) from error
    try:
        return before, byte_order(target.encoding)
    except UnknownEncoding as error:
        raise TargetError(error) from error


def text_converted(raw: bytes, source: Form, target: Form) -> bytes:
    """Text of any length. Raises NotText, SourceError, TargetError."""
    read, write = source_codec(source), target_codec(target)
    return _encoded(_with_lf(_decoded(raw, read, "text"), source, target), write, "text")


def _with_lf(text: str, source: Form, target: Form) -> str:
    """Rule 4."""
    wanted = target.nl_to_lf and family_of(target.ccsid) in ASCII
    return with_line_feeds(text, source.ccsid) if wanted else text


def field_converted(raw: bytes, source: Form, target: Form, name: str = "text") -> bytes:
    """Text that keeps its width, filled up with blanks. Raises as `text_converted`."""
    write = target_codec(target, fixed=True)
    text = _with_lf(_decoded(raw, source_codec(source, fixed=True), name), source, target)
    new = _encoded(text, write, name)
    if len(new) > len(raw):
        new = _encoded(text.rstrip(" "), write, name)
    if len(new) > len(raw):
        raise NotText(name, "", 0, f"{text!r} has {len(new)} bytes in CCSID {target.ccsid}, too long for {len(raw)}")
    return new.ljust(len(raw), write.blank)


def structure_converted(layout: Layout, raw: bytes, source: Form, target: Form, version: int) -> bytes:
    """The fields of a layout that the bytes hold, converted; what stands behind them is left as it is.

    Parameters: `version` of the structure: later fields are not there. Raises as `text_converted`.
    """
    before, after = orders(source, target)
    new = bytearray(raw)
    for field in layout.fields:
        at, end = layout.offset(field.name), layout.offset(field.name) + field.width
        if field.since > version or end > len(raw):
            continue
        if field.kind == "long":
            struct.pack_into(f"{after}i", new, at, *struct.unpack_from(f"{before}i", raw, at))
        elif field.kind in {"char", "digits"}:
            new[at:end] = field_converted(raw[at:end], source, target, f"{layout.name}.{field.name}")
    return bytes(new)


def _decoded(raw: bytes, codec: Codec, name: str) -> str:
    try:
        return codec.text(bytes(raw))
    except UnicodeError as error:
        raise NotText(name, "", 0, f"not text in CCSID {codec.ccsid}") from error


def _encoded(text: str, codec: Codec, name: str) -> bytes:
    try:
        return codec.encode(text)
    except UnicodeError as error:
        raise NotText(name, "", 0, f"{text!r} is not in CCSID {codec.ccsid}") from error


def pcf_converted(raw: bytes, source: Form, target: Form) -> bytes:
    """A PCF message or its header with parameters, to the end of the bytes.

    Strings that say no CCSID are in that of the data around them; those that say one are read in it, and say the wanted
    one behind. Raises WireError, NotText, SourceError, TargetError.
    """
    orders(source, target)
    try:
        message = pcf.decode(raw, encoding=source.encoding, ccsid=source.ccsid)
    except (UnknownCcsid, UnknownEncoding) as error:
        raise SourceError(error) from error
    codec = target_codec(target)
    parameters = tuple(_parameter(each, codec, source, target) for each in message.parameters)
    try:
        return pcf.encode(replace(message, parameters=parameters), encoding=target.encoding, ccsid=target.ccsid)
    except (UnknownCcsid, UnknownEncoding) as error:
        raise TargetError(error) from error


def _parameter(found: pcf.Parameter, codec: Codec, source: Form, target: Form) -> pcf.Parameter:
    if isinstance(found, pcf.MQCFGR):
        return replace(found, value=tuple(_parameter(each, codec, source, target) for each in found.value))
    if not isinstance(found, pcf.TextParameter):
        return found
    of_data = found.ccsid == c.MQCCSI_DEFAULT
    ccsid, read = (found.ccsid, source) if of_data else (target.ccsid, source._replace(ccsid=found.ccsid))
    found = pcf.with_texts(found, lambda text: _with_lf(text, read, target))
    texts = found.value if isinstance(found, pcf.MQCFSL) else (found.value,)
    longest = max((len(_encoded(text, codec, "String")) for text in texts), default=0)
    length = found.length
    if length is not None and (longest > length or length % len(codec.blank)):
        length = None
    padding = found.padding if length is not None and length == found.length else None
    return replace(found, ccsid=ccsid, length=length, padding=padding)
