"""Whether everything is accounted for: each run that acted is proved, the ledger was not changed since it was written,
and it names no run that the lake does not have."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from mqops.clock import utc_now
from mqops.errors import LakeError, LedgerBroken, MqopsError
from mqops.lake.files import file_state
from mqops.lake.run import folder_of
from mqops.ledger.core.chain import Proof
from mqops.ledger.file import LedgerFile
from mqops.ledger.parts import Kept
from mqops.ledger.proofs import noted_proofs, proofs_of_runs
from mqops.ledger.segments import open_segment
from mqops.ledger.set_aside import path_in, remark
from mqops.ledger.verified import Verified, verified
from mqops.look.core.run_state import RunLine
from mqops.look.runs import Runs
from mqops.look.runs_proofs import proofs_behind
from mqops.look.words.state import RunState
from mqops.printable import printable

AGAIN = 600.0
"""Seconds after which a ledger is verified again though nothing was written to it."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsThatActed:
    """The runs that have begun to act.

    Parameters: `proved` the number of runs that are proved and have not acted since; `unproved` the other runs;
    `unfinished` proved runs that can go on; `absent` keys of runs that the ledger names and that are not in the lake,
    or that have not begun there; `known` whether the runs can be read.
    """

    known: bool = True
    proved: int = 0
    unproved: tuple[RunLine, ...] = ()
    unfinished: tuple[RunLine, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of these runs that are in the lake."""
        return self.proved + len(self.unproved)

    @property
    def unbalanced(self) -> tuple[RunLine, ...]:
        """The runs whose proof does not balance."""
        return tuple(run for run in self.unproved if run.state is RunState.UNBALANCED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerNow:
    """A ledger as it was verified. Parameters: `at` when that was done, ISO 8601 UTC; `found` what it said, blank
    where no run has acted yet; `remark` about messages that were set aside, blank where there are none; `state` of the
    file then."""

    at: str = ""
    found: Verified = field(default_factory=Verified)
    remark: str = ""
    state: tuple[int, ...] = ()


def written_since(lake_folder: Path, ledger: LedgerNow) -> bool:
    """Whether something was written to a ledger since it was verified."""
    return file_state(open_segment(lake_folder)) != ledger.state


def has_grown(lake: Path, queue_manager: str, ledger: LedgerNow) -> bool:
    """As `written_since`. A lake that cannot be read says nothing, and what shows the queue manager tells why."""
    with suppress(MqopsError):
        return written_since(folder_of(lake, queue_manager), ledger)
    return False


def runs_that_acted(runs: Runs, in_ledger: Collection[str] = ()) -> RunsThatActed:
    """Which of the runs that acted are proved: those that balance, also where they were stopped before their end.

    Parameters: `in_ledger` keys of runs that have begun to act by the ledger: of those that the lake had not then.

    Raises:
        LakeError: a run cannot be read.
    """
    begun = runs.begun()
    return RunsThatActed(
        proved=begun.proved,
        unproved=begun.unproved,
        unfinished=begun.unfinished,
        absent=runs.not_begun(in_ledger),
    )


_last: dict[Path, tuple[Hashable, float, LedgerNow]] = {}


def ledger_now(lake: Path, queue_manager: str) -> LedgerNow:
    """The ledger of a queue manager, verified again only where it was written to since, or after `AGAIN` seconds; a
    closed segment only where its file was changed since. Each line is checked, and each checkpoint, as `mqops ledger
    verify` does, and what runs say of the lines behind the last checkpoint: a holder of the key has checked the others
    with it. Whatever fails, its ledger is not verified, and says why."""
    try:
        return _ledger_now(lake, queue_manager)
    except MqopsError as error:
        return LedgerNow(at=utc_now(), found=Verified(error=str(error)))
    except Exception as error:
        _log.exception("The ledger of %s cannot be verified", printable(queue_manager))
        why = f"it cannot be read: {type(error).__name__}: {error}"
        return LedgerNow(at=utc_now(), found=Verified(error=why))


def _proofs(runs: Runs, file: LedgerFile, *, by_runs: bool = False) -> tuple[list[Proof], str]:
    """What runs say of the ledger's end behind its last checkpoint, or why that cannot be known. The index of the runs
    has it of those that the lake has; the list, also of one that was removed, and before it is written to the run. A
    run of which another file is damaged is told elsewhere: here its summaries say what they say. Parameters: `by_runs`
    whether what the index says is looked up in the runs."""
    try:
        last = file.segments.last_checkpoint()
        behind = last.head.seq if last else 0
        said = runs.ask(lambda index: proofs_behind(index, behind))
        said = _as_runs_say(runs, said) if by_runs else said
        return [*said, *proofs_of_runs(runs.folder, runs.damaged), *noted_proofs(file.folder)], ""
    except (LedgerBroken, LakeError) as error:
        return [], str(error)


def _as_runs_say(runs: Runs, said: list[Proof]) -> list[Proof]:
    """What the runs say of which the index says something. A row that is not what its run says is made anew. Raises
    `LedgerBroken`, `LakeError`."""
    found = proofs_of_runs(runs.folder, {one.run for one in said})
    wrong = sorted({one.run for one in said if one not in found})
    if not wrong:
        return said
    _log.warning("The index of the runs has said of the ledger what %s does not say", printable(", ".join(wrong)))
    runs.ask(lambda index: index.read_again(wrong))
    return found


_begun: dict[Path, tuple[int, int]] = {}
"""LAKE/<queue manager> → how many of its runs had begun at the last look, and how often they were fewer than before."""


def _kept(runs: Runs) -> Kept:
    """Of the runs that the ledger names, those are kept that the lake does not have, or that have not begun there. One
    that it has leaves it only by the hand of a person, which the index of the runs counts, or there are fewer than at
    the last look: then all lines are read again. Where no index is kept, all runs are."""
    try:
        losses = runs.losses()
    except LakeError:  # the proofs say why
        return Kept(wanted=lambda _runs: (), as_of="the runs cannot be read")
    if losses is None:
        return Kept(wanted=lambda named: named, as_of="all")
    begun, fewer = _begun.get(runs.folder, (0, 0))
    fewer += losses.begun < begun
    _begun[runs.folder] = losses.begun, fewer
    return Kept(wanted=replace(runs, fresh=True).not_begun, as_of=(losses.made, losses.runs, fewer))


def _ledger_now(lake: Path, queue_manager: str) -> LedgerNow:
    folder = folder_of(lake, queue_manager)
    file = LedgerFile(folder)
    written, now = file_state(file.path), time.monotonic()
    runs = Runs(lake, queue_manager, damaged={})
    kept = _kept(runs)
    state = written, file_state(path_in(folder)), kept.as_of
    if file.path in _last:
        known, at, found = _last[file.path]
        if known == state and now - at < AGAIN:
            return found
    proofs = _proofs(runs, file)
    empty = not file.exists() and proofs == ([], "")
    what = Verified() if empty else verified(file, kept=kept, known=proofs)
    if what.error and (as_runs_say := _proofs(runs, file, by_runs=True)) != proofs:
        what = verified(file, kept=kept, known=as_runs_say)
    found = LedgerNow(at=utc_now(), found=what, remark=remark(folder), state=written)
    _last[file.path] = state, now, found
    return found
