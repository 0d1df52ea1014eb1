"""What a quality run reports (`mqops.message_checks`): how it is made, and its verdict."""

from __future__ import annotations

from typing import Any

from mqops.counted import counted
from mqops.errors import MqopsError
from mqops.message_checks import CheckResult, QualitySummary
from mqops.observe.core.mask import masked_text
from mqops.quality.columns import is_payload
from mqops.quality.suite import Check, Suite
from mqops.quality.units import about_values, with_unit
from mqops.queue_names import not_seen

MANY = 5
"""Messages whose sum or mean says nothing of a single one."""
_OF_MANY = ("column_sum_to_be_between", "column_mean_to_be_between", "column_stdev_to_be_between")
NO_VALUE = "no message has a value"


class QualityFailed(MqopsError):
    """A critical expectation failed. Find the messages in the table of failures, and correct the sending program."""


def result_of(suite: Suite, check: Check, *, met: bool, **found: Any) -> CheckResult:
    """The result of a check. Parameters: `found` the attributes that the check itself does not tell. What an aggregate
    of a payload found is masked, where it is the value of one message."""
    name = check.expectation.name
    if name == "column_stdev_to_be_between" and found.get("observed", "None") != "None":
        found["observed"] = f"{float(found['observed']):.12g}"  # behind that, engines differ
    of_one = found.get("checked", 0) < MANY if name in _OF_MANY else about_values(name)
    if "observed" in found and any(map(is_payload, check.columns)) and of_one:
        found["observed"] = masked_text(found["observed"])
    return CheckResult(
        suite=suite.name,
        expectation=check.id,
        expect=check.expectation.name,
        columns=tuple(suite.named(one) for one in check.columns),
        severity=check.severity,
        met=met,
        where=" and ".join(map(str, check.where)),
        why=check.why,
        limits=check.limits(),
        **found,
    )


def found_by(check: CheckResult) -> str:
    """What an aggregate found, with its unit; empty where that is nothing."""
    found = "" if check.observed == "None" else check.observed
    return with_unit(check.columns, found) if about_values(check.expect) else found


def verdict(summary: QualitySummary) -> None:
    """Raise `QualityFailed` if a critical expectation failed, the counts do not agree, or queues that are meant could
    not be seen; the text names each."""
    if summary.ok:
        return
    lines = [describe(check) for check in summary.not_met("critical")]
    hidden = filter(None, [not_seen(summary.unseen)])
    raise QualityFailed(f"Quality of {summary.queue_manager}: not met", *lines, *summary.problems, *hidden)


def _learned(check: CheckResult) -> str:
    """What was expected of a check, where only earlier runs tell."""
    return f", expected {check.limits}" if check.expect.endswith("_as_before") else ""


def describe(check: CheckResult) -> str:
    """One expectation that is not met, in a line without any value of a message."""
    count = (
        check.skipped
        or (check.failed is None and f"found {found_by(check)}" + _learned(check))
        or f"{check.failed or 0:,} of {counted(check.checked, 'message')}"
    )
    why = f" ({check.why})" if check.why else ""
    return f"{check.severity}: {check.suite}.{check.expectation}: {count}{why}"
