"""Proofs about two rules: that one matches whatever the other does, that a message may match both, or neither does.

Conditions are compared question by question: numbers by their ranges, texts by `mqops.rules.pattern_proofs`.
A pair of rules is a step of `Proofs`, and so is each question of extensions: what costs no proof is bounded, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import inf
from typing import NamedTuple

from mqops.rules.conditions import Condition, Question
from mqops.rules.keywords import PATTERN_KEYWORDS, Kind
from mqops.rules.model import Rule
from mqops.rules.pattern_proofs import Proofs

_ALWAYS: Mapping[str, tuple[float, float]] = {"SIZE": (0, inf), "BACKOUT": (0, inf), "PRIORITY": (0, 9)}
"""What every message answers, between which numbers; an AGE not every message has."""


class _Range(NamedTuple):
    """Whole numbers from `low` to `high`, both included."""

    low: float
    high: float

    def both(self, other: _Range) -> _Range:
        return _Range(max(self.low, other.low), min(self.high, other.high))

    @property
    def empty(self) -> bool:
        return self.low > self.high


def covers(first: Rule, second: Rule, proofs: Proofs) -> bool:
    """Whether it is proved that `first` matches every message `second` matches. Raises TooMuch."""
    proofs.step()
    return _patterns_cover(first, second, proofs) and all(
        _answers_covered(question, first, second, proofs) for question in _questions(first)
    )


def _patterns_cover(first: Rule, second: Rule, proofs: Proofs) -> bool:
    narrower = second.conditions()
    for name, value in first.conditions().items():
        keyword = PATTERN_KEYWORDS[name]
        if keyword.kind is Kind.NUMBER:
            if narrower.get(name) != value:
                return False
        elif not proofs.covers(str(value), str(narrower.get(name, "*")), keyword.length):
            return False
    return True


def _answers_covered(question: Question, first: Rule, second: Rule, proofs: Proofs) -> bool:
    """Whether each answer that the second rule takes is one that the first takes."""
    proofs.step()
    asked = _on(question, second)
    if _is_number(question):
        wider, narrower = _range(question, first), _range(question, second)
        known = bool(asked) or question.keyword in _ALWAYS
        return known and wider.low <= narrower.low and narrower.high <= wider.high
    return all(
        any(proofs.covers(str(wide.value), str(narrow.value), None) for narrow in asked)
        for wide in _on(question, first)
    )


def overlap(first: Rule, second: Rule, proofs: Proofs) -> bool:
    """Whether a message may match both rules; if not, that is proved. Raises TooMuch."""
    proofs.step()
    one, two = first.conditions(), second.conditions()
    for name in one.keys() & two.keys():
        keyword = PATTERN_KEYWORDS[name]
        if keyword.kind is Kind.NUMBER:
            if one[name] != two[name]:
                return False
        elif not proofs.meet(str(one[name]), str(two[name]), keyword.length):
            return False
    return not any(
        _excluded(question, _on(question, first) + _on(question, second), proofs)
        for question in dict.fromkeys(_questions(first) + _questions(second))
    )


def contradictions(rule: Rule, proofs: Proofs) -> list[list[Condition]]:
    """The conditions of a rule on one question that no answer meets together. Raises TooMuch."""
    asked = [_on(question, rule) for question in dict.fromkeys(_questions(rule))]
    return [some for some in asked if _excluded(some[0].question, some, proofs)]


def _excluded(question: Question, asked: list[Condition], proofs: Proofs) -> bool:
    """Whether it is proved that no answer meets all conditions; of texts two at a time are looked at."""
    proofs.step()
    if _is_number(question):
        return _met(question, asked).empty
    return not all(proofs.meet(str(one.value), str(two.value), None) for one, two in combinations(asked, 2))


def _questions(rule: Rule) -> list[Question]:
    return [condition.question for condition in rule.extensions]


def _on(question: Question, rule: Rule) -> list[Condition]:
    return [condition for condition in rule.extensions if condition.question == question]


def _is_number(question: Question) -> bool:
    return question.keyword not in ("PROP", "BODY")


def _range(question: Question, rule: Rule) -> _Range:
    return _met(question, _on(question, rule))


def _met(question: Question, asked: list[Condition]) -> _Range:
    """The answers that meet all conditions on a number."""
    met = _Range(*_ALWAYS.get(question.keyword, (-inf, inf)))
    for condition in asked:
        bound = int(condition.value)
        ranges = {">": (bound + 1, inf), ">=": (bound, inf), "<": (-inf, bound - 1), "<=": (-inf, bound)}
        met = met.both(_Range(*ranges.get(condition.comparison, (bound, bound))))
    return met
