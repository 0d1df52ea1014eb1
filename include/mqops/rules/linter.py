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

CATCH_ALL = "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)"
"""A last rule that leaves nothing behind (D15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A rule and where it and its ACTION were written, as (line, column)."""

    rule: Rule
    place: tuple[int, int]
    action_place: tuple[int, int]


def warnings_of(written: Sequence[Written], source: Source) -> list[Problem]:
    """Every warning about the rules of a valid table, in no particular order."""
    warnings: list[Problem] = []
    if not _matches_all(written[-1].rule):
        warnings.append(
            source.problem(
                written[-1].place,
                "the last rule is no catch-all: messages that no rule matches stay on the queue; end the table with "
                f"something like {CATCH_ALL}",
            )
        )
    for position, one in enumerate(written):
        earlier, later = [[w.rule for w in some] for some in (written[:position], written[position + 1 :])]
        about_all = (_unreached(one.rule, earlier), *_impossible(one.rule), *unknown_numbers(one.rule))
        warnings += [source.problem(one.place, text) for text in about_all if text]
        warnings += [source.problem(one.action_place, text) for text in _taken_away(one.rule, later)]
    return warnings


def _taken_away(rule: Rule, later: Sequence[Rule]) -> list[str]:
    """What IGNORE leaves behind, and what IGNORE and DISCARD keep from rules behind them."""
    found = []
    if rule.action == "IGNORE":
        found = ["ACTION(IGNORE) leaves messages on the queue: forward them to a queue instead"]
        if lines := _partly_hidden(rule, later):
            found.append(
                f"IGNORE hides later rules: some messages that {lines} would take stay on the queue; put such a rule "
                "before this one, or let this one match less"
            )
    if rule.action == "DISCARD" and (lines := _partly_hidden(rule, [one for one in later if one.action == "RETRY"])):
        found.append(
            f"DISCARD before RETRY: some messages that {lines} would put again are discarded here without a try; put "
            "such a rule before this one, or let this one match less"
        )
    return found


def _partly_hidden(rule: Rule, later: Sequence[Rule]) -> str:
    """The lines of the rules that a rule takes some messages from, though neither is a special case of the other."""
    lines = [str(one.line) for one in later if overlap(rule, one) and not covers(rule, one) and not covers(one, rule)]
    if len(lines) > 1:
        return f"the rules on lines {', '.join(lines[:-1])} and {lines[-1]}"
    return f"the rule on line {lines[0]}" if lines else ""


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
            wanted = " or ".join(f"{prefix}_*" for prefix in prefixes)
            found.append(f"{name}({value}): no {wanted} has this number: correct it, or remove the rule")
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
