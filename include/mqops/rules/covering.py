"""Proofs about two rules: that one matches every message of the other, and whether a message may match both.

Conditions are compared question by question: numbers by their ranges, texts by `mqops.rules.pattern_proofs`.
Each pair of rules and each question counts as a step of `Proofs`, so that the work is bounded.
"""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import NamedTuple

from mqops.rules.conditions import Condition, Question
from mqops.rules.keyword import COMPARED_NUMBERS, ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.model import Rule
from mqops.rules.pattern_proofs import Proofs


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
        keyword = KEYWORDS[name]
        if keyword.kind is ValueKind.NUMBER:
            if narrower.get(name) != value:
                return False
        elif not proofs.covers(str(value), str(narrower.get(name, "*")), keyword.length):
            return False
    return True


def _answers_covered(question: Question, first: Rule, second: Rule, proofs: Proofs) -> bool:
    """Whether the first rule accepts every answer that the second accepts."""
    proofs.step()
    asked = _on(question, second)
    if _is_number(question):
        wider, narrower = _range(question, first), _range(question, second)
        known = bool(asked) or KEYWORDS[question.keyword].every is not None
        return known and wider.low <= narrower.low and narrower.high <= wider.high
    return all(
        any(proofs.covers(str(wide.value), str(narrow.value), None) for narrow in asked)
        for wide in _on(question, first)
    )


def overlap(first: Rule, second: Rule, proofs: Proofs) -> bool:
    """Whether a message may match both rules; False is proved. Raises TooMuch."""
    proofs.step()
    one, two = first.conditions(), second.conditions()
    for name in one.keys() & two.keys():
        keyword = KEYWORDS[name]
        if keyword.kind is ValueKind.NUMBER:
            if one[name] != two[name]:
                return False
        elif not proofs.meet(str(one[name]), str(two[name]), keyword.length):
            return False
    return not any(
        _excluded(question, _on(question, first) + _on(question, second), proofs)
        for question in dict.fromkeys(_questions(first) + _questions(second))
    )


def contradictions(rule: Rule, proofs: Proofs) -> list[list[Condition]]:
    """For each question of a rule: its conditions, if no answer meets all of them. Raises TooMuch."""
    asked = [_on(question, rule) for question in dict.fromkeys(_questions(rule))]
    return [some for some in asked if _excluded(some[0].question, some, proofs)]


def _excluded(question: Question, asked: list[Condition], proofs: Proofs) -> bool:
    """Whether it is proved that no answer meets all conditions; texts are compared in pairs."""
    proofs.step()
    if _is_number(question):
        return _met(question, asked).empty
    return not all(proofs.meet(str(one.value), str(two.value), None) for one, two in combinations(asked, 2))


def _questions(rule: Rule) -> list[Question]:
    return [condition.question for condition in rule.extensions]


def _on(question: Question, rule: Rule) -> list[Condition]:
    return [condition for condition in rule.extensions if condition.question == question]


def _is_number(question: Question) -> bool:
    return question.kind in COMPARED_NUMBERS


def _range(question: Question, rule: Rule) -> _Range:
    return _met(question, _on(question, rule))


def _met(question: Question, asked: list[Condition]) -> _Range:
    """The answers that meet all conditions on a number."""
    met = _Range(*(KEYWORDS[question.keyword].every or (-inf, inf)))
    for condition in asked:
        bound = int(condition.value)
        ranges = {">": (bound + 1, inf), ">=": (bound, inf), "<": (-inf, bound - 1), "<=": (-inf, bound)}
        met = met.both(_Range(*ranges.get(condition.comparison, (bound, bound))))
    return met
