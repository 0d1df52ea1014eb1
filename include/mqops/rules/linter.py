"""Warnings about a valid table (D14): what is legal but leaves messages behind, or is never reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqops.rules.covering import covers
from mqops.rules.lines import Source
from mqops.rules.model import Problem, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A rule and where it and its ACTION were written, as (line, column)."""

    rule: Rule
    place: tuple[int, int]
    action_place: tuple[int, int]


def warnings_of(written: Sequence[Written], source: Source) -> list[Problem]:
    """Every warning about the rules of a valid table, in no particular order."""
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
    return warnings


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
