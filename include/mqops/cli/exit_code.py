"""The exit codes of `mqops`: one table, `MEANING`, which docs/command_line.md repeats, and which outcome has which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from mqops.actions import ACTED, Action
from mqops.decide.core import PlanSummary
from mqops.model import RunSummary


class ExitCode(IntEnum):
    """How a command ends."""

    DONE = 0
    NO = 1
    USAGE = 2


MEANING: Mapping[ExitCode, str] = {
    ExitCode.DONE: "done: what was to be done is done, or there was nothing to do; what was asked for is so",
    ExitCode.NO: "the answer is no, or a person has to look: a message that was to go has not gone (its try failed, no "
    "try is left, it was left, its origin is ambiguous, a check of the gate fails), the run was stopped or interrupted "
    "or does not balance, a table or an estate is not valid, a queue that a pattern means cannot be seen, the queue "
    "manager or the lake failed",
    ExitCode.USAGE: "wrong usage; with commands whose 1 is an answer (`doctor`, `estate status`, `trigger explain`, "
    "`trigger audit`, `rules diff`, `rules test`) every error, and with `rules check` that what the table is to be "
    "compared with cannot be read",
}
STUCK = frozenset({Action.AMBIGUOUS, Action.GATED})
"""Actions of messages that should go and that nobody can deal with but a person."""


def of_run(summary: RunSummary, plan: PlanSummary | None = None, *, gone: bool = False) -> ExitCode:
    """How a command ends that carried out a plan. Messages that another program took meanwhile are no failure.

    Parameters: `plan` that was carried out, where it is known; `gone` whether messages that are gone count, too: those
    that a person chose.
    """
    moving = [rule for rule in summary.rules if rule.action in ACTED]
    left = any(rule.left or (gone and rule.gone) for rule in moving)
    stuck = any(rule.action in STUCK and rule.planned for rule in summary.rules)
    used_up = plan is not None and plan.used_up > 0
    good = summary.balanced and summary.finished and not (left or stuck or used_up or summary.unseen)
    return ExitCode.DONE if good else ExitCode.NO
