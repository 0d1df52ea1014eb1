"""A string pattern: how it matches a field, and what it is made of.

The law, for a field v padded with blanks to its width:

1. `?` takes one character, an embedded blank too, but nothing where all that is left of v is blank.
2. `*` takes zero or more characters, whatever they are.
3. Any other character takes itself: no folding, and a NUL is not a blank.
4. Where the pattern ends, all that is left of v must be blank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

_NOT_PADDING = r"(?! *\Z)."
"""A character behind which, itself included, not everything is blank (rule 1)."""


def wild_match(pattern: str, value: str, width: int) -> bool:
    """Whether a pattern matches a field of the MQMD or MQDLH.

    Parameters: `pattern` without trailing blanks; `value` the field, padded or not; `width` of the field (characters).
    """
    if shape_of(pattern).shape is Shape.PADDED:
        return _has_pieces(value.rstrip(" ").ljust(width), pattern, one=_NOT_PADDING)
    return text_match(pattern, value)


def text_match(pattern: str, text: str) -> bool:
    """Whether a pattern matches a text of any length, without its trailing blanks and without padding.

    The time grows with the length of the text and no faster: every piece between asterisks takes the first place where
    it fits, for good, as a later place never helps the pieces behind it.
    """
    field = text.rstrip(" ")
    shaped = shape_of(pattern)
    quick = _QUICK.get(shaped.shape)
    return quick(field, shaped.text) if quick else _has_pieces(field, pattern)


def _has_pieces(field: str, pattern: str, *, one: str = ".") -> bool:
    """Parameters: `one` what `?` stands for, a regular expression."""
    first, *others = pattern.split("*")
    if not others:
        return _piece(first, one).fullmatch(field) is not None
    *inner, last = others
    at, end = len(first), len(field) - len(last)
    if at > end or not _piece(first, one).match(field) or not _piece(last, one).match(field, end):
        return False
    for piece in inner:
        found = _piece(piece, one).search(field, at, end)
        if found is None:
            return False
        at = found.end()
    return True


@lru_cache(maxsize=1024)
def _piece(piece: str, one: str) -> re.Pattern[str]:
    """Characters and question marks only: there is nothing in it to go back to."""
    return re.compile("".join(one if character == "?" else re.escape(character) for character in piece), re.DOTALL)


def glob_regex(pattern: str, *, one: str = ".", end: str = r"\z") -> str:
    """A Java regular expression for a pattern.

    Every piece between asterisks takes the first place it fits, for good (an atomic group): a later place never helps
    the pieces behind it. So the time is bounded by the length of the field, whatever the pattern. The last piece is
    tied to the end instead.

    Parameters: `one` what `?` stands for; `end` what has to follow the last piece.
    """
    first, *pieces = [_java(piece, one) for piece in re.split(r"\*+", pattern)]
    if not pieces:
        return rf"(?s)\A{first}{end}"
    *inner, last = pieces
    return rf"(?s)\A{first}{''.join(f'(?>.*?{piece})' for piece in inner)}.*{last}{end}"


def _java(piece: str, one: str) -> str:
    return "".join(one if c == "?" else c if c.isalnum() or c == " " else f"\\x{{{ord(c):x}}}" for c in piece)


class Shape(Enum):
    """What a pattern asks of a field without its trailing blanks."""

    ANY = "anything"
    NOT_BLANK = "at least one character"
    EQUALS = "exactly this text"
    STARTS = "this text first"
    ENDS = "this text last"
    CONTAINS = "this text somewhere"
    GLOB = "pieces of text in order"
    PADDED = "pieces of text in order, padding included"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """A pattern's shape; `text` is the text looked for (the whole pattern for GLOB and PADDED)."""

    shape: Shape
    text: str


@lru_cache(maxsize=4096)
def shape_of(pattern: str) -> Shaped:
    """The cheapest question that answers a pattern.

    A blank with nothing but blanks and asterisks behind it may be a blank of the padding: only such a pattern has to be
    held against the padded field. In all others `?` is simply one character of the field without trailing blanks.
    """
    core = pattern.rstrip("* ")
    if " " in pattern[len(core) :]:
        return Shaped(shape=Shape.PADDED, text=pattern)
    if "*" not in pattern and "?" not in pattern:
        return Shaped(shape=Shape.EQUALS, text=pattern)
    if not pattern.strip("*"):
        return Shaped(shape=Shape.ANY, text="")
    if pattern.replace("*", "") == "?" and "*" in pattern:
        return Shaped(shape=Shape.NOT_BLANK, text="")
    inner = pattern.strip("*")
    if "*" in inner or "?" in inner:
        return Shaped(shape=Shape.GLOB, text=pattern)
    first, last = not pattern.startswith("*"), not pattern.endswith("*")
    shape = Shape.STARTS if first else Shape.ENDS if last else Shape.CONTAINS
    return Shaped(shape=shape, text=inner)


_QUICK: Mapping[Shape, Callable[[str, str], bool]] = {
    Shape.ANY: lambda field, text: True,
    Shape.NOT_BLANK: lambda field, text: field != "",
    Shape.EQUALS: lambda field, text: field == text,
    Shape.STARTS: lambda field, text: field.startswith(text),
    Shape.ENDS: lambda field, text: field.endswith(text),
    Shape.CONTAINS: lambda field, text: text in field,
}
