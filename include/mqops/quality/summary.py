"""What a quality run reports: frozen values that are logged, stored as JSON, put in XCom and shown on pages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mqops.counted import counted
from mqops.errors import MqopsError
from mqops.quality.suite import Check, Suite
from mqops.quality.units import about_values, with_unit
from mqops.quality.vocabulary import SEVERITIES
from mqops.queue_names import not_seen

WORKFLOW = "snapshot_quality"
NOTHING: Mapping[str, int] = dict.fromkeys(SEVERITIES, 0)


class QualityFailed(MqopsError):
    """A critical expectation failed. Find the messages in the table of failures, and correct the sending program."""


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

    @property
    def found(self) -> str:
        """What an aggregate found, with its unit; empty where that is nothing."""
        found = "" if self.observed == "None" else self.observed
        return with_unit(self.columns, found) if about_values(self.expect) else found


def result_of(suite: Suite, check: Check, *, met: bool, **found: Any) -> CheckResult:
    """The result of a check. Parameters: `found` the attributes that the check itself does not tell."""
    return CheckResult(
        suite=suite.name,
        expectation=check.id,
        expect=check.expectation.name,
        columns=check.columns,
        severity=check.severity,
        met=met,
        where=" and ".join(map(str, check.where)),
        why=check.why,
        limits=check.limits(),
        **found,
    )


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
class QualitySummary:
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
    workflow: str = WORKFLOW
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

    def to_json(self) -> dict[str, Any]:
        """A JSON object, of JSON's own types only: XCom would keep a tuple as something else."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def verdict(summary: QualitySummary) -> None:
    """Raise `QualityFailed` if a critical expectation failed, the counts do not agree, or queues that are meant could
    not be seen; the text names each."""
    if summary.ok:
        return
    lines = [describe(check) for check in summary.not_met("critical")]
    hidden = filter(None, [not_seen(summary.unseen)])
    raise QualityFailed(f"Quality of {summary.queue_manager}: not met", *lines, *summary.problems, *hidden)


def describe(check: CheckResult) -> str:
    """One expectation that is not met, in a line without any value of a message."""
    count = (
        check.skipped
        or (check.failed is None and f"found {check.found}")
        or f"{check.failed or 0:,} of {counted(check.checked, 'message')}"
    )
    why = f" ({check.why})" if check.why else ""
    return f"{check.severity}: {check.suite}.{check.expectation}: {count}{why}"
