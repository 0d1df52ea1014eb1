"""The result of a check: it holds, it fails, or it cannot be known; and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """Whether what a check looks at is as mqops needs it."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


WORST_FIRST = (State.FAILS, State.UNKNOWN, State.HOLDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One row of the table.

    Parameters: `name` what was looked at; `found` what was found there; `do` what to do about it, "" for nothing.
    """

    name: str
    state: State
    found: str
    do: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `do` is null where there is nothing to do."""
        return {"check": self.name, "state": str(self.state), "found": self.found, "do": self.do or None}


def holds(name: str, found: str) -> Check:
    """A check that holds."""
    return Check(name=name, state=State.HOLDS, found=found)


def fails(name: str, found: str, do: str) -> Check:
    """A check that fails, and what to do."""
    return Check(name=name, state=State.FAILS, found=found, do=do)


def unknown(name: str, found: str, do: str = "") -> Check:
    """A check whose result cannot be known, and why not."""
    return Check(name=name, state=State.UNKNOWN, found=found, do=do)


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
        found="; ".join(one.found for one in bad),
        do=". ".join(dict.fromkeys(one.do for one in bad if one.do)),
    )


def failed(checks: Iterable[Check]) -> bool:
    """Whether one of them fails."""
    return any(one.state is State.FAILS for one in checks)
