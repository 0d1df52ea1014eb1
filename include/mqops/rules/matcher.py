"""Which rule a message gets (D01-D06). Pure: a rule, a message and its failed tries go in, a rule comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mqops.actions import Action
from mqops.rules.conditions import Answer, Question
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.model import Rule, Table
from mqops.rules.pattern import wild_match


def matches(rule: Rule, message: Mapping[str, Answer]) -> bool:
    """Whether every pattern of a rule matches.

    Parameters: `message` maps pattern keywords to the message's fields (trailing blanks do not matter; a missing one is
    blank or 0), and keys of extensions' questions to its answers (a missing one matches nothing). A rule without
    patterns matches every message (D06).
    """
    return all(_holds(keyword, value, message) for keyword, value in rule.conditions().items()) and all(
        condition.holds(message.get(condition.question.key)) for condition in rule.extensions
    )


class Miss(NamedTuple):
    """A pattern or a condition that a message does not fit: what was wanted, in the words of the table, and found."""

    keyword: str
    wanted: str | int
    found: Answer
    question: Question | None = None


def misses(rule: Rule, message: Mapping[str, Answer]) -> list[Miss]:
    """Why a rule does not match, in the order of its patterns; empty if it does. Parameters as of `matches`."""
    found = [
        Miss(name, value, message.get(name))
        for name, value in rule.conditions().items()
        if not _holds(name, value, message)
    ]
    for condition in rule.extensions:
        question = condition.question
        if not condition.holds(answer := message.get(question.key)):
            found.append(Miss(question.keyword, str(condition), answer, question))
    return found


def _holds(name: str, wanted: str | int, message: Mapping[str, Answer]) -> bool:
    return fits(name, wanted, message.get(name))


def fits(name: str, wanted: str | int, found: Answer) -> bool:
    """Whether the value of a message fits a pattern. Parameters: `name` of the pattern keyword; `found` None as blank
    or 0."""
    keyword = KEYWORDS[name]
    if keyword.kind is ValueKind.NUMBER:
        return (found or 0) == wanted
    return wild_match(str(wanted), str(found or ""), keyword.length)


def matching(table: Table, message: Mapping[str, Answer]) -> list[Rule]:
    """Every rule that matches, in the order of the table."""
    return [rule for rule in table.rules if matches(rule, message)]


def choose(table: Table, message: Mapping[str, Answer], tries: Mapping[str, int]) -> Rule | None:
    """The rule whose action is taken now: the first that matches and has tries left (D01-D03).

    Parameters: `tries` maps a rule's key to how often it has failed for this message. Returns None if no rule
    matches or every matching rule is exhausted: the message is ignored (D04). An ACTION(IGNORE) rule is never
    exhausted, so it hides those behind it.
    """
    for rule in table.rules:
        left = rule.action == Action.IGNORE or tries.get(rule.key, 0) < rule.retry
        if left and matches(rule, message):
            return rule
    return None
