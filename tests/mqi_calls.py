"""The MQI as a C program calls it, for the fields of structures that pymqi hides."""

from __future__ import annotations

import ctypes
from typing import Any

from mqlite.c_interface.bridge import prefix
from mqwire.layout import Layout

Answer = tuple[int, int]


class Structure:
    """A structure in memory with its initial values, but for `fields`; `version` 0 for the newest."""

    def __init__(self, layout: Layout, version: int = 0, **fields: Any) -> None:
        self.layout = layout
        initial = {field.key: field.initial for field in layout.fields}
        if "version" in initial:
            initial["version"] = version or layout.versions[-1]
        named = {layout.field(name).key: value for name, value in fields.items()}
        self.memory = ctypes.create_string_buffer(layout.pack({**initial, **named}), layout.size)
        self._kept: list[Any] = []

    def __getitem__(self, name: str) -> Any:
        return self.layout.unpack(bytes(self.memory))[self.layout.field(name).key]

    def __setitem__(self, name: str, value: Any) -> None:
        self.layout.writer(name)(self.memory, value)

    def text(self, name: str, value: bytes, length: int | None = None, ccsid: int = -3) -> None:
        """Point an MQCHARV to a text; `length` for VSLength where it is not that of the text."""
        buffer = ctypes.create_string_buffer(value, len(value) + 2)
        self._kept.append(buffer)
        self[name + "VSPtr"] = ctypes.addressof(buffer)
        self[name + "VSLength"] = len(value) if length is None else length
        self[name + "VSCCSID"] = ccsid

    def room(self, name: str, size: int) -> Any:
        """Point an MQCHARV to an area for a text; returns it."""
        buffer = ctypes.create_string_buffer(b"?" * size, size)
        self._kept.append(buffer)
        self[name + "VSPtr"] = ctypes.addressof(buffer)
        self[name + "VSBufSize"] = size
        return buffer


class Mqi:
    """The calls of one connection; of MQCONNX and MQDISC the first argument stands in place of the hconn."""

    def __init__(self, hconn: Any) -> None:
        self.hconn = hconn
        self._library = ctypes.CDLL(str(prefix() / "lib64" / "libmqm_r.so"))

    def call(self, name: str, *arguments: Any) -> Answer:
        """A call with the hconn before its arguments; returns completion and reason code."""
        comp, reason = ctypes.c_int(), ctypes.c_int()
        given = [each.memory if isinstance(each, Structure) else each for each in arguments]
        getattr(self._library, name)(self.hconn, *given, ctypes.byref(comp), ctypes.byref(reason))
        return comp.value, reason.value

    def done(self, name: str, *arguments: Any) -> None:
        """A call that must work."""
        assert self.call(name, *arguments) == (0, 0), name
