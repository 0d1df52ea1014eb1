"""What quality checks found in a snapshot: frozen values that are logged, stored as JSON, put in XCom and shown on
pages. `mqops.quality` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mqops.model import AsJson
from mqops.workflow import Workflow

NOTHING: Mapping[str, int] = {"critical": 0, "warning": 0, "info": 0}
"""Severity → how many, where nothing is found."""


class OnFailure(StrEnum):
    """What a gate does where a check fails (`mqops.decide.core.gate`): with the messages that fail it, or the run."""

    STOP = "stop"
    LEAVE = "leave"
    QUARANTINE = "quarantine"
    WARN = "warn"
    NOTE = "note"


OF_MESSAGES = (OnFailure.LEAVE, OnFailure.QUARANTINE)
"""Done with single messages: only a check that names those that fail it can say so."""
ON_FAILURE: Mapping[str, OnFailure] = {
    "critical": OnFailure.STOP,
    "warning": OnFailure.WARN,
    "info": OnFailure.NOTE,
}
"""Severity → what a gate does where the check does not say it."""


LEARNS = "learns: "
"""How `CheckResult.skipped` begins where a check has not seen enough good runs to have bounds; their number follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One expectation of one suite on one snapshot.

    Attributes:
        met: whether it holds, its `mostly` considered.
        checked: messages that it was about and that had a value to look at.
        failed: messages that do not satisfy it; None for an aggregate, and where no queue was looked at.
        observed: what an aggregate found.
        skipped: why it has looked at nothing, empty if it has looked at a message.
        limits: what its arguments ask for, in words.
    """

    suite: str
    expectation: str
    expect: str
    columns: tuple[str, ...]
    severity: str
    met: bool
    checked: int = 0
    failed: int | None = None
    observed: str = ""
    skipped: str = ""
    where: str = ""
    why: str = ""
    limits: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueQuality:
    """One queue: `found` messages = `done` without a failed check + `left` with one + `not_checked`, which no check was
    about. `failed` severity → messages."""

    queue: str
    found: int
    done: int
    left: int
    failed: Mapping[str, int] = field(default_factory=lambda: dict(NOTHING))
    not_checked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySummary(AsJson):
    """The outcome of all suites on one snapshot.

    Attributes:
        found: messages in the snapshot.
        done: messages that were checked, without a failed check.
        left: messages with one.
        not_checked: messages that no check was about.
        balanced: the table of failures, Great Expectations' own counts and the snapshot agree.
        failed: severity → expectations that are not met.
        messages: severity → messages with a failed check of it.
        unseen: queues that are meant and that the connection's user may not inquire: nothing is known of them.
        told: what people should know of the queues and the suites' patterns, a sentence each.
        failures: folder of the table of failures, empty if there was no message; `docs` the first page of the Data
            Docs, empty if none were built.
        check: the name of this check of the snapshot among the others; empty for one of an earlier version.
        by_workflow: whether the workflow that made the run has checked it, and not a person on the command line.
    """

    run: str
    queue_manager: str
    queue: str
    workflow: str = Workflow.SNAPSHOT_QUALITY
    found: int = 0
    done: int = 0
    left: int = 0
    not_checked: int = 0
    balanced: bool = True
    failed: Mapping[str, int] = field(default_factory=lambda: dict(NOTHING))
    messages: Mapping[str, int] = field(default_factory=lambda: dict(NOTHING))
    suites: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    queues: tuple[QueueQuality, ...] = ()
    problems: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    failures: str = ""
    docs: str = ""
    checked_at: str = ""
    check: str = ""
    by_workflow: bool = False

    @property
    def ok(self) -> bool:
        """Whether no critical expectation failed, everything adds up, and no queue that is meant is unknown."""
        return self.balanced and not self.failed["critical"] and not self.unseen

    def not_met(self, severity: str) -> tuple[CheckResult, ...]:
        """The expectations of a severity that are not met."""
        return tuple(check for check in self.checks if check.severity == severity and not check.met)
