"""The gate in front of every workflow that puts messages on a queue: suites of checks decide which of them may go.

1. The checks look at the snapshot (`mqops.quality.gate`), before the rules. What a message's first failing check says
   holds for it: it stays (action GATED), or it goes to quarantine (action FWD, unchanged). If several fail, one that
   leaves it wins. `rule_key` of its row names the check.
2. A failure within the check's `mostly` is none.
3. The gate holds back what would be put on a queue (`mqops.actions.SENDS`). A copy, or a message of a file, that is to
   go to quarantine is left (GATED): nothing is taken from a queue there.
   What an undo puts back has no gate. A message that the rules leave or discard, that they put on the
   quarantine queue themselves, or that the replay cap sends to quarantine, is none of its business.
4. A group of messages (MsgFlags, GroupId) stays together: what holds for one of its messages holds for all of them.
5. A message that a rule with ORDER would have put, and that the gate leaves, keeps its place in the order: those
   behind it are left (BEHIND, rule 5 of `mqops.decide.core.message_groups`). One that goes to quarantine does not: no
   later run would see it.
6. A check with `stop` that fails ends the run before it has a plan. So does a check that would have to name messages
   and could not be made.
7. The plan is made once: a suite that is changed later changes nothing of it.
8. Where people choose the messages, only those that are chosen are looked at. What they take out of the gate's own
   quarantine is not looked at: it has failed a check before, and somebody has to decide about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mqops.actions import GATE, SENDS, Action, Effect
from mqops.backout.core.decision import to_quarantine
from mqops.counted import counted, first_named
from mqops.ledger.core.replays import CAPPED
from mqops.message_checks import OnFailure
from mqops.plan_row import PlanRow, left

GATE_SAYS = "gate: "
"""How the lines begin that an approver reads of the gate."""
MOST_NAMED = 3
"""Suites or checks that a line names; of more it says how many they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSetting:
    """The gate of a run, stored as RUN/gate.json.

    Parameters: `suites` files of expectations; `quarantine` queue that messages go to, "" where none does; `aliases`
    alias that a suite names → its queue; `changes` whether a suite may say something else of a message later, such as
    of its age; `from_quarantine` whether the run takes messages out of that queue (rule 8).
    """

    suites: tuple[str, ...]
    quarantine: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    changes: bool = False
    from_quarantine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """What a check of a gate found.

    Parameters: `failed` messages that fail it, None where it is about all of them together; `observed` what was found
    then, masked where it is payload; `problem` why it could not be made, or how many messages its tolerance covers.
    """

    suite: str
    check: str
    severity: str
    on_failure: OnFailure
    failed: int | None
    columns: tuple[str, ...] = ()
    observed: str = ""
    limits: str = ""
    why: str = ""
    problem: str = ""

    @property
    def rule_key(self) -> str:
        """What names it in the rows of the plan."""
        return f"{GATE}{self.suite}:{self.check}"

    def __str__(self) -> str:
        """The check and what it asks for, for people."""
        asks = f" ({' '.join(filter(None, (', '.join(self.columns), self.limits)))})" if self.columns else ""
        return f"{self.suite}:{self.check}{asks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFound:
    """What the gate of a run found, stored as RUN/gated.json.

    Parameters: `checks` that are not met; `passed` the number of those that are; `without_queue` suites that look at no
    queue of this run; `checks_without_queue` SUITE:CHECK of others whose own condition fits none; `quarantine` and
    `from_quarantine` as of `GateSetting`.
    """

    checks: tuple[GateCheck, ...] = ()
    passed: int = 0
    without_queue: tuple[str, ...] = ()
    checks_without_queue: tuple[str, ...] = ()
    quarantine: str = ""
    from_quarantine: bool = False


class Verdict(NamedTuple):
    """What the gate says of a message: with its queue and msg_key a line of RUN/gated.jsonl, since a suite may look at
    one queue only, and an equal message be on another. Parameters: `rule_key` of its check; `quarantine` the queue that
    it goes to, "" where it stays."""

    rule_key: str
    quarantine: str


def gated(row: PlanRow, verdict: Verdict | None) -> PlanRow:
    """Rules 1 and 3. Parameters: `verdict` about its message, None where it passes."""
    if verdict is None or row.action not in SENDS or row.rule_key == CAPPED:
        return row
    if not verdict.quarantine or row.action.effect in {Effect.COPY, Effect.LOAD}:
        return row._replace(**left(Action.GATED), rule_line=None, rule_key=verdict.rule_key)
    if (row.dest_q, row.dest_q_mgr) == (verdict.quarantine, ""):
        return row
    return row._replace(**to_quarantine(verdict.quarantine, verdict.rule_key))


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Rule 1: what holds of several, which are in the order of the checks."""
    ones = list(verdicts)
    return next((one for one in ones if not one.quarantine), ones[0])


def remarks(found: GateFound, decided: Mapping[str, int]) -> Iterator[str]:
    """The lines that an approver reads. Parameters: `decided` rule key → messages of the plan."""
    if found.from_quarantine:
        yield f"{GATE_SAYS}{found.quarantine} is its quarantine: what is taken out of it is not checked again"
    yield from _without_queue("suite", found.without_queue)
    yield from _without_queue("check", found.checks_without_queue)
    for one in found.checks:
        why = f": {one.why}" if one.why else ""
        number = decided.get(one.rule_key, 0)
        if one.on_failure is OnFailure.WARN:
            yield f"{GATE_SAYS}warning: {one} is not met{_what(one)}{why}; the gate does not hold these messages back"
        elif number:
            goes = f"to {found.quarantine}" if one.on_failure is OnFailure.QUARANTINE else "left"
            yield f"{GATE_SAYS}{counted(number, 'message')} {goes}: {one} fails{why}"


def _without_queue(what: str, names: Sequence[str]) -> Iterator[str]:
    """One line, however many there are."""
    if len(names) == 1:
        yield f"{GATE_SAYS}{what} {names[0]} looks at no queue of this run"
    elif names:
        first = first_named(names, MOST_NAMED)
        yield f"{GATE_SAYS}{counted(len(names), what)} look at no queue of this run: {first}"


def _what(one: GateCheck) -> str:
    if one.problem:
        return f" ({one.problem})"
    return f" ({counted(one.failed, 'message')})" if one.failed is not None else f" (found {one.observed})"
