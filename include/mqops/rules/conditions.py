"""The conditions of extended rules: what they ask of a message, and what an answer must be.

1. Numbers: `AGE(>15m)`, `SIZE(>=64K)`, `PRIORITY(<=3)` and the like: one of > >= < <= = and a number. An age has a
   unit, s m h or d; a size may have one, K or M (1024 and 1024 * 1024 bytes).
2. Texts: `PROP('folder.name' = 'pattern')`, `BODY('pattern')`, `BODY(JSON '$.order.lines[0].sku' = 'pattern')`,
   `BODY(XPATH '/order/line[1]/@sku' = 'pattern')`. They stand in single quotes. The pattern is held against the text
   without its trailing blanks, however long that is; no blanks are added.
3. What a message does not have (no such property, no text, no such element, no valid date) matches nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from mqops.mqsc import quoted
from mqops.rules.documents import JSON_PATH, XPATH
from mqops.rules.keyword import COMPARED_NUMBERS, Keyword, ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.pattern import text_match
from mqops.rules.syntax import Token
from mqops.rules.values import SECONDS, BadValue, in_range, one_of, property_name

Answer: TypeAlias = str | int | None
"""The value of a message that a condition is compared with; None if the message has none."""

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}
_NUMBER = re.compile(r"([0-9]+)([A-Z]*)")


class _Units(NamedTuple):
    """Unit (empty for none) → what it is multiplied by, and what error messages say to write."""

    factors: Mapping[str, int]
    write: str


_UNITS: Mapping[ValueKind, _Units] = {
    ValueKind.COMPARED: _Units({"": 1}, "write a number"),
    ValueKind.AGE: _Units(
        SECONDS,
        "write a number and its unit, s, m, h or d",
    ),
    ValueKind.SIZE: _Units({"": 1, "K": 1024, "M": 1024 * 1024}, "write a number of bytes, or of K or M"),
}
_PATHS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "JSON": (JSON_PATH, "$, then .name or [number], such as $.order.lines[0].sku"),
    "XPATH": (XPATH, "/name or /name[number], at the end perhaps /@name, such as /order/line[1]/@sku"),
}


class Question(NamedTuple):
    """What a condition asks of a message: a number (an age in seconds, a size in bytes); a property, whose name is the
    `subject`; or the body, perhaps with a `language` (JSON, XPATH) and a path as `subject`."""

    keyword: str
    language: str = ""
    subject: str = ""

    @property
    def kind(self) -> ValueKind:
        """The kind of the keyword."""
        return KEYWORDS[self.keyword].kind

    @property
    def changes(self) -> bool:
        """Whether the answer of a message may change while it stays on its queue."""
        return KEYWORDS[self.keyword].changes

    @property
    def key(self) -> str:
        """Its name among the fields of a message: `BODY JSON $.order.id`."""
        return " ".join(part for part in self if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition: `value` is a number, or a pattern without trailing blanks, whose `comparison` is `=`."""

    question: Question
    comparison: str
    value: str | int

    def holds(self, answer: Answer) -> bool:
        """Whether a message's answer is what the condition wants (rule 3)."""
        if isinstance(self.value, str):
            return isinstance(answer, str) and text_match(self.value, answer)
        return isinstance(answer, int) and COMPARISONS[self.comparison](answer, self.value)

    def __str__(self) -> str:
        """What stands in the brackets, numbers in seconds and bytes."""
        _keyword, language, subject = self.question
        if not isinstance(self.value, str):
            return f"{self.comparison}{self.value}{'s' if self.question.kind is ValueKind.AGE else ''}"
        pattern = quoted(self.value or " ")
        return " ".join(filter(None, [language, f"{quoted(subject)} = {pattern}"])) if subject else pattern


def condition_of(keyword: Keyword, tokens: Sequence[Token]) -> Condition:
    """The condition that the tokens between a keyword's brackets say. Raises BadValue, whose place is a token's."""
    for token in tokens:
        if token.kind == "comparison" and token.text not in COMPARISONS:
            raise BadValue(f"{token.text} is not a comparison: use one of {' '.join(COMPARISONS)}", token.place)
    if keyword.kind in COMPARED_NUMBERS:
        _check_shape(keyword, tokens, ["comparison", "word"])
        return Condition(question=Question(keyword.name), comparison=tokens[0].text, value=_scaled(keyword, tokens[1]))
    return _text_condition(keyword, tokens)


def _scaled(keyword: Keyword, token: Token) -> int:
    """A number in the unit the question is answered in."""
    found = _NUMBER.fullmatch(token.text)
    units = _UNITS[keyword.kind]
    if found is None or found[2] not in units.factors:
        raise BadValue(f"{token.text!r} is no {keyword.noun}: {units.write}, such as {_examples(keyword)}", token.place)
    try:
        return in_range(keyword, found[1]) * units.factors[found[2]]
    except BadValue as bad:
        raise BadValue(str(bad), token.place) from bad


def _text_condition(keyword: Keyword, tokens: Sequence[Token]) -> Condition:
    if keyword.kind is ValueKind.BODY and [token.kind for token in tokens] == ["quoted"]:
        return _text(Question(keyword.name), tokens[0])
    wanted = ["quoted", "comparison", "quoted"]
    if keyword.kind is ValueKind.BODY:
        wanted = ["word", *wanted]
    _check_shape(keyword, tokens, wanted)
    *language, subject, comparison, pattern = tokens
    if comparison.text != "=":
        raise BadValue(f"{keyword.name} compares texts, not by {comparison.text}: write =", comparison.place)
    try:
        if not language:
            return _text(Question(keyword.name, "", property_name(subject.text)), pattern)
    except BadValue as bad:
        raise BadValue(str(bad), subject.place) from bad
    return _text(Question(keyword.name, *_path(keyword, language[0], subject)), pattern)


def _path(keyword: Keyword, language: Token, path: Token) -> tuple[str, str]:
    if language.text not in _PATHS:
        raise BadValue(f"{keyword.name} does not know {language.text}: write JSON or XPATH", language.place)
    grammar, example = _PATHS[language.text]
    if not grammar.fullmatch(path.text):
        raise BadValue(f"{path.text!r} is no {language.text} path that is known here: write {example}", path.place)
    return language.text, path.text


def _text(question: Question, pattern: Token) -> Condition:
    return Condition(question=question, comparison="=", value=pattern.text.rstrip(" "))


def _check_shape(keyword: Keyword, tokens: Sequence[Token], wanted: Sequence[str]) -> None:
    """Raises BadValue at the first token that is not of the kind wanted in its place."""
    for number, token in enumerate(tokens):
        if number >= len(wanted) or token.kind != wanted[number]:
            raise BadValue(f"this is not a condition of {keyword.name}: write {_examples(keyword)}", token.place)
    if len(tokens) < len(wanted):
        raise BadValue(f"this is not a condition of {keyword.name}: write {_examples(keyword)}")


def _examples(keyword: Keyword) -> str:
    return one_of(keyword.examples)
