"""A number and its noun as people read them: `1 message`, `2 messages`. No text for people writes them another way."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "", *, spec: str = ",") -> str:
    """The number with the form of the noun that belongs to it.

    Parameters: `one` the words behind the number 1; `many` those behind every other number, `one` with an s unless
    given; `spec` of the number, as in an f-string: separators of thousands unless given.
    """
    return f"{number:{spec}} {one if number == 1 else many or f'{one}s'}"
