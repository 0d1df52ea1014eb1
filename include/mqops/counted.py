"""A number and its noun or unit as people read them: `1 message`, `2 messages`, `1 d 2 h`. No text for people writes
them another way."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, one: str, many: str = "", *, spec: str = ",") -> str:
    """The number with the form of the noun that belongs to it.

    Parameters: `one` the words behind the number 1; `many` those behind every other number, `one` with an s unless
    given; `spec` of the number, as in an f-string: separators of thousands unless given.
    """
    return f"{number:{spec}} {one if number == 1 else many or f'{one}s'}"


def first_named(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are: `A, B and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def length_of_time(seconds: float) -> str:
    """A length of time: the two largest units of it."""
    left = int(seconds)
    if left < 0:
        return f"-{length_of_time(-left)}"
    for unit, many, smaller, few in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if left >= many:
            rest = left % many // few
            return f"{left // many} {unit} {rest} {smaller}" if rest else f"{left // many} {unit}"
    return f"{left} s"


def time_to_go(number: int, per_second: float) -> str:
    """How long the rest of something takes: `21 s to go`; "" where that cannot be told.

    Parameters: `number` that is left; `per_second` that are done.
    """
    return f"{length_of_time(number / per_second)} to go" if number > 0 and per_second > 0 else ""
