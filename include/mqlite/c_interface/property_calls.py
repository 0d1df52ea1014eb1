"""MQCRTMH, MQDLTMH, MQSETMP, MQINQMP and MQDLTMP as C makes them: message handles and their properties."""

# ruff: noqa: PLR0917  # the calls' parameters are the MQI's

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mqlite.c_interface.variable_texts import VariableTexts
from mqlite.connections.connection import Connection, connection_of
from mqlite.failure import Failure
from mqlite.messages import property_types as types
from mqlite.messages.properties import MessageHandle, Property
from mqlite.messages.property_names import DESCRIPTOR, shown_name
from mqwire import constants as c
from mqwire import mqi
from mqwire.errors import WireError

Outcome = tuple[int, int] | None
LONGEST_NAME = 4095
VALIDATION = (c.MQCMHO_DEFAULT_VALIDATION, c.MQCMHO_NO_VALIDATION, c.MQCMHO_VALIDATE)
INQUIRE_OPTIONS = (
    c.MQIMPO_CONVERT_TYPE | c.MQIMPO_QUERY_LENGTH | c.MQIMPO_INQ_NEXT | c.MQIMPO_INQ_PROP_UNDER_CURSOR
    | c.MQIMPO_CONVERT_VALUE
)  # fmt: skip
SET_OPTIONS = c.MQSMPO_SET_PROP_UNDER_CURSOR
cmho_options = mqi.MQCMHO.reader("Options")
dmpo_options = mqi.MQDMPO.reader("Options")
smpo_fields = mqi.MQSMPO.reader("Options", "ValueEncoding", "ValueCCSID")
pd_fields = mqi.MQPD.reader("Support", "Context", "CopyOptions")
pd_filled = mqi.MQPD.writer("Support", "Context", "CopyOptions")
impo_fields = mqi.MQIMPO.reader("Options", "RequestedEncoding", "RequestedCCSID")
impo_returned = mqi.MQIMPO.writer("ReturnedEncoding", "ReturnedCCSID", "TypeString")


def message_handle(connection: Connection, number: int) -> MessageHandle:
    """The message handle of that number. Raises Failure (MQRC_HMSG_ERROR)."""
    found = connection.messages.get(number)
    if found is None:
        raise Failure(c.MQRC_HMSG_ERROR)
    return found


