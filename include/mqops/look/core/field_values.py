"""The value of a field as people read it: the name of a constant where MQ has one, else the number; bytes as hex."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqwire.fields import before_nul
from mqwire.names import feedback_name, lookup, reason_name, table

Shown = str | int


def flags(prefix: str, value: int) -> Shown:
    """The names of the flags that are set, joined by ` + `; what has no name is a number in hex.

    Parameters: `prefix` of the constants, such as `MQRO`.
    """
    known = table(prefix)
    if value == 0:
        return f"{prefix}_NONE"
    names, rest = [], value & 0xFFFFFFFF
    widest_first = sorted(
        ((one & 0xFFFFFFFF, name) for one, name in known.items()), key=lambda one: -one[0].bit_count()
    )
    for bits, name in widest_first:
        if bits and not name.endswith("_MASK") and rest & bits == bits:
            names.append((bits, name))
            rest &= ~bits
    found = [name for _bits, name in sorted(names)] + ([f"X'{rest:08X}'"] if rest else [])
    return " + ".join(found)


def _named(prefix: str) -> Callable[[int], Shown]:
    return lambda value: lookup(prefix, value) or value


def reason(value: int) -> Shown:
    """The Reason of an MQDLH: a reason code, else a feedback code."""
    name = reason_name(value)
    return name if name.startswith("MQ") else _feedback(value)


def _feedback(value: int) -> Shown:
    name = feedback_name(value)
    return value if name.isdigit() or name.startswith("-") else name


BY_FIELD: Mapping[str, Callable[[int], Shown]] = {
    "Report": lambda value: flags("MQRO", value),
    "MsgFlags": lambda value: flags("MQMF", value),
    "MsgType": _named("MQMT"),
    "Expiry": _named("MQEI"),
    "Feedback": _feedback,
    "Persistence": _named("MQPER"),
    "PutApplType": _named("MQAT"),
    "ApplType": _named("MQAT"),
    "OriginalLength": _named("MQOL"),
    "Reason": reason,
    "ReturnCode": _named("MQCRC"),
}
"""MQ's name of a field → its value in words. Fields that are not here are plain numbers."""


def shown(field: str, value: int | str | bytes) -> Shown:
    """The value of a field. Parameters: `field` by MQ's name; text ends at its first NUL."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return before_nul(value).rstrip(" ")
    return BY_FIELD[field](value) if field in BY_FIELD else value
