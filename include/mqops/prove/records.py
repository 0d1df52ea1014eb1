"""What a run's folder has besides its plan that the proof reads and writes, each file with its type; and which records
were taken off MQOPS.LEDGER.

1. RUN/issued.json is written when the marker that says so is committed, and before that marker may be drained. So a
   plan with that note has the marker's line in the ledger, once its markers are drained.
2. RUN/act.json counts what an execution of act committed, each unit of work with its marker. So the ledger has at least
   as many rows.

An execution that ended without act.json is not noticed here if all of its markers are taken away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from mqops.counted import counted
from mqops.expiry.core.histogram import Histogram
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.ledger.core.account import Account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.noted import ACTED, moved_by
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import NAME
from mqops.model import RunSummary
from mqops.prove.core.outcome import OutcomeSummary

SUMMARY = RunFile("summary.json", RunSummary)
OUTCOMES = RunFile("outcomes.json", OutcomeSummary, OutcomeSummary.to_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOf:
    """Parameters: `session` of the handler that the run was a pass of: the key of its first pass."""

    session: str


SESSION = RunFile("session.json", PassOf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """What a run loads (`mqops.message_file`).

    Parameters: `messages` the digest of the file's messages in their order; `queue` they are put on; `file` its name;
    `earlier` the digests of the plans of loads of the same messages on the same queue that had been begun when this one
    was planned.
    """

    messages: str
    queue: str
    file: str
    earlier: frozenset[str]


LOAD_RECORD = RunFile("load.json", Loads, lambda loads: asdict(loads) | {"earlier": sorted(loads.earlier)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoes:
    """The plan that is undone, and the digests of the undos of it that had been begun when this one was planned."""

    run: str
    plan: str
    earlier: frozenset[str]

    @property
    def identity(self) -> PlanIdentity:
        """The plan that is undone."""
        return PlanIdentity(run=self.run, digest=self.plan)


UNDO_RECORD = RunFile("undo.json", Undoes, lambda undoes: asdict(undoes) | {"earlier": sorted(undoes.earlier)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Which messages of a plan were gone when the run was proved. The summary has their number only.

    Parameters: `at` when the run was proved, ISO 8601 UTC; `rows` evidence, as `RunSummary.gone_because` has it → rows
    of the plan; `settled` queues that had no uncommitted messages then, so that what was not seen there was not hidden
    by a unit of work."""

    at: str = ""
    rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    settled: tuple[str, ...] = ()

    @property
    def because(self) -> dict[int, str]:
        """Row of the plan → evidence."""
        return {row: why for why, rows in self.rows.items() for row in rows}


GONE = RunFile("gone.json", Gone)


def has_taken(run: RunFolder) -> bool:
    """Whether it has begun to act and took messages from a queue: no undo, no load from a file."""
    return run.issued_json.exists() and not (UNDO_RECORD.exists(run) or LOAD_RECORD.exists(run))


def is_undoable(run: RunFolder) -> bool:
    """Whether it has taken messages from a queue by a plan that is there."""
    return has_taken(run) and run.plan_json.exists()


def write_gone(run: RunFolder, at: str, gone: Mapping[str, Sequence[int]], settled: Collection[str] = ()) -> None:
    """Write the record; none where nothing is gone. Parameters: `gone` evidence → rows; `settled` as of `Gone`. Raises
    `LakeError`."""
    if gone or GONE.exists(run):
        rows = {why: tuple(numbers) for why, numbers in sorted(gone.items())}
        GONE.write(run, Gone(at=at, rows=rows, settled=tuple(sorted(settled))))


def read_gone(run: RunFolder) -> Gone:
    """What the record says; nothing for a run that was not proved, or that an earlier version proved. Raises
    `LakeError`."""
    return GONE.find(run) or Gone()


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """When the messages expire that the proof of a run has seen on its queues. Parameters: `at` when, ISO 8601 UTC."""

    at: str = ""
    queues: Mapping[str, Histogram] = field(default_factory=dict)


LEFT = RunFile("left.json", Left)


def write_left(run: RunFolder, at: str, queues: Mapping[str, Histogram]) -> None:
    """Write the record; none where nothing expires. Raises `LakeError`."""
    expiring = {queue: one for queue, one in queues.items() if one.expiring}
    if expiring or LEFT.exists(run):
        LEFT.write(run, Left(at=at, queues=expiring))


def missing_records(ledger: OpenLedger, sums: Account) -> list[str]:
    """What is missing, in words. Parameters: `sums` of the plan's lines in the ledger, its markers being drained.

    Raises `LakeError`.
    """
    gone: list[str] = []
    if not sums.lengths and ledger.issued is not None:
        gone.append(f"the record that the plan was begun is gone from {NAME}: somebody took it away")
    acted = moved_by(ACTED.find(ledger.run), ledger.plan) if ledger.run else 0
    if acted > len(sums.acted):
        gone.append(
            f"act moved and discarded {counted(acted, 'message')}, and the ledger has {len(sums.acted):,}: "
            f"records are gone from {NAME}, somebody took them away"
        )
    return gone
