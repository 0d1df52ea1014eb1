"""Warnings about a valid table (D14): what is legal but leaves messages behind, or is never reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mqops.rules.covering import contradictions, covers, overlap
from mqops.rules.keywords import MAX_NUMBER, PATTERN_KEYWORDS, Kind
from mqops.rules.lines import Source
from mqops.rules.model import Control, Problem, Rule
from mqops.rules.pattern_proofs import Proofs, TooMuch
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


NOT_COMPARED = (
    "from here on rules are not compared with others, with all these patterns that is too much work: what is never "
    "reached, or hidden, is not said"
)
_Found = tuple[tuple[int, int], str]
"""A place and a warning."""


def warnings_of(written: Sequence[Written], control: Control, source: Source) -> list[Problem]:
    """Every warning about a valid table, in no particular order.

    Rules are compared with as much work as `Proofs` allows: a warning says where that was not enough.
    """
    found = [one for rule in written for one in _of_itself(rule, control)]
    proofs, at = Proofs(), written[0]
    try:
        found += _left_behind(written, proofs)
        for position, at in enumerate(written):
            found += _compared(at, written[:position], written[position + 1 :], proofs)
    except TooMuch:
        found.append((at.place, NOT_COMPARED))
    return [source.problem(place, text) for place, text in found]


def _of_itself(one: Written, control: Control) -> Iterator[_Found]:
    """What is to be said of a rule, whatever the others are."""
    rule = one.rule
    yield from ((one.place, text) for text in unknown_numbers(rule))
    if rule.action == "IGNORE":
        yield one.action_place, "ACTION(IGNORE) leaves messages on the queue: forward them to a queue instead"
    if is_input(rule, control):
        yield one.action_place, comes_back(rule, "INPUTQ")


def is_input(rule: Rule, control: Control) -> bool:
    """Whether a rule forwards to the INPUTQ, as far as the table says it."""
    return control.inputq != "" and rule.fwdq == control.inputq and rule.fwdqm in ("", control.inputqm)


def comes_back(rule: Rule, what: str) -> str:
    """The warning about a rule that forwards to the queue which the table reads; `what` says why it reads that."""
    target = f"{rule.fwdq}@{rule.fwdqm}" if rule.fwdqm else rule.fwdq
    return (
        f"FWDQ {target} is the queue that this table reads ({what}): messages come back to it; forward them elsewhere"
    )


def _left_behind(written: Sequence[Written], proofs: Proofs) -> Iterator[_Found]:
    """Messages that no rule takes, or none any more: only a RETRY is known to fail."""
    everything = Rule(index=0, line=0, key="", patterns={}, action="IGNORE")
    catching = [one for one in written if covers(one.rule, everything, proofs)]
    if not catching:
        yield (
            written[-1].place,
            "the last rule is no catch-all: messages that no rule matches stay on the queue; end the table with "
            f"something like {CATCH_ALL}",
        )
    elif all(one.rule.action == "RETRY" for one in catching):
        yield (
            catching[-1].action_place,
            "the catch-all is a RETRY: messages whose tries are used up stay on the queue; end the table with "
            f"something like {CATCH_ALL}",
        )


def _compared(one: Written, earlier: Sequence[Written], later: Sequence[Written], proofs: Proofs) -> Iterator[_Found]:
    """What is to be said of a rule among the others; nothing of one that matches nothing."""
    for asked in contradictions(one.rule, proofs):
        shown = " ".join(f"{condition.question.keyword}({condition})" for condition in asked)
        yield one.place, f"this rule matches nothing: no message is {shown}"
        return
    if text := _unreached(one.rule, [before.rule for before in earlier], proofs):
        yield one.place, text
    behind = [after.rule for after in later]
    if one.rule.action == "IGNORE" and (lines := _partly_hidden(one.rule, behind, proofs)):
        yield (
            one.action_place,
            f"IGNORE hides later rules: some messages that {lines} would take stay on the queue; put such a rule "
            "before this one, or let this one match less",
        )
    retries = [rule for rule in behind if rule.action == "RETRY"]
    if one.rule.action == "DISCARD" and (lines := _partly_hidden(one.rule, retries, proofs)):
        yield (
            one.action_place,
            f"DISCARD before RETRY: some messages that {lines} would put again are discarded here without a try; put "
            "such a rule before this one, or let this one match less",
        )


def _partly_hidden(rule: Rule, later: Sequence[Rule], proofs: Proofs) -> str:
    """The lines of the rules that a rule takes some messages from, though neither is a special case of the other."""
    lines = [
        str(one.line)
        for one in later
        if overlap(rule, one, proofs) and not covers(rule, one, proofs) and not covers(one, rule, proofs)
    ]
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


_NEVER = {"PERSIST": c.MQPER_PERSISTENCE_AS_Q_DEF}
"""What a message is put with and never has on a queue: there it has the queue's own."""


def unknown_numbers(rule: Rule) -> list[str]:
    """Numbers of a rule's patterns that no message has in that field: such a rule matches nothing."""
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
        elif value == _NEVER.get(name):
            found.append(f"{name}({value}): no message on a queue has this number: correct it, or remove the rule")
    return found


def _unreached(rule: Rule, earlier: Sequence[Rule], proofs: Proofs) -> str:
    """Why a rule is not reached: IGNORE and DISCARD cannot fail, so the search never goes on behind them.

    A rule behind a FWD that covers it waits for that FWD to fail; behind a RETRY that is how tables are written.
    """
    for before in earlier:
        if before.action in ("IGNORE", "DISCARD") and covers(before, rule, proofs):
            return f"this rule is never reached: the rule on line {before.line} takes every message it matches"
    for before in earlier:
        if before.action == "FWD" and covers(before, rule, proofs):
            return (
                f"this rule is never reached unless the forward of the rule on line {before.line} fails: "
                "that one takes every message it matches"
            )
    return ""
