"""A string pattern: how it matches a field, and what it is made of.

The law (`ibm_mq_facts` 2.3), for a field v padded with blanks to its width:

1. `?` takes one character, an embedded blank too, but nothing where all that is left of v is blank.
2. `*` takes zero or more characters, whatever they are.
3. Any other character takes itself: no folding, and a NUL is not a blank.
4. Where the pattern ends, all that is left of v must be blank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum


def wild_match(pattern: str, value: str, width: int) -> bool:
    """Whether a pattern matches a field.

    Parameters: `pattern` without trailing blanks; `value` the field, padded or not; `width` of the field (characters).
    On a mismatch the last asterisk takes one character more; earlier ones need not be looked at again.
    """
    end = len(value.rstrip(" "))
    field = value.ljust(width)
    at = here = 0
    star, resume = -1, 0
    while here < len(field):
        if at == len(pattern) and here >= end:
            return True
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, here
            at += 1
        elif at < len(pattern) and (here < end if pattern[at] == "?" else pattern[at] == field[here]):
            at += 1
            here += 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return pattern[at:].strip("*") == ""


def text_match(pattern: str, text: str) -> bool:
    """Whether a pattern matches a text of any length, without its trailing blanks and without padding."""
    field = text.rstrip(" ")
    shaped = shape_of(pattern)
    quick = _QUICK.get(shaped.shape)
    return quick(field, shaped.text) if quick else wild_match(pattern, field, 0)


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
