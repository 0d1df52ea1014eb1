"""Whether everything is accounted for: each run that acted is proved, and the ledger is what was written."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mqops.clock import utc_now
from mqops.errors import MqopsError
from mqops.lake.files import state_of
from mqops.lake.run import folder_of
from mqops.ledger.file import LedgerFile
from mqops.ledger.verified import Verified, proofs_of, verified
from mqops.look.core.run_state import RunLine, RunState

AGAIN = 600.0
"""Seconds after which a ledger is verified again though nothing was written to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsThatActed:
    """The runs that have begun to act. Parameters: `proved` how many are; `unproved` those that are not, `unfinished`
    those that are proved and can go on."""

    proved: int = 0
    unproved: tuple[RunLine, ...] = ()
    unfinished: tuple[RunLine, ...] = ()

    @property
    def total(self) -> int:
        """How many there are."""
        return self.proved + len(self.unproved)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerNow:
    """A ledger as it was verified. Parameters: `at` when that was done, ISO 8601 UTC; `found` what it said, blank
    where no run has acted yet."""

    at: str = ""
    found: Verified = field(default_factory=Verified)


def runs_that_acted(runs: Iterable[RunLine]) -> RunsThatActed:
    """Which of the runs that acted are proved: those that balance, also where they were stopped before their end."""
    begun = [run for run in runs if run.begun]
    unproved = tuple(run for run in begun if not run.proved_at or run.state is RunState.UNBALANCED)
    unfinished = (run for run in begun if run.proved_at and run.state not in {RunState.DONE, RunState.UNBALANCED})
    return RunsThatActed(proved=len(begun) - len(unproved), unproved=unproved, unfinished=tuple(unfinished))


_last: dict[Path, tuple[tuple[int, ...], float, LedgerNow]] = {}


def ledger_now(lake: Path, queue_manager: str) -> LedgerNow:
    """The ledger of a queue manager, verified as `mqops ledger verify` does: the whole file is read, again only where
    it was written to since, or after `AGAIN` seconds."""
    try:
        file = LedgerFile(folder_of(lake, queue_manager), utc_now)
    except MqopsError as error:
        return LedgerNow(at=utc_now(), found=Verified(error=str(error)))
    state, now = state_of(file.path), time.monotonic()
    if file.path in _last:
        known, at, found = _last[file.path]
        if known == state and now - at < AGAIN:
            return found
    empty = not state and proofs_of(file) == ([], "")
    found = LedgerNow(at=utc_now(), found=Verified() if empty else verified(file))
    _last[file.path] = state, now, found
    return found
