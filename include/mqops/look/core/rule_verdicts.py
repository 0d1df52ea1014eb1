"""What each rule of a table says of one message, and why. Pure.

The rule that is chosen now is the first that matches and has tries left (D01-D04). A rule behind it has its turn when
the tries of those before it have failed; an ACTION(IGNORE) has no tries that could fail, so rules behind it have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from mqops.actions import Action
from mqops.model import Destination
from mqops.observe.core.mask import masked_text
from mqops.rules import Miss, Rule, Table, choose, misses
from mqops.rules.conditions import Answer
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqwire.names import lookup

_PAYLOAD = frozenset({ValueKind.BODY, ValueKind.PROPERTY})


class Verdict(StrEnum):
    """What a rule says of a message. JSON has the words."""

    CHOSEN = "chosen"
    NO_MATCH = "no match"
    USED_UP = "tries used up"
    LATER = "after the chosen rule"
    HIDDEN = "hidden"


class MissShown(NamedTuple):
    """A pattern that the message does not fit. Parameters: `wanted` by the pattern; `found` in the message."""

    keyword: str
    wanted: str | int
    found: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVerdict:
    """A rule and a message.

    Parameters: `tries` that the rule has, and `failed` how many of them have failed; `hidden_by` the line of the IGNORE
    before it, 0 for none.
    """

    line: int
    action: str
    target: str
    matches: bool
    verdict: Verdict
    tries: int
    failed: int
    hidden_by: int = 0
    misses: tuple[MissShown, ...] = ()


def verdicts(
    table: Table, message: Mapping[str, Answer], tries: Mapping[str, int], *, revealed: bool
) -> tuple[RuleVerdict, ...]:
    """The verdict of each rule, in the order of the table.

    Parameters: `message` as the matcher takes it; `tries` rule key → failed tries; `revealed` whether values of the
    body and of properties are shown as they are.
    """
    chosen = choose(table, message, tries)
    found, hidden_by = [], 0
    for rule in table.rules:
        missing = misses(rule, message)
        failed = tries.get(rule.key, 0)
        found.append(
            RuleVerdict(
                line=rule.line,
                action=rule.action.value,
                target=str(Destination(rule.fwdq, rule.fwdqm)) if rule.action is Action.FWD else "",
                matches=not missing,
                verdict=_verdict(rule, chosen, failed, matches=not missing, hidden=bool(hidden_by)),
                tries=rule.retry,
                failed=failed,
                hidden_by=hidden_by if not missing else 0,
                misses=tuple(_miss(miss, revealed=revealed) for miss in missing),
            )
        )
        if not missing and rule.action is Action.IGNORE and not hidden_by:
            hidden_by = rule.line
    return tuple(found)


def _verdict(rule: Rule, chosen: Rule | None, failed: int, *, matches: bool, hidden: bool) -> Verdict:
    if not matches:
        return Verdict.NO_MATCH
    if rule is chosen:
        return Verdict.CHOSEN
    if hidden:
        return Verdict.HIDDEN
    return Verdict.USED_UP if rule.action is not Action.IGNORE and failed >= rule.retry else Verdict.LATER


def _miss(miss: Miss, *, revealed: bool) -> MissShown:
    keyword = KEYWORDS[miss.keyword]
    found: Answer = miss.found
    if keyword.kind in _PAYLOAD and isinstance(found, str) and not revealed:
        found = masked_text(found)
    if keyword.kind is ValueKind.NUMBER:
        found = _named(keyword.prefixes, found or 0)
    wanted = _named(keyword.prefixes, miss.wanted) if keyword.kind is ValueKind.NUMBER else miss.wanted
    return MissShown(miss.keyword, wanted, found)


def _named(prefixes: tuple[str, ...], value: str | int) -> str | int:
    """The name of a number, by the first of these prefixes that has one."""
    if isinstance(value, str):
        return value
    return next((name for prefix in prefixes if (name := lookup(prefix, value))), value)
