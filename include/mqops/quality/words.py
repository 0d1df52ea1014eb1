"""What is said of quality checks and of the messages that fail them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import (
    NOTHING,
    Label,
    Lines,
    Link,
    Quiet,
    Strong,
    Table,
    Text,
    Tick,
    Trend,
    of_message,
    said,
    sentences,
)
from mqops.quality.expected import expected, fields
from mqops.quality.summary import found_by

if TYPE_CHECKING:
    from mqops.message_checks import CheckResult, QualitySummary
    from mqops.quality.failed_messages import FailedMessage
    from mqops.quality.trend import CheckTrend

TREND = "Messages that fail in each run, the newest at the right, from 0 to "


def expects(check: CheckResult) -> Text:
    """What a check expects, and why it is not met."""
    named = fields(check)
    why = Lines([check.why], kind="quiet") if check.why and not check.met else NOTHING
    return said("{}{}{}", said("{:name}: ", named) if named else NOTHING, expected(check), why)


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
        return found_by(check) or "–"
    return f"{check.failed:,} of {check.checked:,}" if check.checked else "–"


def checks(known: Sequence[CheckTrend], runs: int) -> Table:
    """Each check over the runs. Parameters: `runs` their number."""
    headings = ["*Check|name", "Expects|text", "Severity", "!Newest result", "!Messages that fail|number", "Trend"]
    rows = []
    for one in known:
        last, name = one.last, f"{one.last.suite}.{one.last.expectation}"
        rows.append((name, expects(last), last.severity, result(last), failing(last), _trend(one)))
    return Table(f"Checks over {counted(runs, 'run')}, those not met first", headings, rows)


def _trend(one: CheckTrend) -> Text:
    """How many messages failed a check in the runs, drawn small; nothing where only one run tells."""
    if sum(number is not None for number in one.failed) < 2:
        return NOTHING
    return said("{} {}", Trend(f"{TREND}{one.most:,}", one.failed), Quiet(f"0 to {one.most:,}"))


def beside(checks: Sequence[tuple[QualitySummary, str]], chosen: QualitySummary) -> Iterator[Text]:
    """Every check of a snapshot; none where there is one only. Parameters: `checks` each with what it found, in words;
    `chosen` that is shown."""
    for one, found in checks if len(checks) > 1 else ():
        named = f"{one.checked_at} by {'the workflow' if one.by_workflow else 'command line'}, {', '.join(one.suites)}"
        query = {"queue_manager": one.queue_manager, "run": one.run, "check": one.check}
        yield said("{}: {}", Strong(named) if one.check == chosen.check else Link(named, "quality", query), found)


def taken_since(whole: int, left: int) -> str:
    """That later runs have taken messages of the list; nothing where none has. Parameters: `whole` messages that failed
    a critical check, `left` those of them that no later run has taken."""
    if left >= whole:
        return ""
    return f"later runs have taken {whole - left:,} of the {counted(whole, 'message')} that failed a critical check"


def not_checked(chosen: QualitySummary) -> Table:
    """The messages that no check was about."""
    rows = [(one.queue, f"{one.not_checked:,} of {one.found:,}") for one in chosen.queues if one.not_checked]
    headings = ["*Queue|name", "Not checked|number"]
    return Table(f"Messages that no check was about: {chosen.not_checked:,}", headings, rows)


def failures(chosen: QualitySummary, found: Sequence[FailedMessage], number: int, *, ticks: bool) -> Table:
    """The messages that fail. Parameters: `number` of them in all; `ticks` whether a row begins with a box that chooses
    its message."""
    of, rows = (chosen.queue_manager, chosen.run), []
    for one in found:
        tick = (Text((Tick(f"Choose {one.msg_id}, {one.check}", one.msg_id, one.queue),)),) if ticks else ()
        rows.append((*tick, of_message(*of, one.msg_id, queue=one.queue), one.queue, one.severity, one.check, one.why))
    caption = f"Failures, the worst first: {len(found):,} of {number:,}"
    headings = [*(["Choose"] if ticks else []), "MsgId", "Queue|name", "Severity", "Check|name", "Found|name"]
    return Table(caption, headings, rows, part=len(found) < number)


def pages_of_failures(chosen: QualitySummary, check: str, *, after: int, shown: int, number: int, most: int) -> Text:
    """Which failures are shown, and the links to the others; nothing where all are.

    Parameters: `check` as the address has it; `after` how many failures are before the first that is shown; `number` in
    all; `most` on one page.
    """
    behind = number - after - shown
    if not after and behind <= 0:
        return NOTHING
    query = {"queue_manager": chosen.queue_manager, "run": chosen.run, "check": check}
    before = Link("The failures before these", "quality", query | {"after": str(max(after - most, 0))}, "failures")
    more = Link(counted(behind, "more failure"), "quality", query | {"after": str(after + most)}, "failures")
    return sentences(
        said(f"Failures {after + 1:,} to {after + shown:,} of {number:,}."),
        before if after else NOTHING,
        more if behind > 0 else NOTHING,
    )
