"""The result of a check: it holds, it fails, or it cannot be known; and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mqops.as_json import JsonObject
from mqops.finding import Finding


class State(StrEnum):
    """Whether what a check looks at is as mqops needs it."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


WORST_FIRST = (State.FAILS, State.UNKNOWN, State.HOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Finding):
    """One row of the table. Parameters: `name` what was looked at."""

    name: str
    state: State

    def to_json(self) -> JsonObject:
        """A JSON object; `do` is null where there is nothing to do."""
        return {"check": self.name, "state": str(self.state), "found": self.what, "do": self.remedy or None}


def holds(name: str, found: str) -> Check:
    """A check that holds."""
    return Check(name=name, state=State.HOLDS, what=found)


def fails(name: str, found: str, do: str) -> Check:
    """A check that fails, and what to do."""
    return Check(name=name, state=State.FAILS, what=found, remedy=do)


def unknown(name: str, found: str, do: str = "") -> Check:
    """A check whose result cannot be known, and why not."""
    return Check(name=name, state=State.UNKNOWN, what=found, remedy=do)


def summed_up(name: str, ones: Sequence[Check], good: str) -> Check:
    """Combine several checks into one. It has the worst state, and the texts of all checks that do not hold.

    Parameters: `good` the text where all hold.
    """
    bad = [one for state in WORST_FIRST for one in ones if one.state is state is not State.HOLDS]
    if not bad:
        return holds(name, good)
    return Check(
        name=name,
        state=bad[0].state,
        what="; ".join(one.what for one in bad),
        remedy=". ".join(dict.fromkeys(one.remedy for one in bad if one.remedy)),
    )


def failed(checks: Iterable[Check]) -> bool:
    """Whether one of them fails."""
    return any(one.state is State.FAILS for one in checks)
