"""The conditions of extended rules: what they ask of a message, and what an answer must be.

1. Numbers: `AGE(>15m)`, `SIZE(>=64K)`, `BACKOUT(>3)`, `PRIORITY(<=3)`: one of > >= < <= = and a number. AGE has a unit,
   s m h or d; SIZE may have one, K or M (1024 and 1024 * 1024 bytes).
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

from mqops.rules.documents import JSON_PATH, XPATH
from mqops.rules.keywords import Keyword
from mqops.rules.pattern import text_match
from mqops.rules.syntax import Token
from mqops.rules.values import BadValue, in_range, property_name

Answer: TypeAlias = str | int | None
"""What a message answers to a question; None where it has no such thing."""

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}
_UNITS: Mapping[str, Mapping[str, int]] = {
    "AGE": {"S": 1, "M": 60, "H": 3600, "D": 86400},
    "SIZE": {"": 1, "K": 1024, "M": 1024 * 1024},
}
_NUMBER = re.compile(r"([0-9]+)([A-Z]*)")
_NUMBERS = {
    "AGE": "is no age: write a number and its unit, s, m, h or d",
    "SIZE": "is no size: write a number of bytes, or of K or M",
    "BACKOUT": "is no backout count: write a number",
    "PRIORITY": "is no priority: write a number",
}
_EXAMPLES = {
    "AGE": "AGE(>15m)",
    "SIZE": "SIZE(>=64K)",
    "BACKOUT": "BACKOUT(>3)",
    "PRIORITY": "PRIORITY(<=3)",
    "PROP": "PROP('usr.country' = 'DE')",
    "BODY": "BODY('*text*'), BODY(JSON '$.order.id' = '7') or BODY(XPATH '/order/@id' = '7')",
}
_PATHS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "JSON": (JSON_PATH, "$, then .name or [number], such as $.order.lines[0].sku"),
    "XPATH": (XPATH, "/name or /name[number], at the end perhaps /@name, such as /order/line[1]/@sku"),
}


class Question(NamedTuple):
    """What is asked: AGE (seconds), SIZE (bytes), BACKOUT, PRIORITY; PROP with the property's name as `subject`; BODY,
    perhaps with a `language` (JSON, XPATH) and a path as `subject`."""

    keyword: str
    language: str = ""
    subject: str = ""

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
        keyword, language, subject = self.question
        if not isinstance(self.value, str):
            return f"{self.comparison}{self.value}{'s' if keyword == 'AGE' else ''}"
        pattern = _in_quotes(self.value or " ")
        return " ".join(filter(None, [language, f"{_in_quotes(subject)} = {pattern}"])) if subject else pattern


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def condition_of(keyword: Keyword, tokens: Sequence[Token]) -> Condition:
    """The condition that the tokens between a keyword's brackets say. Raises BadValue, whose place is a token's."""
    for token in tokens:
        if token.kind == "comparison" and token.text not in COMPARISONS:
            raise BadValue(f"{token.text} is no comparison: use one of {' '.join(COMPARISONS)}", token.place)
    if keyword.name in ("PROP", "BODY"):
        return _text_condition(keyword, tokens)
    _check_shape(keyword, tokens, ["comparison", "word"])
    return Condition(question=Question(keyword.name), comparison=tokens[0].text, value=_scaled(keyword, tokens[1]))


def _scaled(keyword: Keyword, token: Token) -> int:
    """A number in the unit the question is answered in."""
    found = _NUMBER.fullmatch(token.text)
    units = _UNITS.get(keyword.name, {"": 1})
    if found is None or found[2] not in units:
        raise BadValue(f"{token.text!r} {_NUMBERS[keyword.name]}, such as {_EXAMPLES[keyword.name]}", token.place)
    try:
        return in_range(keyword, found[1]) * units[found[2]]
    except BadValue as bad:
        raise BadValue(str(bad), token.place) from bad


def _text_condition(keyword: Keyword, tokens: Sequence[Token]) -> Condition:
    if keyword.name == "BODY" and [token.kind for token in tokens] == ["quoted"]:
        return _text(Question("BODY"), tokens[0])
    wanted = (
        ["quoted", "comparison", "quoted"] if keyword.name == "PROP" else ["word", "quoted", "comparison", "quoted"]
    )
    _check_shape(keyword, tokens, wanted)
    *language, subject, comparison, pattern = tokens
    if comparison.text != "=":
        raise BadValue(f"{keyword.name} compares texts, not by {comparison.text}: write =", comparison.place)
    try:
        if not language:
            return _text(Question("PROP", "", property_name(subject.text)), pattern)
    except BadValue as bad:
        raise BadValue(str(bad), subject.place) from bad
    return _text(Question("BODY", *_path(language[0], subject)), pattern)


def _path(language: Token, path: Token) -> tuple[str, str]:
    if language.text not in _PATHS:
        raise BadValue(f"BODY does not know {language.text}: write JSON or XPATH", language.place)
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
            raise BadValue(f"this is no condition of {keyword.name}: write {_EXAMPLES[keyword.name]}", token.place)
    if len(tokens) < len(wanted):
        raise BadValue(f"this is no condition of {keyword.name}: write {_EXAMPLES[keyword.name]}")
