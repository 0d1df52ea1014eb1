"""The keywords of a rules table, as data: which entry each belongs to, what its value may be, what it is compared with.

Source: `ibm_mq_facts` sections 1.4-1.6 (IBM MQ documentation, dead-letter queue handler rules table). The parser, the
matcher, the linter and the Spark compiler all read this one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MAX_NUMBER = 999_999_999
"""Largest number a rules table accepts where no other range is stated."""


class Entry(Enum):
    """The part of the table a keyword may stand in."""

    CONTROL = "control data"
    PATTERN = "a rule's pattern"
    ACTION = "a rule's action"


class Kind(Enum):
    """What a value is made of."""

    WILD = "string with wildcards"
    NUMBER = "number, symbolic name, or * alone"
    NAME = "name of an MQ object, no wildcards"
    COUNT = "number"
    CHOICE = "one of a few words"
    CHOICE_OR_COUNT = "one of a few words, or a number"
    RATE = "number a second"
    KEY = "one of a few words, or the name of a property"
    CONDITION = "a comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """One keyword.

    Parameters: `length` in characters of the field compared or named; `prefixes` of the symbolic names a number may be
    written as; `choices` the words allowed (for a NAME: the &-names); `blank` whether an all-blank value is legal;
    `least` and `most` the smallest and the largest number allowed.
    """

    name: str
    entry: Entry
    kind: Kind
    length: int = 0
    prefixes: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    blank: bool = False
    least: int = 0
    most: int = MAX_NUMBER


def _wild(name: str, length: int) -> Keyword:
    return Keyword(name=name, entry=Entry.PATTERN, kind=Kind.WILD, length=length, blank=True)


def _number(name: str, *prefixes: str) -> Keyword:
    return Keyword(name=name, entry=Entry.PATTERN, kind=Kind.NUMBER, prefixes=prefixes)


def _name(name: str, entry: Entry, *ampersands: str, blank: bool) -> Keyword:
    return Keyword(name=name, entry=entry, kind=Kind.NAME, length=48, choices=ampersands, blank=blank)


def _choice(name: str, *words: str) -> Keyword:
    return Keyword(name=name, entry=Entry.ACTION, kind=Kind.CHOICE, choices=words)


KEYWORDS: dict[str, Keyword] = {
    keyword.name: keyword
    for keyword in (
        _name("INPUTQ", Entry.CONTROL, blank=True),
        _name("INPUTQM", Entry.CONTROL, blank=True),
        Keyword(name="RETRYINT", entry=Entry.CONTROL, kind=Kind.COUNT),
        Keyword(name="WAIT", entry=Entry.CONTROL, kind=Kind.CHOICE_OR_COUNT, choices=("YES", "NO")),
        _wild("APPLIDAT", 32),  # MQMD.ApplIdentityData
        _wild("APPLNAME", 28),  # MQMD.PutApplName, not the MQDLH's
        _number("APPLTYPE", "MQAT"),  # MQMD.PutApplType
        _wild("DESTQ", 48),  # MQDLH.DestQName
        _wild("DESTQM", 48),  # MQDLH.DestQMgrName
        _number("FEEDBACK", "MQFB"),  # MQMD.Feedback
        _wild("FORMAT", 8),  # MQDLH.Format: of the data after the MQDLH
        _number("MSGTYPE", "MQMT"),  # MQMD.MsgType
        _number("PERSIST", "MQPER"),  # MQMD.Persistence
        _number("REASON", "MQRC", "MQFB"),  # MQDLH.Reason holds either
        _wild("REPLYQ", 48),  # MQMD.ReplyToQ
        _wild("REPLYQM", 48),  # MQMD.ReplyToQMgr
        _wild("USERID", 12),  # MQMD.UserIdentifier
        _choice("ACTION", "DISCARD", "IGNORE", "RETRY", "FWD"),
        _name("FWDQ", Entry.ACTION, "&DESTQ", "&REPLYQ", blank=False),
        _name("FWDQM", Entry.ACTION, "&DESTQM", "&REPLYQM", blank=True),
        _choice("HEADER", "YES", "NO"),
        _choice("PUTAUT", "DEF", "CTX"),
        Keyword(name="RETRY", entry=Entry.ACTION, kind=Kind.COUNT, least=1),
    )
}

MAX_EXTENSION_NUMBER = 999_999
"""Largest number of messages (or messages a second) an extension of the action accepts."""


def _extension(name: str, kind: Kind, *words: str) -> Keyword:
    return Keyword(name=name, entry=Entry.ACTION, kind=kind, choices=words, least=1, most=MAX_EXTENSION_NUMBER)


def _condition(name: str, most: int = MAX_NUMBER) -> Keyword:
    return Keyword(name=name, entry=Entry.PATTERN, kind=Kind.CONDITION, most=most)


EXTENSIONS: dict[str, Keyword] = {
    keyword.name: keyword
    for keyword in (
        _condition("AGE"),  # since MQDLH.PutDate and PutTime, MQMD's where there is no MQDLH
        _condition("SIZE"),  # bytes of the data without the MQDLH
        _condition("BACKOUT"),  # MQMD.BackoutCount
        _condition("PRIORITY", 9),  # MQMD.Priority
        _condition("PROP"),  # a property in an MQRFH2
        _condition("BODY"),  # the data behind all headers, as text
        _extension("CANARY", Kind.COUNT),  # messages put first, alone
        _extension("PACE", Kind.RATE),  # messages a second
        _extension("MAXREPLAY", Kind.COUNT),  # times a message is put back
        _extension("ORDER", Kind.KEY, "GROUPID", "CORRELID"),  # what keeps its order
    )
}
"""The keywords that IBM's handler does not know: errors, unless the table begins with the header line."""

PATTERN_KEYWORDS: dict[str, Keyword] = {k: v for k, v in KEYWORDS.items() if v.entry is Entry.PATTERN}
"""The keywords a message is matched by, in the order IBM lists them."""
