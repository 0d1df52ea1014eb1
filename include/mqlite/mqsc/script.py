"""Lines of an MQSC script put together into commands. Knows continuation and comments, no grammar.

1. A line that begins with `*` is a comment; it and a blank line count for nothing, also inside a command. Where a
   command begins, blanks before the `*` do not matter; inside of one they make it a part of the command.
2. `+` as the last non-blank: go on with the first non-blank of the next line. `-`: with its first column.
3. `;` outside quotes ends a command; so does a line that is not continued.
4. A byte order mark before the first line is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command. lines: as read, for the echo. text: joined, None where the lines are only comments or blank."""

    lines: tuple[str, ...]
    text: str | None


def commands(lines: Iterable[str]) -> Iterator[Command]:
    """Every command of a script in turn, comments among them, so that an echo is complete."""
    read: list[str] = []
    text = ""
    pending = False
    trim = True
    for number, raw in enumerate(lines):
        line = raw.rstrip("\r\n") if number else raw.rstrip("\r\n").removeprefix("\ufeff")
        read.append(line)
        if not line.strip() or (line if pending else line.lstrip()).startswith("*"):
            if not pending:
                yield Command(lines=tuple(read), text=None)
                read = []
            continue
        part = line.lstrip() if trim else line
        stripped = part.rstrip()
        if stripped[-1] in "+-":
            trim = stripped[-1] == "+"
            text += stripped[:-1]
            pending = True
            continue
        yield from _split(text + part, tuple(read))
        read, text, pending, trim = [], "", False, True
    if pending:
        yield from _split(text, tuple(read))


def _split(text: str, lines: tuple[str, ...]) -> Iterator[Command]:
    """The commands of one joined text: `;` outside quotes separates them."""
    quote = ""
    start = 0
    parts: list[str] = []
    for position, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == ";":
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    filled = [part.strip() for part in parts if part.strip()]
    for number, part in enumerate(filled):
        yield Command(lines=lines if number == 0 else (part,), text=part)
    if not filled:
        yield Command(lines=lines, text=None)
