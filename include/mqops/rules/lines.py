"""From text to entries: comments, blank lines and continuation. Knows nothing of keywords.

1. A line whose first column is `*` is a comment, between continued lines too. A line of blanks is ignored likewise.
2. `+` as the last character that is not blank: the entry goes on at the first character of the next line that is not
   blank. `-` there: it goes on at column 1 of the next line. Both split keywords and values; nothing is put between.
3. Any other line end finishes the entry.

4. A table whose first line that is not blank is the comment `* MQOPS EXTENSIONS` has extensions.

Every character of an entry remembers its line and column, so that an error points at what was typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mqops.rules.problem import Problem

HEADER = "* MQOPS EXTENSIONS"
_MARKED = "the table begins with a byte order mark (U+FEFF), unseen here: save it as UTF-8 without one"
_BYTE_ORDER_MARK = "\ufeff"
_UTF_16 = (
    "the table is in UTF-16, as PowerShell's `>` and some editors write it: save it as UTF-8 without a byte order mark"
)
_UTF_16_MARKS = ("\udcff\udcfe", "\udcfe\udcff")
"""The byte order marks of UTF-16, as bytes that are not UTF-8 are decoded here."""
_OTHER_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_EBCDIC = "the table is not in UTF-8, and looks like EBCDIC: save it as UTF-8, such as by `iconv -f IBM-1047 -t UTF-8`"
_OTHER_ENDS = re.compile("[\r\u0085\u2028\u2029]")
"""What ends a line in some editors and on other machines, and not for IBM's handler."""
_END_NAMES = {
    "\r": "a carriage return without a line feed",
    "\u0085": "a next line, the line end of z/OS",
    "\u2028": "a line separator",
    "\u2029": "a paragraph separator",
}
_HEADER = re.compile(r"\* *MQOPS +EXTENSIONS *", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryText:
    """One entry joined to a single text; `places[i]` is the (line, column) of its i-th character."""

    text: str
    places: tuple[tuple[int, int], ...]

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of a character; one past the last character for an index at or after the end."""
        if index < len(self.places):
            return self.places[index]
        line, column = self.places[-1]
        return line, column + 1


class Source:
    """The lines of a table's text, and how to point into them."""

    def __init__(self, text: str) -> None:
        self._marked = text.startswith(_BYTE_ORDER_MARK)
        self._other_code = _other_code(text)
        lines = text.removeprefix(_BYTE_ORDER_MARK).split("\n")
        self.lines = ("",) if self._other_code else tuple(line.removesuffix("\r") for line in lines)

    @property
    def is_unread(self) -> bool:
        """Whether no rule is looked for: the text is in another code, or it has line ends of other kinds."""
        return bool(self._other_code or self._other_ends())

    def header(self) -> int:
        """The number of the line that allows extensions (rule 4), 0 if there is no such line."""
        for number, line in enumerate(self.lines, start=1):
            if line.strip(" "):
                return number if _HEADER.fullmatch(line) else 0
        return 0

    def problem(self, place: tuple[int, int], message: str, number: int = 0) -> Problem:
        """A problem at (line, column)."""
        line, column = place
        return Problem(line=line, column=column, message=message, text=self.lines[line - 1], number=number)

    def entries(self) -> tuple[list[EntryText], list[Problem]]:
        """The entries in order, and errors of the text: another code, a byte order mark, line ends and blanks
        of other kinds, a continuation without a next line."""
        entries: list[EntryText] = []
        if self._other_code:
            return [], [self.problem((1, 1), self._other_code)]
        problems = [self.problem((1, 1), _MARKED)] if self._marked else []
        if ends := self._other_ends():  # where a rule begins is not known: nothing else is looked at
            return [], [*problems, *ends]
        problems += self._other_blanks()
        text = ""
        places: list[tuple[int, int]] = []
        mark = ""
        dangling = (1, 1)
        for number, as_written in enumerate(self.lines, start=1):
            line = as_written if as_written.startswith("*") else _OTHER_BLANKS.sub(" ", as_written)
            significant = line.rstrip(" ")
            if not significant or line.startswith("*"):
                continue
            begin = 0 if mark == "-" else len(line) - len(line.lstrip(" "))
            mark = significant[-1] if significant[-1] in "+-" else ""
            end = len(significant) - len(mark)
            text += line[begin:end]
            places += [(number, column + 1) for column in range(begin, end)]
            dangling = (number, end + 1)
            if not mark and text:
                entries.append(EntryText(text=text, places=tuple(places)))
                text, places = "", []
        if text:
            entries.append(EntryText(text=text, places=tuple(places)))
        if mark:
            problems.append(
                self.problem(dangling, f"nothing follows this {mark!r}: remove it, or add the line it promises")
            )
        return entries, problems

    def _other_ends(self) -> list[Problem]:
        """One error for all line ends of other kinds, in comments as well: a rule behind one would be a part of the
        comment, unseen."""
        return self._first_of(
            [(number, one) for number, line in enumerate(self.lines, start=1) for one in _OTHER_ENDS.finditer(line)],
            lambda first: (
                f"{_END_NAMES[first]} (U+{ord(first):04X}) is no line end here, so that what is behind it belongs to "
                "this line: put a line feed in its place, or remove it"
            ),
        )

    def _other_blanks(self) -> list[Problem]:
        """One error for all characters that look like blanks; the entries are read as if they were."""
        found = [
            (number, one)
            for number, line in enumerate(self.lines, start=1)
            if not line.startswith("*")
            for one in _OTHER_BLANKS.finditer(line)
        ]

        def message(first: str) -> str:
            kind = "a no-break space" if first in "\u00a0\u202f" else "a space of another kind"
            return f"{kind} (U+{ord(first):04X}), unseen here: write a blank instead"

        return self._first_of(found, message)

    def _first_of(self, found: Sequence[tuple[int, re.Match[str]]], message: Callable[[str], str]) -> list[Problem]:
        """One error at the first character found, which says how many more there are; none where there is none.

        Parameters: `found` line and match of each; `message` what to say of the first.
        """
        if not found:
            return []
        line, first = found[0]
        more = f"; {len(found) - 1:,} more like it follow" if found[1:] else ""
        return [self.problem((line, first.start() + 1), f"{message(first[0])}{more}")]


def _other_code(text: str) -> str:
    """What to say of a text in a code in which nothing can be read; "" for one that can be: each table has an ACTION,
    and comments may be in any code."""
    if text.startswith(_UTF_16_MARKS) or 3 * text.count("\0") > len(text):
        return _UTF_16
    strange = sum("\udc80" <= character <= "\udcff" for character in text)
    return _EBCDIC if 3 * strange > len(text) and "ACTION" not in text.upper() else ""


def rule_texts(table_text: str) -> dict[int, str]:
    """The line on which a rule begins → the rule as it was written, on one line."""
    entries, _problems = Source(table_text).entries()
    return {entry.places[0][0]: entry.text for entry in entries}
