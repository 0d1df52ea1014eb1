"""Warnings about a valid table (D14): what is legal but leaves messages behind, or is never reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from mqops.rules.conditions import Condition
from mqops.rules.covering import covers, overlap
from mqops.rules.keywords import MAX_NUMBER, PATTERN_KEYWORDS, Kind
from mqops.rules.lines import Source
from mqops.rules.model import Problem, Rule
from mqwire import constants as c
from mqwire.names import values


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A rule and where it and its ACTION were written, as (line, column)."""

    rule: Rule
    place: tuple[int, int]
    action_place: tuple[int, int]


def warnings_of(written: Sequence[Written], source: Source, *, strict: bool = False) -> list[Problem]:
    """Every warning about the rules of a valid table, in no particular order; `strict` for those of doubtful ones."""
    warnings = [
        source.problem(one.action_place, "ACTION(IGNORE) leaves messages on the queue: forward them to a queue instead")
        for one in written
        if one.rule.action == "IGNORE"
    ]
    if not _matches_all(written[-1].rule):
        warnings.append(
            source.problem(
                written[-1].place,
                "the last rule is no catch-all: messages that no rule matches stay on the queue; end the table with "
                "something like ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)",
            )
        )
    for position, one in enumerate(written):
        message = _unreached(one.rule, [earlier.rule for earlier in written[:position]])
        if message:
            warnings.append(source.problem(one.place, message))
        warnings += [source.problem(one.place, text) for text in _impossible(one.rule)]
    return warnings + (_strict_warnings(written, source) if strict else [])


def _strict_warnings(written: Sequence[Written], source: Source) -> list[Problem]:
    """What is often meant so, and sometimes a slip."""
    warnings = []
    for position, one in enumerate(written):
        warnings += [source.problem(one.place, text) for text in unknown_numbers(one.rule)]
        if one.rule.action == "DISCARD":
            warnings += [source.problem(one.action_place, text) for text in _untried(one, written[position + 1 :])]
    return warnings


def _untried(discard: Written, later: Sequence[Written]) -> list[str]:
    """The first RETRY behind a DISCARD that it takes messages from, though it is no special case of it."""
    for one in later:
        if one.rule.action != "RETRY" or covers(discard.rule, one.rule) or covers(one.rule, discard.rule):
            continue
        if overlap(discard.rule, one.rule):
            return [
                f"DISCARD before RETRY: some messages that the rule on line {one.rule.line} would put again are "
                "discarded here without a try"
            ]
    return []


_OPEN_RANGES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "APPLTYPE": ((c.MQAT_USER_FIRST, MAX_NUMBER),),
    "FEEDBACK": ((c.MQFB_IMS_FIRST, c.MQFB_IMS_LAST), (c.MQFB_APPL_FIRST, MAX_NUMBER)),
    "MSGTYPE": ((c.MQMT_APPL_FIRST, MAX_NUMBER),),
    "REASON": ((c.MQFB_IMS_FIRST, c.MQFB_IMS_LAST), (c.MQFB_APPL_FIRST, MAX_NUMBER)),
}
"""Numbers that need no name: those of IMS (`ibm_mq_facts` 3.2) and those that applications give themselves."""
_ALSO = {"FEEDBACK": "MQRC"}
"""An exception report's Feedback is a reason code (`ibm_mq_facts` 4.1)."""


def unknown_numbers(rule: Rule) -> list[str]:
    """Numbers of a rule's patterns that IBM MQ gives no meaning in that field: such a rule matches nothing."""
    found = []
    for name, value in rule.conditions().items():
        keyword = PATTERN_KEYWORDS[name]
        if keyword.kind is not Kind.NUMBER:
            continue
        prefixes = (*keyword.prefixes, *([_ALSO[name]] if name in _ALSO else []))
        known = value in values(*prefixes).values()
        if not known and not any(first <= int(value) <= last for first, last in _OPEN_RANGES.get(name, ())):
            found.append(f"{name}({value}): no {' or '.join(f'{prefix}_*' for prefix in prefixes)} has this number")
    return found


_DOMAIN: Mapping[str, tuple[float, float]] = {"SIZE": (0, inf), "BACKOUT": (0, inf), "PRIORITY": (0, 9)}


def _impossible(rule: Rule) -> list[str]:
    """Conditions on a number that no number meets together."""
    numbers = [one for one in rule.extensions if isinstance(one.value, int)]
    found = []
    for question in dict.fromkeys(one.question for one in numbers):
        asked = [one for one in numbers if one.question == question]
        low, high = _DOMAIN.get(question.keyword, (-inf, inf))
        for one in asked:
            least, most = _range(one)
            low, high = max(low, least), min(high, most)
        if low > high:
            shown = " ".join(f"{question.keyword}({one})" for one in asked)
            found.append(f"this rule matches nothing: no message is {shown}")
    return found


def _range(condition: Condition) -> tuple[float, float]:
    """The least and the greatest whole number that meets a condition."""
    bound = int(condition.value)
    ranges = {">": (bound + 1, inf), ">=": (bound, inf), "<": (-inf, bound - 1), "<=": (-inf, bound)}
    return ranges.get(condition.comparison, (bound, bound))


def _matches_all(rule: Rule) -> bool:
    everything = Rule(index=0, line=0, key="", patterns={}, action="IGNORE")
    return covers(rule, everything)


def _unreached(rule: Rule, earlier: Sequence[Rule]) -> str:
    """Why a rule is not reached: IGNORE and DISCARD cannot fail, so the search never goes on behind them.

    A rule behind a FWD that covers it waits for that FWD to fail; behind a RETRY that is how tables are written.
    """
    for before in earlier:
        if before.action in ("IGNORE", "DISCARD") and covers(before, rule):
            return f"this rule is never reached: the rule on line {before.line} takes every message it matches"
    for before in earlier:
        if before.action == "FWD" and covers(before, rule):
            return (
                f"this rule is never reached unless the forward of the rule on line {before.line} fails: "
                "that one takes every message it matches"
            )
    return ""
