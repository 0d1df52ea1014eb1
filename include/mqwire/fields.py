"""One row of a field table, and the short constructors that tables are written with. Data only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["long", "int64", "pointer", "int8", "digits", "char", "byte"]

# kind -> (struct code, width): width 0 is the field's own length
_KINDS: dict[str, tuple[str, int]] = {
    "long": ("i", 4),
    "int64": ("q", 8),
    "pointer": ("Q", 8),
    "int8": ("B", 1),
    "digits": ("s", 0),
    "char": ("s", 0),
    "byte": ("s", 0),
}
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def snake(name: str) -> str:
    """MQ's field name as a Python attribute: ``ReplyToQMgr`` is ``reply_to_q_mgr``."""
    return _WORDS.sub("_", name.replace("VSCCSID", "VSCcsid")).lower()


def text(raw: bytes) -> str:
    """A name as an MQI caller gave it: up to the first NUL, without trailing blanks, Latin-1."""
    return raw.partition(b"\0")[0].rstrip(b" ").decode("latin-1")


def before_nul(value: str) -> str:
    """Text up to its first NUL, without trailing blanks: programs end a name with either."""
    return value.partition("\0")[0].rstrip(" ")


@dataclass(frozen=True, slots=True)
class Field:
    """One row of a field table.

    :param name: MQ's own name, as in ``CodedCharSetId``
    :param kind: ``long`` (MQLONG), ``int64`` (MQINT64, MQHMSG), ``pointer``, ``int8`` (one character code), ``char``
        (text, blank padded), ``byte`` (bytes), ``digits`` (a number written in characters, right adjusted)
    :param length: bytes, for ``char``, ``byte`` and ``digits``
    :param default: the value IBM's initialiser gives; None is zero, blanks or NULs by kind
    :param since: first structure version that has the field
    """

    name: str
    kind: Kind = "long"
    length: int = 0
    default: Any = None
    since: int = 1

    @property
    def key(self) -> str:
        """The attribute name."""
        return snake(self.name)

    @property
    def width(self) -> int:
        """Bytes on the wire."""
        return _KINDS[self.kind][1] or self.length

    @property
    def alignment(self) -> int:
        """Bytes to which C aligns it."""
        return _KINDS[self.kind][1] or 1

    @property
    def code(self) -> str:
        """The struct code without byte order."""
        letter, width = _KINDS[self.kind]
        return letter if width else f"{self.length}{letter}"

    @property
    def initial(self) -> Any:
        """The default value."""
        if self.default is not None:
            return self.default
        if self.kind == "char":
            return ""
        return bytes(self.length) if self.kind == "byte" else 0


def long(name: str, default: int = 0, since: int = 1) -> Field:
    """An MQLONG."""
    return Field(name, "long", 0, default, since)


def char(name: str, length: int, default: str = "", since: int = 1) -> Field:
    """MQCHARn: blank-padded text of ``length`` bytes."""
    return Field(name, "char", length, default, since)


def byte(name: str, length: int, since: int = 1) -> Field:
    """MQBYTEn."""
    return Field(name, "byte", length, None, since)


def pointer(name: str, since: int = 1) -> Field:
    """An address, as an integer."""
    return Field(name, "pointer", 0, 0, since)


def int64(name: str, default: int = 0, since: int = 1) -> Field:
    """MQINT64 or MQHMSG."""
    return Field(name, "int64", 0, default, since)
