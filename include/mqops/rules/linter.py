"""Warnings about a valid table (D14): rules that leave messages on the queue, match nothing, or are never reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from mqops.actions import Action
from mqops.model import Destination
from mqops.rules.candidates import Candidates
from mqops.rules.covering import contradictions, covers, overlap
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.lines import Source
from mqops.rules.model import Control, Rule
from mqops.rules.pattern_proofs import Proofs, TooMuch
from mqops.rules.problem import Problem
from mqwire.names import values

CATCH_ALL = "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)"
"""A last rule that leaves nothing behind (D15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A rule and where it and its ACTION were written, as (line, column)."""

    rule: Rule
    place: tuple[int, int]
    action_place: tuple[int, int]


NOT_REACHED_UNKNOWN = (
    "from here on rules are not compared with those before them, with all these patterns that is too much work: what "
    "is never reached is not said"
)
HIDDEN_UNKNOWN = (
    "from here on rules are not compared with those behind them, with all these patterns that is too much work: what "
    "IGNORE or DISCARD hides is not said"
)
_Found = tuple[tuple[int, int], str]
"""A place and a warning."""


def warnings_of(written: Sequence[Written], control: Control, source: Source) -> list[Problem]:
    """Every warning about a valid table, in no particular order.

    Rules are compared twice, for rules that are never reached and for rules that are hidden, each time with as many
    steps as `Proofs` allows. A warning says from which rule on the steps did not suffice.
    """
    found = [one for rule in written for one in _of_itself(rule, control)]
    found += _left_behind(written)
    rules = [one.rule for one in written]
    found += _as_far_as_possible(written, _Unreached(rules), NOT_REACHED_UNKNOWN)
    found += _as_far_as_possible(written, _Hiding(rules), HIDDEN_UNKNOWN)
    return [source.problem(place, text) for place, text in found]


def _as_far_as_possible(
    written: Sequence[Written], compared: Callable[[Written], Iterator[_Found]], given_up: str
) -> Iterator[_Found]:
    """The warnings of one rule after the other, until no steps are left."""
    for one in written:
        try:
            yield from compared(one)
        except TooMuch:
            yield one.place, given_up
            return


def _of_itself(one: Written, control: Control) -> Iterator[_Found]:
    """Warnings about a rule that do not depend on other rules."""
    rule = one.rule
    yield from ((one.place, text) for text in unknown_numbers(rule))
    if rule.action == Action.IGNORE:
        yield one.action_place, "ACTION(IGNORE) leaves messages on the queue: forward them to a queue instead"
    if is_input(rule, control):
        yield one.action_place, comes_back(rule, "INPUTQ")


def is_input(rule: Rule, control: Control) -> bool:
    """Whether a rule forwards to the INPUTQ that the table names."""
    return control.inputq != "" and rule.fwdq == control.inputq and rule.fwdqm in ("", control.inputqm)


def comes_back(rule: Rule, what: str) -> str:
    """The warning about a rule that forwards to the queue which the table reads; `what` says why it reads that."""
    target = str(Destination(rule.fwdq, rule.fwdqm))
    return (
        f"FWDQ {target} is the queue that this table reads ({what}): messages come back to it; forward them elsewhere"
    )


def _left_behind(written: Sequence[Written]) -> Iterator[_Found]:
    """Warns if messages may stay on the queue: no rule matches them, or only a RETRY whose tries can be used up.

    Each rule is compared with one rule without patterns: little work, however many rules there are.
    """
    everything, proofs = Rule(index=0, line=0, key="", patterns={}, action=Action.IGNORE), Proofs(inf)
    catching = [one for one in written if covers(one.rule, everything, proofs)]
    if not catching:
        yield (
            written[-1].place,
            "the last rule is no catch-all: messages that no rule matches stay on the queue; end the table with "
            f"something like {CATCH_ALL}",
        )
    elif all(one.rule.action == Action.RETRY for one in catching):
        yield (
            catching[-1].action_place,
            "the catch-all is a RETRY: messages whose tries are used up stay on the queue; end the table with "
            f"something like {CATCH_ALL}",
        )


class _Unreached:
    """Warnings about a rule because of earlier rules.

    After IGNORE and DISCARD, which cannot fail, no later rule is tried. After a FWD a later rule is tried only if the
    FWD fails. A rule after a RETRY is normal and not warned of.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._final = Candidates([rule for rule in rules if rule.action in (Action.IGNORE, Action.DISCARD)])
        self._forwards = Candidates([rule for rule in rules if rule.action == Action.FWD])
        self._proofs = Proofs()

    def __call__(self, one: Written) -> Iterator[_Found]:
        """Warnings that the rule matches nothing or is never reached. Raises TooMuch."""
        for asked in contradictions(one.rule, self._proofs):
            shown = " ".join(f"{condition.question.keyword}({condition})" for condition in asked)
            yield one.place, f"this rule matches nothing: no message is {shown}"
            return
        if before := self._first(self._final, one.rule):
            yield (
                one.place,
                f"this rule is never reached: the rule on line {before.line} takes every message it matches",
            )
        elif before := self._first(self._forwards, one.rule):
            yield (
                one.place,
                f"this rule is never reached unless the forward of the rule on line {before.line} fails: that one "
                "takes every message it matches",
            )

    def _first(self, candidates: Candidates, rule: Rule) -> Rule | None:
        """The first earlier rule that matches every message this one matches."""
        earlier = (one for one in candidates.covering(rule) if one.index < rule.index)
        return next((before for before in earlier if covers(before, rule, self._proofs)), None)


class _Hiding:
    """Warnings about a rule that hides later rules; none about a rule that matches nothing."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = Candidates(rules)
        self._retries = Candidates([rule for rule in rules if rule.action == Action.RETRY])
        self._proofs = Proofs()

    def __call__(self, one: Written) -> Iterator[_Found]:
        """Warnings that later rules are partly hidden. Raises TooMuch."""
        action = one.rule.action
        if action not in (Action.IGNORE, Action.DISCARD) or contradictions(one.rule, self._proofs):
            return
        if action == Action.IGNORE and (lines := self._partly_hidden(one.rule, self._rules)):
            yield (
                one.action_place,
                f"IGNORE hides later rules: some messages that {lines} would take stay on the queue; put such a rule "
                "before this one, or let this one match less",
            )
        if action == Action.DISCARD and (lines := self._partly_hidden(one.rule, self._retries)):
            yield (
                one.action_place,
                f"DISCARD before RETRY: some messages that {lines} would put again are discarded here without a try; "
                "put such a rule before this one, or let this one match less",
            )

    def _partly_hidden(self, rule: Rule, candidates: Candidates) -> str:
        """The lines of later rules that lose some messages to this rule, unless one of the two covers the other."""
        proofs = self._proofs
        later = [one for one in candidates.meeting(rule) if one.index > rule.index]
        lines = [
            str(one.line)
            for one in later
            if overlap(rule, one, proofs) and not covers(rule, one, proofs) and not covers(one, rule, proofs)
        ]
        if len(lines) > 1:
            return f"the rules on lines {', '.join(lines[:-1])} and {lines[-1]}"
        return f"the rule on line {lines[0]}" if lines else ""


def unknown_numbers(rule: Rule) -> list[str]:
    """Numbers of a rule's patterns that no message has in that field: such a rule matches nothing."""
    found = []
    for name, value in rule.conditions().items():
        keyword = KEYWORDS[name]
        if keyword.kind is not ValueKind.NUMBER:
            continue
        prefixes = keyword.prefixes + keyword.also
        known = value in values(*prefixes).values()
        if not known and not any(first <= int(value) <= last for first, last in keyword.unnamed):
            wanted = " or ".join(f"{prefix}_*" for prefix in prefixes)
            found.append(f"{name}({value}): no {wanted} has this number: correct it, or remove the rule")
        elif value in keyword.never:
            found.append(f"{name}({value}): no message on a queue has this number: correct it, or remove the rule")
    return found
