"""From an entry to keyword/value pairs: `KEYWORD ( value )`, separated by blanks or one comma.

One method a grammar rule. After an error the parser goes on at the next place a pair can begin, so that the errors
behind it are found as well (D09). It knows which words are keywords only to guess where a missing bracket belongs.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from mqops.rules.keyword import CONDITIONS, ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.lines import EntryText, Source
from mqops.rules.problem import Problem
from mqops.rules.values import folded

_WORD = re.compile(r"[A-Za-z0-9_]+")
_PAIR_AHEAD = re.compile(r"([A-Za-z]+) *\(")
_RESUME = re.compile(r"\)(?= *(?:$|[, ]))|(?<=[ ,)])([A-Za-z]+) *\(")
_BARE_SPECIALS = "./_%*?"


_A_WORD = "remove it, write KEYWORD(value), or make the line a comment by an asterisk in column 1"
_COMPARISON = re.compile(r"[<>=!~]+")
_OPERAND = re.compile(r"[^ )'<>=!~]+")


class Token(NamedTuple):
    """A piece of a condition: `kind` is quoted, comparison or word (upper case); `place` is (line, column)."""

    kind: str
    text: str
    place: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value as meant: quotes removed and `''` made one quote, or `folded` where it was not `quoted`.

    A condition's is its `tokens`.
    """

    text: str
    place: tuple[int, int]
    quoted: bool = False
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A keyword (upper case) and its value; None where the value could not be read, which is already reported."""

    keyword: str
    place: tuple[int, int]
    value: Value | None


class _Lost(Exception):
    """A quote without its end was reported; the parser stands where the next pair may begin."""


class EntryParser:
    """Reads one entry; `pairs()` once, then `problems`."""

    def __init__(self, entry: EntryText, source: Source) -> None:
        self.problems: list[Problem] = []
        self._entry = entry
        self._text = entry.text
        self._source = source
        self._at = 0
        self._separated = True

    def pairs(self) -> list[Pair]:
        """Every pair of the entry, in order."""
        found: list[Pair] = []
        if self._text.startswith("*"):
            self._error(0, "a comment begins in column 1: move the asterisk there")
            return found
        while self._more():
            self._separator(first=not found)
            if not self._more():
                break
            pair = self._pair()
            if pair is not None:
                found.append(pair)
        return found

    def _more(self) -> bool:
        return self._at < len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _error(self, index: int, message: str) -> None:
        self.problems.append(self._source.problem(self._entry.place(index), message))

    def _error_before_next(self, index: int, message: str) -> None:
        """An error that may have swallowed a separator: no other error says that one is missing."""
        self._error(index, message)
        self._separated = True

    def _blanks(self) -> None:
        while self._peek() == " ":
            self._at += 1

    def _known_pair_ahead(self) -> bool:
        ahead = _PAIR_AHEAD.match(self._text, self._at)
        return ahead is not None and ahead.group(1).upper() in KEYWORDS

    def _separator(self, *, first: bool) -> None:
        """separator := blank+ | blank* ',' blank*"""
        start = self._at
        self._blanks()
        commas = 0
        while self._peek() == ",":
            comma = self._at
            self._at += 1
            commas += 1
            self._blanks()
            if first or commas > 1 or not self._more():
                self._error(comma, "stray comma: remove it (one comma may stand between two keywords)")
        if not (first or self._separated) and start == self._at and _WORD.match(self._text, start):
            self._error(start, "nothing separates this from what is before it: add a blank or a comma")
        self._separated = False

    def _pair(self) -> Pair | None:
        """pair := word blank* '(' blank* value blank* ')'"""
        start = self._at
        word = _WORD.match(self._text, start)
        if word is None:
            self._junk()
            return None
        self._at = word.end()
        keyword = word.group().upper()
        self._blanks()
        if self._peek() != "(":
            self._at = word.end()
            if keyword not in KEYWORDS:
                self._error_before_next(
                    start, f"{word.group()!r} is neither a keyword nor in brackets after one: {_A_WORD}"
                )
                return None
            self._error_before_next(start, f"{keyword} has no value: write {keyword}(value)")
            return Pair(keyword=keyword, place=self._entry.place(start), value=None)
        self._at += 1
        self._blanks()
        value = None
        with suppress(_Lost):
            value = self._value(keyword)
        return Pair(keyword=keyword, place=self._entry.place(start), value=value)

    def _junk(self) -> None:
        self._error_before_next(
            self._at, f"{_shown(self._peek())} where a keyword should begin: {_remedy(self._peek())}"
        )
        while self._more() and self._peek() not in " ,'" and not _WORD.match(self._text, self._at):
            self._at += 1
        if self._peek() == "'":
            with suppress(_Lost):
                self._quoted("this")

    def _value(self, keyword: str) -> Value | None:
        """value := quoted | bare, and the bracket that ends it. Raises _Lost."""
        start = self._at
        if self._peek() == ")" or not self._more():
            self._at += 1
            self._error(start, f"{keyword} has an empty value: write at least one character, a blank as ' '")
            return None
        if self._known_pair_ahead():
            self._error_before_next(
                start, f"{keyword} has no value, and the bracket behind it is missing: write {keyword}(value)"
            )
            return None
        if keyword in KEYWORDS and KEYWORDS[keyword].kind in CONDITIONS:
            return self._condition(keyword)
        value = self._quoted(keyword) if self._peek() == "'" else self._bare(keyword)
        return value if self._close(keyword) else None

    def _condition(self, keyword: str) -> Value | None:
        """condition := (quoted | comparison | word)+, with or without blanks between, and the bracket that ends it"""
        start, tokens, whole = self._at, [], True
        while self._more() and self._peek() != ")" and not self._known_pair_ahead():
            token = self._token(keyword)
            whole = whole and token is not None
            tokens += [token] if token else []
            end = self._at
            self._blanks()
        self._at = end if tokens else self._at
        place = self._entry.place(start)
        return Value(text="", place=place, tokens=tuple(tokens)) if self._close(keyword) and whole else None

    def _token(self, keyword: str) -> Token | None:
        start = self._at
        if self._peek() == "'":
            quoted = self._quoted(keyword)
            return Token("quoted", quoted.text, quoted.place) if quoted else None
        found = _COMPARISON.match(self._text, start) or _OPERAND.match(self._text, start)
        assert found is not None
        self._at = found.end()
        word = self._checked(start, folded(found.group()))
        return Token("comparison" if found.re is _COMPARISON else "word", word.text, word.place) if word else None

    def _quoted(self, keyword: str) -> Value | None:
        """quoted := "'" (any character but "'" | "''")+ "'"; raises _Lost if the last quote is missing."""
        start = self._at
        content = ""
        self._at += 1
        while self._more():
            if self._text.startswith("''", self._at):
                content += "'"
                self._at += 2
            elif self._peek() == "'":
                self._at += 1
                if content:
                    return self._checked(start, content, quoted=True)
                self._error(
                    start, f"{keyword} has an empty value: write at least one character in the quotes, a blank as ' '"
                )
                return None
            else:
                content += self._peek()
                self._at += 1
        self._error_before_next(
            start, "this quote is not closed: add a ' at the end of the value (one inside a value is '')"
        )
        self._at = self._end_or_next_pair(start)
        if self._peek() == ")":
            self._at += 1
        raise _Lost

    def _end_or_next_pair(self, start: int) -> int:
        """Where a value that began at `start` and has no end may end: at a bracket, or before the next pair."""
        for found in _RESUME.finditer(self._text, start):
            if found[1] is None or found[1].upper() in KEYWORDS:
                return found.start()
        return len(self._text)

    def _bare(self, keyword: str) -> Value | None:
        """bare := (letter | digit | one of . / _ % * ?)+, folded to upper case; what else a name or a number may not
        hold is said where it is typed"""
        start = self._at
        while self._more() and self._peek() not in " )":
            self._at += 1
        content = self._text[start : self._at]
        if keyword in KEYWORDS and KEYWORDS[keyword].kind is ValueKind.WILD:
            for offset, character in enumerate(content):
                if not (character.isascii() and character.isalnum()) and character not in _BARE_SPECIALS:
                    remedy = "put the value in single quotes" if character.isprintable() else _remedy(character)
                    self._error(start + offset, f"{_shown(character)} in the value of {keyword}: {remedy}")
                    return None
        return self._checked(start, folded(content))

    def _checked(self, start: int, content: str, *, quoted: bool = False) -> Value | None:
        bad = next((c for c in content if not c.isprintable()), None)
        if bad is None:
            return Value(text=content, place=self._entry.place(start), quoted=quoted)
        self._error(start, f"{_shown(bad)} cannot stand in a value: {_remedy(bad)}")
        return None

    def _close(self, keyword: str) -> bool:
        """The bracket after a value. If it is missing, go on where the next pair may begin."""
        end = self._at
        self._blanks()
        if self._peek() == ")":
            self._at += 1
            return True
        if not self._more() or self._known_pair_ahead():
            self._error_before_next(end, f"the bracket after the value of {keyword} is missing: add a )")
            return False
        self._error_before_next(
            self._at, f"unexpected text after the value of {keyword}: put a value with blanks in single quotes"
        )
        close = self._text.find(")", self._at)
        self._at = close + 1 if close >= 0 else len(self._text)
        return False


def _shown(character: str) -> str:
    """A character for a message; control characters and undecodable bytes by name."""
    if character == "\t":
        return "a tab (it is not a blank here)"
    if "\udc80" <= character <= "\udcff":
        return f"the byte X'{ord(character) - 0xDC00:02X}' (the table is not UTF-8)"
    if character == "\x1a":
        return "the character U+001A (Ctrl-Z, an end of file that is no longer needed)"
    return repr(character) if character.isprintable() else f"the character U+{ord(character):04X}"


def _remedy(character: str) -> str:
    """What to do with a character that cannot stand where it does."""
    if character == "\t":
        return "use blanks"
    return "save the table as UTF-8" if "\udc80" <= character <= "\udcff" else "remove it"