class PropertyCalls:
    """The calls on message handles; part of the interface, which has `_buffer`, `_cast`, `texts` and `structure`."""

    _buffer: Any
    _cast: Any
    texts: VariableTexts

    def structure(self, pointer: Any, layout: Any, reason: int) -> tuple[Any, int]:
        """As the interface has it."""
        raise NotImplementedError

    def mqcrtmh(self, hconn: int, options: Any, hmsg: Any) -> Outcome:
        connection = connection_of(hconn)
        raw, _ = self.structure(options, mqi.MQCMHO, c.MQRC_CMHO_ERROR)
        (validation,) = cmho_options(raw)
        if validation not in VALIDATION:
            raise Failure(c.MQRC_OPTIONS_ERROR)
        number = next(connection.marks)
        connection.messages[number] = MessageHandle(validating=validation != c.MQCMHO_NO_VALIDATION)
        hmsg[0] = number
        return None

    def mqdltmh(self, hconn: int, hmsg: Any, options: Any) -> Outcome:
        connection = connection_of(hconn)
        self.structure(options, mqi.MQDMHO, c.MQRC_DMHO_ERROR)
        message_handle(connection, hmsg[0])
        del connection.messages[hmsg[0]]
        hmsg[0] = c.MQHM_UNUSABLE_HMSG
        return None

    def mqsetmp(
        self, hconn: int, hmsg: int, options: Any, name: Any, pd: Any, kind: int, length: int, value: Any
    ) -> Outcome:  # fmt: skip
        handle = message_handle(connection_of(hconn), hmsg)
        raw, _ = self.structure(options, mqi.MQSMPO, c.MQRC_SMPO_ERROR)
        descriptor, _ = self.structure(pd, mqi.MQPD, c.MQRC_PD_ERROR)
        asked, encoding, ccsid = smpo_fields(raw)
        if asked & ~SET_OPTIONS:
            raise Failure(c.MQRC_OPTIONS_ERROR)
        support, context, copies = pd_fields(descriptor)
        if context not in (c.MQPD_NO_CONTEXT, c.MQPD_USER_CONTEXT):
            raise Failure(c.MQRC_PD_ERROR)
        wanted = self._name(name)
        if wanted.startswith(DESCRIPTOR):
            raise Failure(c.MQRC_FUNCTION_NOT_SUPPORTED, "fields of the MQMD as properties")
        kept = types.taken_in(self._value(kind, length, value), kind, encoding, ccsid)
        given = Property(name=wanted, type=kind, value=kept, support=support, context=context, copy=copies)
        handle.set(wanted, given, asked)
        return None

    def mqinqmp(
        self, hconn: int, hmsg: int, options: Any, name: Any, pd: Any, kind: Any, length: int, value: Any, out: Any
    ) -> Outcome:  # fmt: skip
        out[0] = 0
        handle = message_handle(connection_of(hconn), hmsg)
        raw, _ = self.structure(options, mqi.MQIMPO, c.MQRC_IMPO_ERROR)
        descriptor, _ = self.structure(pd, mqi.MQPD, c.MQRC_PD_ERROR)
        asked, _, _ = impo_fields(raw)
        if asked & ~INQUIRE_OPTIONS:
            raise Failure(c.MQRC_OPTIONS_ERROR)
        if length < 0:
            raise Failure(c.MQRC_BUFFER_LENGTH_ERROR)
        before = handle.cursor
        found = handle.find(self._name(name), asked)
        try:
            given = _converted(found, kind[0], asked)
        except Failure:
            handle.cursor = before
            raise
        returned = _returned(given, raw)
        pd_filled(descriptor, found.support, found.context, found.copy)
        impo_returned(raw, returned.encoding, returned.ccsid, found.unknown_type.encode()[:8].ljust(8, b"\0"))
        kind[0], out[0] = given.type, len(returned.value)
        query = bool(asked & c.MQIMPO_QUERY_LENGTH)
        fits = self.texts.name(raw, mqi.MQIMPO, "ReturnedName", *returned.name, only_length=query)
        if not fits:
            raise Failure(c.MQRC_PROPERTY_NAME_TOO_BIG, found.name)
        if not query:
            self._give(value, length, returned.value, found.name)
        if found.unknown_type:
            return c.MQCC_WARNING, c.MQRC_PROP_TYPE_NOT_SUPPORTED
        return (c.MQCC_WARNING, returned.warning) if returned.warning else None

    def _give(self, value: Any, length: int, given: bytes, name: str) -> None:
        """As much of a value as its area takes. Raises Failure (MQRC_PROPERTY_VALUE_TOO_BIG) where that is not all."""
        room = min(length, len(given))
        if room and not value:
            raise Failure(c.MQRC_BUFFER_ERROR, name)
        if room:
            self._buffer(self._cast("char *", value), room)[:] = given[:room]
        if room < len(given):
            raise Failure(c.MQRC_PROPERTY_VALUE_TOO_BIG, name)

    def mqdltmp(self, hconn: int, hmsg: int, options: Any, name: Any) -> Outcome:
        handle = message_handle(connection_of(hconn), hmsg)
        raw, _ = self.structure(options, mqi.MQDMPO, c.MQRC_DMPO_ERROR)
        (asked,) = dmpo_options(raw)
        if asked & ~c.MQDMPO_DEL_PROP_UNDER_CURSOR:
            raise Failure(c.MQRC_OPTIONS_ERROR)
        handle.delete(self._name(name), asked)
        return None

    def _name(self, pointer: Any) -> str:
        """The name in an MQCHARV. Raises Failure (MQRC_PROPERTY_NAME_ERROR, MQRC_PROPERTY_NAME_LENGTH_ERR)."""
        if not pointer:
            raise Failure(c.MQRC_PROPERTY_NAME_ERROR)
        raw = self._buffer(self._cast("char *", pointer), mqi.MQCHARV.size)
        name = self.texts.read(
            raw, mqi.MQCHARV, "", longest=LONGEST_NAME, reason=c.MQRC_PROPERTY_NAME_ERROR,
            too_long=c.MQRC_PROPERTY_NAME_LENGTH_ERR,
        ).rstrip("\0")  # fmt: skip
        if not name:
            raise Failure(c.MQRC_PROPERTY_NAME_LENGTH_ERR)
        return name

    def _value(self, kind: int, length: int, value: Any) -> bytes:
        if kind == c.MQTYPE_NULL:
            return b""
        if length == c.MQVL_NULL_TERMINATED and kind == c.MQTYPE_STRING and value:
            return bytes(self._terminated(value))
        if length < 0:
            raise Failure(c.MQRC_BUFFER_LENGTH_ERROR)
        if not value and length:
            raise Failure(c.MQRC_BUFFER_ERROR)
        return bytes(self._buffer(self._cast("char *", value), length)) if length else b""

    def _terminated(self, value: Any) -> bytes:
        text, start = bytearray(), self._cast("unsigned char *", value)
        while start[len(text)]:
            text.append(start[len(text)])
        return bytes(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What MQINQMP returns of a property. name: its text and the CCSID of it. warning: a reason code or 0."""

    value: bytes
    encoding: int
    ccsid: int
    name: tuple[bytes, int]
    warning: int = c.MQRC_NONE


def _converted(found: Property, wanted: int, options: int) -> Property:
    """The property with the type that the application wants (MQIMPO_CONVERT_TYPE).

    Raises Failure as `types.converted`.
    """
    if not options & c.MQIMPO_CONVERT_TYPE:
        return found
    value = types.converted(found.value, found.type, wanted)
    return replace(found, type=found.type if wanted == c.MQTYPE_AS_SET else wanted, value=value)


def _returned(given: Property, impo: Any) -> Returned:
    """Value and name in the encoding and CCSID that the application asks for (MQIMPO_CONVERT_VALUE)."""
    options, encoding, ccsid = impo_fields(impo)
    name = shown_name(given.name).encode()
    kept = Returned(value=given.value, encoding=c.MQENC_NATIVE, ccsid=types.UTF_8, name=(name, types.UTF_8))
    if not options & c.MQIMPO_CONVERT_VALUE:
        return kept
    ccsid = types.UTF_8 if types.is_utf_8(ccsid) else ccsid
    try:
        value = types.given_out(given.value, given.type, encoding, ccsid)
    except WireError:
        return replace(kept, warning=c.MQRC_PROP_VALUE_NOT_CONVERTED)
    converted = Returned(value=value, encoding=encoding, ccsid=ccsid, name=kept.name)
    try:
        named = types.given_out(name, c.MQTYPE_STRING, encoding, ccsid)
    except WireError:
        return replace(converted, warning=c.MQRC_PROP_NAME_NOT_CONVERTED)
    return replace(converted, name=(named, ccsid))
