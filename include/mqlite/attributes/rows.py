"""Short makers of table rows and the words that many attributes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mqlite.attributes.types import Attribute, Bits, Custom, Flag, Integer, Names, Text, Value, Word, Words
from mqlite.platform import Platform

BIG = 999_999_999
EVERYWHERE = frozenset(Platform)
NO_YES = {"NO": 0, "YES": 1}
DISABLED_ENABLED = {"DISABLED": 0, "ENABLED": 1}
ALLOWED = {"ENABLED": 0, "DISABLED": 1}  # PUT and GET: MQQA_PUT_ALLOWED 0, MQQA_PUT_INHIBITED 1
CAPABILITY = {"DISABLED": 0, "ENABLED": 1}  # MQCAP_NOT_SUPPORTED, MQCAP_SUPPORTED
MONITORING = {"QMGR": -3, "NONE": -1, "OFF": 0, "ON": 1, "LOW": 17, "MEDIUM": 33, "HIGH": 65}
PERSISTENCE = {"NO": 0, "YES": 1}
AS_PARENT = {"ASPARENT": -2}


def number(
    keyword: str,
    selector: int,
    default: int | None,
    *,
    low: int = 0,
    high: int = BIG,
    words: Mapping[str, int] | None = None,
    zos: int | None = None,
    **more: object,
) -> Attribute:
    """An integer attribute from `low` to `high`."""
    return _row(keyword, selector, Integer(low=low, high=high, words=words or {}), default, zos, more)


def word(
    keyword: str,
    selector: int,
    default: str | None,
    words: Mapping[str, int],
    *,
    zos: str | None = None,
    **more: object,
) -> Attribute:
    """An attribute whose value is one of `words`; `default` is written as its word."""
    value = None if default is None else words[default]
    return _row(keyword, selector, Word(words=words), value, None if zos is None else words[zos], more)


def flag(on: str, selector: int, default: int, *, zos: int | None = None, **more: object) -> Attribute:
    """A pair of keywords, ON and NOON."""
    return _row(on, selector, Flag(on=on, off=f"NO{on}"), default, zos, more)


def text(
    keyword: str, selector: int, length: int, default: str | None = "", *, zos: str | None = None, **more: object
) -> Attribute:
    """A character attribute."""
    return _row(keyword, selector, Text(length=length), default, zos, more)


def name(
    keyword: str, selector: int, length: int = 48, default: str | None = "", *, zos: str | None = None, **more: object
) -> Attribute:
    """A character attribute that names an MQ object."""
    return _row(keyword, selector, Text(length=length, name=True), default, zos, more)


def custom(keyword: str, selector: int, **more: object) -> Attribute:
    """CUSTOM of a queue or topic."""
    return _row(keyword, selector, Custom(length=128), "", None, more)


def names(keyword: str, selector: int, **more: object) -> Attribute:
    """A list of object names."""
    return _row(keyword, selector, Names(most=256, length=48), [], None, more)


def texts(keyword: str, selector: int, length: int, **more: object) -> Attribute:
    """A list of texts of any characters."""
    return _row(keyword, selector, Names(length=length, free=True), None, None, more)


def bits(keyword: str, selector: int, length: int, default: str | None = "", **more: object) -> Attribute:
    """A byte string, written as hexadecimal digits."""
    return _row(keyword, selector, Bits(length=length), default, None, more)


def unbuilt(row: Attribute, *harmless: str, on: frozenset[str] = EVERYWHERE) -> Attribute:
    """The row of an attribute that mqlite does not have: any value is refused but its default and those `harmless`.

    The default of IBM's objects is taken, so that what dmpmqcfg wrote can be read, and what asks for nothing.
    """
    taken = [row.type.canonical(row.keyword, word) for word in harmless]
    known = (value for value in (row.default, row.zos_default, *taken) if value is not None)
    return replace(row, unbuilt=on, takes=tuple(known))


def words(keyword: str, selector: int, default: str, known: Mapping[str, int], **more: object) -> Attribute:
    """A list of words."""
    return _row(keyword, selector, Words(words=known), [default], None, more)


def kept_number(keyword: str, selector: int) -> Attribute:
    """A number the queue manager keeps."""
    return number(keyword, selector, None, low=-BIG, read_only=True)


def kept_text(keyword: str, selector: int, length: int) -> Attribute:
    """A text the queue manager keeps (dates, times, identifiers)."""
    return text(keyword, selector, length, None, read_only=True)


def kept_word(keyword: str, selector: int, words: Mapping[str, int]) -> Attribute:
    """A word the queue manager keeps."""
    return word(keyword, selector, None, words, read_only=True)


def _row(  # noqa: PLR0917
    keyword: str,
    selector: int,
    kind: Integer | Word | Flag | Text | Names | Bits | Words,
    default: Value | None,
    zos: Value | None,
    more: Mapping[str, object],
) -> Attribute:
    return Attribute(keyword=keyword, selector=selector, type=kind, default=default, zos_default=zos, **more)  # type: ignore[arg-type]
