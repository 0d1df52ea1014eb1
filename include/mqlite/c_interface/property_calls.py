"""MQCRTMH, MQDLTMH, MQSETMP, MQINQMP and MQDLTMP as C makes them: message handles and their properties."""

# ruff: noqa: PLR0917  # the calls' parameters are the MQI's

from __future__ import annotations

from typing import Any

from mqlite.connections.connection import Connection, connection_of
from mqlite.failure import Failure
from mqlite.messages.properties import MessageHandle
from mqwire import constants as c
from mqwire import mqi

Outcome = tuple[int, int] | None
LONGEST_NAME = 4095
charv = mqi.MQCHARV.reader("VSPtr", "VSOffset", "VSBufSize", "VSLength", "VSCCSID")
impo_options = mqi.MQIMPO.reader("Options")


def message_handle(connection: Connection, number: int) -> MessageHandle:
    """The message handle of that number. Raises Failure (MQRC_HMSG_ERROR)."""
    found = connection.messages.get(number)
    if found is None:
        raise Failure(c.MQRC_HMSG_ERROR)
    return found


class PropertyCalls:
    """The calls on message handles; part of the interface, which has `_buffer`, `_cast` and `structure`."""

    _buffer: Any
    _cast: Any

    def structure(self, pointer: Any, layout: Any, reason: int) -> tuple[Any, int]:
        """As the interface has it."""
        raise NotImplementedError

    def mqcrtmh(self, hconn: int, options: Any, hmsg: Any) -> Outcome:
        connection = connection_of(hconn)
        self.structure(options, mqi.MQCMHO, c.MQRC_CMHO_ERROR)
        number = next(connection.marks)
        connection.messages[number] = MessageHandle()
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
        self.structure(options, mqi.MQSMPO, c.MQRC_SMPO_ERROR)
        self.structure(pd, mqi.MQPD, c.MQRC_PD_ERROR)
        handle.set(self._charv(name), kind, self._value(kind, length, value))
        return None

    def mqinqmp(
        self, hconn: int, hmsg: int, options: Any, name: Any, pd: Any, kind: Any, length: int, value: Any, out: Any
    ) -> Outcome:  # fmt: skip
        out[0] = 0
        handle = message_handle(connection_of(hconn), hmsg)
        raw, _ = self.structure(options, mqi.MQIMPO, c.MQRC_IMPO_ERROR)
        self.structure(pd, mqi.MQPD, c.MQRC_PD_ERROR)
        found = handle.find(self._charv(name), impo_options(raw)[0])
        out[0] = len(found.value)
        if kind[0] not in (c.MQTYPE_AS_SET, found.type):
            raise Failure(c.MQRC_PROP_TYPE_NOT_SUPPORTED, found.name)
        kind[0] = found.type
        room = min(max(length, 0), len(found.value))
        if room and value:
            self._buffer(self._cast("char *", value), room)[:] = found.value[:room]
        if room < len(found.value):
            raise Failure(c.MQRC_PROPERTY_VALUE_TOO_BIG, found.name)
        return None

    def mqdltmp(self, hconn: int, hmsg: int, options: Any, name: Any) -> Outcome:
        handle = message_handle(connection_of(hconn), hmsg)
        self.structure(options, mqi.MQDMPO, c.MQRC_DMPO_ERROR)
        handle.delete(self._charv(name))
        return None

    def _charv(self, pointer: Any) -> str:
        """The text of an MQCHARV. Raises Failure (MQRC_PROPERTY_NAME_ERROR, MQRC_PROPERTY_NAME_LENGTH_ERR)."""
        if not pointer:
            raise Failure(c.MQRC_PROPERTY_NAME_ERROR)
        address, _, _, length, _ = charv(self._buffer(self._cast("char *", pointer), mqi.MQCHARV.size))
        if not address or not 0 <= length <= LONGEST_NAME:
            raise Failure(c.MQRC_PROPERTY_NAME_LENGTH_ERR if address else c.MQRC_PROPERTY_NAME_ERROR)
        try:
            return bytes(self._buffer(self._cast("char *", address), length)).decode().rstrip("\0 ")
        except UnicodeDecodeError as error:
            raise Failure(c.MQRC_PROPERTY_NAME_ERROR) from error

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
