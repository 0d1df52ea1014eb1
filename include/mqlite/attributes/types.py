"""What the value of one object attribute may be: number, word, text, list of names, or a flag keyword.

Each type turns MQSC text or a PCF value into the one Python value the engine stores (`int`, `str` or `list[str]`),
and back into the text that DISPLAY shows. Knows no object kind and no store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mqlite.platform import Platform

Value = int | str | list[str]
Raw = int | str | bytes | list[str] | list[int]


class AttributeProblem(ValueError):
    """The attribute is not one of this object, or its value is not allowed."""

    def __init__(self, keyword: str, value: object = None) -> None:
        super().__init__(f"{keyword}: {(self.__doc__ or '').splitlines()[0]}")
        self.keyword = keyword
        self.value = value


class UnknownAttribute(AttributeProblem):
    """This kind of object has no such attribute."""


class InvalidValue(AttributeProblem):
    """The value is not one that the attribute may have."""


class TooLong(InvalidValue):
    """The value is longer than the attribute."""


class ReadOnly(AttributeProblem):
    """The attribute is kept by the queue manager and cannot be set."""


def _shown(words: Mapping[str, int], keyword: str, value: Value) -> str:
    """A number as DISPLAY shows it: by its first word, else as a number."""
    return f"{keyword}({next((word for word, number in words.items() if number == value), value)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer:
    """A number between `low` and `high`; `words` name special values (`NOLIMIT`)."""

    low: int
    high: int
    words: Mapping[str, int] = field(default_factory=dict)

    def canonical(self, keyword: str, raw: Raw) -> Value:
        if isinstance(raw, str):
            text = raw.strip().upper()
            if text in self.words:
                return self.words[text]
            try:
                raw = int(text)
            except ValueError:
                raise InvalidValue(keyword, raw) from None
        if not isinstance(raw, int) or not (self.low <= raw <= self.high or raw in self.words.values()):
            raise InvalidValue(keyword, raw)
        return raw

    def display(self, keyword: str, value: Value) -> str:
        return _shown(self.words, keyword, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One of several words, each with its MQI value. The first word of a value is the one DISPLAY shows."""

    words: Mapping[str, int]

    def canonical(self, keyword: str, raw: Raw) -> Value:
        if isinstance(raw, str) and raw.strip().upper() in self.words:
            return self.words[raw.strip().upper()]
        if isinstance(raw, int) and raw in self.words.values():
            return raw
        raise InvalidValue(keyword, raw)

    def display(self, keyword: str, value: Value) -> str:
        return _shown(self.words, keyword, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A pair of keywords without a value: TRIGGER / NOTRIGGER. `off` is the keyword that stands for 0."""

    on: str
    off: str

    def canonical(self, keyword: str, raw: Raw) -> Value:
        if raw in (0, 1):
            return int(raw)
        if isinstance(raw, str) and raw.strip().upper() in (self.on, self.off):
            return int(raw.strip().upper() == self.on)
        raise InvalidValue(keyword, raw)

    def display(self, keyword: str, value: Value) -> str:
        return self.on if value else self.off


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Up to `length` characters. `name=True`: an MQ object name (blank allowed)."""

    length: int
    name: bool = False

    def canonical(self, keyword: str, raw: Raw) -> Value:
        if not isinstance(raw, str):
            raise InvalidValue(keyword, raw)
        text = raw.rstrip(" \0")
        if len(text) > self.length:
            raise TooLong(keyword, raw)
        if self.name and text and not valid_name(text, self.length):
            raise InvalidValue(keyword, raw)
        return text

    def display(self, keyword: str, value: Value) -> str:
        return f"{keyword}({value or ' '})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(Text):
    """CUSTOM of a queue or topic: blank, or CAPEXPRY(n), the one pair of name and value that is known there.

    Source: IBM MQ, "CAPEXPRY: Limit message expiry time" (tenths of a second, or NOLIMIT).
    """

    def canonical(self, keyword: str, raw: Raw) -> Value:
        text = Text.canonical(self, keyword, raw)
        if text and custom_cap(str(text)) is None:
            raise InvalidValue(keyword, raw)
        return text


def custom_cap(custom: str) -> int | None:
    """CAPEXPRY in a value of CUSTOM, -1 for NOLIMIT and for a blank value; None: the value is not valid."""
    found = _CAPEXPRY.fullmatch(custom)
    if found is None or (found["cap"] or "NOLIMIT").upper() == "NOLIMIT":
        return None if found is None else -1
    cap = int(found["cap"])
    return cap if 0 < cap <= 999_999_999 else None


_CAPEXPRY = re.compile(r" *(?:CAPEXPRY *\( *(?P<cap>NOLIMIT|[0-9]{1,9}) *\) *)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A list of names, at most `most`. `free`: of any characters, as user identifiers and addresses are."""

    most: int = 256
    length: int = 48
    free: bool = False

    def canonical(self, keyword: str, raw: Raw) -> Value:
        names = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(names, list):
            raise InvalidValue(keyword, raw)
        stripped = [str(name).strip(" \0") for name in names]
        result = [name for name in stripped if name]
        fits = all(len(name) <= self.length if self.free else valid_name(name, self.length) for name in result)
        if len(result) > self.most or not fits:
            raise InvalidValue(keyword, raw)
        return result

    def display(self, keyword: str, value: Value) -> str:
        return f"{keyword}({', '.join(value) if isinstance(value, list) and value else ' '})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bits:
    """Bytes shown as hexadecimal digits (correlation and subscription identifiers), stored as such."""

    length: int

    def canonical(self, keyword: str, raw: Raw) -> Value:
        text = raw.hex() if isinstance(raw, bytes) else raw
        if not isinstance(text, str):
            raise InvalidValue(keyword, raw)
        try:
            decoded = bytes.fromhex(text.strip())
        except ValueError:
            raise InvalidValue(keyword, raw) from None
        if len(decoded) > self.length:
            raise TooLong(keyword, raw)
        return decoded.hex().upper()

    def display(self, keyword: str, value: Value) -> str:
        return f"{keyword}({value or ' '})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A list of words, each with its MQI value."""

    words: Mapping[str, int]

    def canonical(self, keyword: str, raw: Raw) -> Value:
        given = raw.split(",") if isinstance(raw, str) else raw
        by_number = {number: word for word, number in self.words.items()}
        if not isinstance(given, list):
            raise InvalidValue(keyword, raw)
        found = [by_number.get(item, "") if isinstance(item, int) else item.strip().upper() for item in given]
        if not all(word in self.words for word in found):
            raise InvalidValue(keyword, raw)
        return found

    def display(self, keyword: str, value: Value) -> str:
        return f"{keyword}({','.join(value) if isinstance(value, list) else value})"


Type = Integer | Word | Flag | Text | Names | Bits | Words

NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_%")


def valid_name(name: str, length: int = 48) -> bool:
    """True if `name` is an MQ object name: 1 to `length` characters of A-Z a-z 0-9 . / _ %."""
    return 0 < len(name) <= length and NAME_CHARACTERS.issuperset(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One row of the table.

    keyword: as MQSC writes and DISPLAY shows it. selector: MQIA_/MQCA_ (MQIACH_/MQCACH_ ... where MQINQ has none); the
    PCF parameter is the same number. default: that of IBM's SYSTEM.DEFAULT object, None for what the queue manager
    keeps itself (`read_only`). zos_default: where the z/OS one differs. platforms: where the attribute exists. only:
    channel types (or queue types) that have it, empty = all. aliases: further spellings MQSC accepts. unbuilt: the
    platforms on which mqlite has nothing that the attribute could ask for; it may have a value of `takes` only there.
    unbuilt_of: channel types for which that is so, each with its default, the only value it may have.
    """

    keyword: str
    selector: int
    type: Type
    default: Value | None = None
    zos_default: Value | None = None
    read_only: bool = False
    create_only: bool = False
    platforms: frozenset[str] = frozenset(Platform)
    only: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    unbuilt: frozenset[str] = frozenset()
    takes: tuple[Value, ...] = ()
    unbuilt_of: Mapping[str, Value] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """True for a character attribute (MQCA_), False for an integer one (MQIA_)."""
        return not isinstance(self.type, Integer | Word | Flag)
