"""What is said of quality checks and of the messages that fail them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import NOTHING, Column, Label, Lines, Link, Name, Strong, Table, Text, joined, said

if TYPE_CHECKING:
    from mqops.quality.failed_messages import FailedMessage
    from mqops.quality.summary import CheckResult, QualitySummary

TREND = "Messages that fail in each run, the newest at the right, from 0 to "


def expects(check: CheckResult, words: str) -> Text:
    """What a check expects of its columns, and why it is not met. Parameters: `words` what it expects."""
    columns = said("{}: ", Name(", ".join(check.columns))) if check.columns else NOTHING
    why = Lines((said("{}", check.why),), kind="quiet") if check.why and not check.met else NOTHING
    return said("{}{}{}", columns, words, why)


def result(check: CheckResult) -> Text | Label:
    """Whether a check is met."""
    if check.skipped and not check.met:
        return said("{} {}", Label("not met", "bad"), check.skipped)
    nothing = check.failed == 0 or (check.failed is None and check.observed in {"", "None"})
    if check.skipped or (not check.checked and nothing):
        return said("{} {}", Label("not looked at"), check.skipped or "no message has a value")
    return Label("met", "good") if check.met else Label("not met", "bad")


def failing(check: CheckResult) -> str:
    """How many messages fail, or what an aggregate found."""
    if check.failed is None:
        return check.found or "–"
    return f"{check.failed:,} of {check.checked:,}" if check.checked else "–"


def beside(checks: Sequence[tuple[QualitySummary, str]], chosen: QualitySummary) -> Iterator[Text]:
    """Every check of a snapshot; none where there is one only. Parameters: `checks` each with what it found, in words;
    `chosen` that is shown."""
    if len(checks) < 2:
        return
    for one, found in checks:
        by = "the workflow" if one.by_workflow else "command line"
        suites = ", ".join(one.suites)
        query = {"queue_manager": one.queue_manager, "run": one.run, "check": one.check}
        named = f"{one.checked_at} by {by}, {suites}"
        yield said("{}: {}", Strong(named) if one.check == chosen.check else Link(named, "quality", query), found)


def not_checked(chosen: QualitySummary) -> Table:
    """The messages that no check was about."""
    columns = [Column("Queue", "name", heads=True), Column("Not checked", "number")]
    rows = [(one.queue, said(f"{one.not_checked:,} of {one.found:,}")) for one in chosen.queues if one.not_checked]
    return Table(caption=f"Messages that no check was about: {chosen.not_checked:,}", columns=columns, rows=rows)


def failures(chosen: QualitySummary, found: Sequence[FailedMessage], number: int) -> Table:
    """The messages that fail. Parameters: `number` of them in all."""
    columns = [
        *(
            Column("MsgId"),
            Column("Queue", "name"),
            Column("Severity"),
            Column("Check", "name"),
            Column("Found", "name"),
        )
    ]
    of = {"queue_manager": chosen.queue_manager, "run": chosen.run}
    rows = [
        (
            Link(one.msg_id, "messages/one", of | {"queue": one.queue, "msg_id": one.msg_id}, kind="mono name"),
            *(one.queue, one.severity, one.check, one.why),
        )
        for one in found
    ]
    return Table(caption=f"Failures, the worst first: {len(found):,} of {number:,}", columns=columns, rows=rows)


def pages_of_failures(chosen: QualitySummary, check: str, *, after: int, shown: int, number: int, most: int) -> Text:
    """Which failures are shown, and the links to the others; nothing where all are.

    Parameters: `check` as the address has it; `after` how many failures are before the first that is shown; `number` in
    all; `most` on one page.
    """
    behind = number - after - shown
    if not after and behind <= 0:
        return NOTHING
    query = {"queue_manager": chosen.queue_manager, "run": chosen.run, "check": check}
    links = []
    if after:
        before = query | {"after": str(max(after - most, 0))}
        links.append(Link("The failures before these", "quality", before, "failures"))
    if behind > 0:
        more = query | {"after": str(after + most)}
        links.append(Link(counted(behind, "more failure"), "quality", more, "failures"))
    return joined(" ", [said(f"Failures {after + 1:,} to {after + shown:,} of {number:,}."), *links])
