"""The one attribute table: object kind × MQSC keyword × type × MQIA/MQCA selector × default.

MQSC, PCF, MQINQ/MQSET and the engine read it; it knows no store. A value is held as the MQI has it: words and flags as
their number (PUT(DISABLED) = MQQA_PUT_INHIBITED = 1), texts stripped of trailing blanks, name lists as `list[str]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqlite.attributes import channels, other_objects, queue_manager, queues
from mqlite.attributes.types import (
    Attribute,
    AttributeProblem,
    Bits,
    Flag,
    Integer,
    InvalidValue,
    Names,
    Raw,
    ReadOnly,
    Text,
    TooLong,
    UnknownAttribute,
    Value,
    Word,
    Words,
    custom_cap,
    valid_name,
)
from mqlite.platform import Platform

__all__ = [
    "CHANNEL_TYPES", "QUEUE_KINDS", "QUEUE_TYPES", "TABLE", "Attribute", "AttributeProblem", "Bits", "Flag", "Integer",
    "InvalidValue", "Kind", "Names", "Raw", "ReadOnly", "Text", "TooLong", "UnknownAttribute", "Value", "Word", "Words",
    "attribute", "by_selector", "canonical", "channel_type", "custom_cap", "defaults", "display", "rows", "valid_name",
]  # fmt: skip


class Kind(StrEnum):
    """Object kinds; the value is the `kind` column of the object table and MQSC's word."""

    QMGR = "QMGR"
    QLOCAL = "QLOCAL"
    QALIAS = "QALIAS"
    QREMOTE = "QREMOTE"
    QMODEL = "QMODEL"
    PROCESS = "PROCESS"
    NAMELIST = "NAMELIST"
    CHANNEL = "CHANNEL"
    AUTHINFO = "AUTHINFO"
    LISTENER = "LISTENER"
    TOPIC = "TOPIC"
    SUB = "SUB"


QUEUE_KINDS = (Kind.QLOCAL, Kind.QALIAS, Kind.QREMOTE, Kind.QMODEL)
QUEUE_TYPES = {Kind(word): value for word, value in queues.QUEUE_TYPES.items() if word != "QCLUSTER"}
CHANNEL_TYPES = channels.TYPES


def _by_keyword(rows: tuple[Attribute, ...]) -> dict[str, Attribute]:
    table: dict[str, Attribute] = {}
    for row in rows:
        assert row.keyword not in table, row.keyword
        table[row.keyword] = row
    return table


TABLE: Mapping[Kind, Mapping[str, Attribute]] = {
    Kind.QMGR: _by_keyword(queue_manager.QMGR),
    Kind.QLOCAL: _by_keyword(queues.QLOCAL),
    Kind.QALIAS: _by_keyword(queues.QALIAS),
    Kind.QREMOTE: _by_keyword(queues.QREMOTE),
    Kind.QMODEL: _by_keyword(queues.QMODEL),
    Kind.PROCESS: _by_keyword(other_objects.PROCESS),
    Kind.NAMELIST: _by_keyword(other_objects.NAMELIST),
    Kind.CHANNEL: _by_keyword(channels.CHANNEL),
    Kind.AUTHINFO: _by_keyword(other_objects.AUTHINFO),
    Kind.LISTENER: _by_keyword(other_objects.LISTENER),
    Kind.TOPIC: _by_keyword(other_objects.TOPIC),
    Kind.SUB: _by_keyword(other_objects.SUB),
}
_ALIASES = {
    kind: {
        spelling: row.keyword
        for row in table.values()
        for spelling in (*row.aliases, *((row.type.off,) if isinstance(row.type, Flag) else ()))
    }
    for kind, table in TABLE.items()
}
_SELECTORS = {kind: {row.selector: row for row in table.values()} for kind, table in TABLE.items()}


def attribute(kind: Kind, keyword: str) -> Attribute:
    """The row of `keyword` (any case; an alias or a flag's NO form leads to its row).

    Raises UnknownAttribute if this kind has none.
    """
    upper = keyword.upper()
    row = TABLE[kind].get(_ALIASES[kind].get(upper, upper))
    if row is None:
        raise UnknownAttribute(upper)
    return row


def by_selector(kind: Kind, selector: int) -> Attribute:
    """The row whose MQIA/MQCA selector (and PCF parameter) is `selector`. Raises UnknownAttribute."""
    row = _SELECTORS[kind].get(selector)
    if row is None:
        raise UnknownAttribute(str(selector))
    return row


def channel_type(value: Value) -> str:
    """The word of a CHLTYPE value: 1 → SDR."""
    return next(word for word, number in CHANNEL_TYPES.items() if number == value)


def rows(kind: Kind, *, platform: str = Platform.UNIX, subtype: str | None = None) -> list[Attribute]:
    """The rows that objects of this kind have on `platform`; `subtype` is the channel type (SDR ...)."""
    return [
        row
        for row in TABLE[kind].values()
        if platform in row.platforms and (not row.only or subtype is None or subtype in row.only)
    ]


def defaults(kind: Kind, *, platform: str = Platform.UNIX, subtype: str | None = None) -> dict[str, Value]:
    """Keyword → default value of every attribute that can be set, as IBM's SYSTEM.DEFAULT object has it."""
    found: dict[str, Value] = {}
    for row in rows(kind, platform=platform, subtype=subtype):
        value = row.zos_default if platform == Platform.ZOS and row.zos_default is not None else row.default
        value = row.unbuilt_of.get(subtype or "", value)
        if value is not None:
            found[row.keyword] = list(value) if isinstance(value, list) else value
    return found


def canonical(kind: Kind, keyword: str, raw: Raw) -> Value:
    """The value the engine stores for what MQSC or PCF said.

    Raises UnknownAttribute, ReadOnly (kept by the queue manager), InvalidValue or TooLong.
    """
    row = attribute(kind, keyword)
    if row.read_only:
        raise ReadOnly(row.keyword, raw)
    return row.type.canonical(row.keyword, raw)


def display(kind: Kind, keyword: str, value: Value) -> str:
    """`KEYWORD(value)` as DISPLAY shows it, or the flag keyword alone (TRIGGER, NOSHARE)."""
    row = attribute(kind, keyword)
    return row.type.display(row.keyword, value)
