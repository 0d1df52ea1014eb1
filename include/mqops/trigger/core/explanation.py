"""What an explanation is: the conditions with their states, a verdict, and the commands that mend what fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mqops.as_json import JsonObject
from mqops.misnamed import is_alias
from mqops.trigger.core.changes import Change, in_order

State = Literal["holds", "fails", "unknown"]
HOLDS: State = "holds"
FAILS: State = "fails"
UNKNOWN: State = "unknown"

WORK = frozenset({"T03", "T04"})
"""Conditions that fail while triggering works: a trigger message was made already, and a program gets the messages."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: SPEC `id`, its state, what was found, and the commands that mend it (none: no command does)."""

    id: str
    state: State
    found: str
    changes: tuple[Change, ...] = ()

    @property
    def fix(self) -> str | None:
        """The MQSC that mends it, a command a line; None where no command does."""
        return "\n".join(change.mqsc for change in self.changes) or None

    def to_json(self) -> JsonObject:
        """For `--json`."""
        return {"id": self.id, "state": self.state, "found": self.found, "fix": self.fix}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Whether the next message of sufficient priority would make a trigger message, and why.

    Attributes: `would_trigger` False also where it is not known; `stuck` whether messages wait for a program that does
    not come; `waiting` whether enough for a trigger message wait, and no program has the queue open; `at_work`
    whether a program has the queue open for input; `depth_type` TRIGTYPE(DEPTH); `verdict` one sentence; `alias` that
    was asked about, "" for the queue itself.
    """

    queue: str
    queue_manager: str
    would_trigger: bool
    stuck: bool
    waiting: bool
    at_work: bool
    depth_type: bool
    verdict: str
    conditions: tuple[Condition, ...]
    alias: str = ""

    def to_json(self) -> JsonObject:
        """For `--json`."""
        alias: JsonObject = {"alias": self.alias} if self.alias else {}
        return {
            "queue": self.queue,
            "queue_manager": self.queue_manager,
            "would_trigger": self.would_trigger,
            "verdict": self.verdict,
            "conditions": [one.to_json() for one in self.conditions],
            **alias,
        }

    @property
    def of_alias(self) -> str:
        """A sentence about the alias that was asked about, "" for none."""
        return is_alias(self.alias, self.queue) if self.alias else ""

    @property
    def broken(self) -> bool:
        """Whether something has to be mended before the queue's program is started again.

        TRIGTYPE(DEPTH) switches triggering off; the program that is at work then switches it on again (T09).
        """
        in_order = WORK | {"T09"} if self.at_work and self.depth_type else WORK
        return self.stuck or any(one.state == FAILS and one.id not in in_order for one in self.conditions)

    @property
    def only_switched_off(self) -> bool:
        """Whether nothing is broken but that triggering is off (T09), perhaps on purpose, and no message waits."""
        return not self.waiting and {one.id for one in self.conditions if one.state == FAILS} == {"T09"}

    def state(self, number: str) -> State:
        """The state of one condition, by its SPEC id."""
        return next(one.state for one in self.conditions if one.id == number)

    def changes(self) -> tuple[Change, ...]:
        """The commands that mend what fails, in the order in which they are to be run."""
        return in_order(change for one in self.conditions if one.state == FAILS for change in one.changes)

    def fixes(self) -> tuple[str, ...]:
        """These commands as MQSC."""
        return tuple(change.mqsc for change in self.changes())
