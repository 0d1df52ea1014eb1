"""What the last quality run found, as a problem of its queue manager: for the page Estate and `mqops estate status`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqops.counted import counted
from mqops.lake.run import RunFolder
from mqops.look.estate.checks import Check
from mqops.look.estate.known import Known
from mqops.look.estate.problem import Place, Problem
from mqops.look.taken_since import still_there
from mqops.message_checks import QualitySummary
from mqops.quality.failed_messages import failed_critical
from mqops.quality.trend import quality_runs, run_that_counts, verdicts_among
from mqops.queue_names import not_seen

MOST_NAMED = 5
"""Queues that a problem names; of more it says how many they are."""


def not_in_order(known: Known) -> Iterator[Problem]:
    """That the last quality run of a suite is not passed, and what failed is there still. Raises `LakeError`,
    `LedgerBroken`."""
    lake, name = known.lake, known.name
    last = run_that_counts(lake, verdicts_among(known.runs) if known.runs else quality_runs(lake, name))
    if last is None or last.ok:
        return
    whole = last.messages["critical"]
    left = critical_left(lake, last)
    of_messages = all(one.failed is not None for one in last.not_met("critical"))
    if whole and not left and last.balanced and of_messages and not last.unseen:
        return
    yield Problem(
        what=f"The last quality run, of {last.checked_at}, {_found(last, whole, left)}",
        place=Place.QUALITY,
        about=last.run,
    )


NOT_IN_ORDER = Check(not_in_order, "The quality runs cannot be read")


def _found(last: QualitySummary, whole: int, left: int) -> str:
    """Parameters: `whole` messages that failed a critical check, `left` those that no later run has taken."""
    failed = [one.queue for one in last.queues if one.failed["critical"]]
    number = last.failed["critical"]
    where = ", ".join(failed) if 0 < len(failed) <= MOST_NAMED else counted(len(failed or last.queues), "queue")
    found = [
        f"found {counted(number, 'critical check')} that {'is' if number == 1 else 'are'} not met"
        + (f", in {counted(whole, 'message')} on {where}" if whole else "")
        + (f"; later runs have taken {whole - left:,} of them from there" if left < whole else "")
    ]
    hidden = f"did not see all queues: {not_seen(last.unseen)}" if last.unseen else ""
    sentences = [*(found if number else []), *filter(None, [hidden])]
    return "; it ".join(sentences) or "does not add up"


def critical_left(lake: Path, last: QualitySummary) -> int:
    """How many messages that failed a critical check no later run has taken. Raises `LakeError`, `LedgerBroken`."""
    failed = failed_critical(last.failures, last.checked_at)
    if failed is None:
        return last.messages["critical"]
    return still_there(RunFolder.at(lake, last.queue_manager, last.run), failed)
