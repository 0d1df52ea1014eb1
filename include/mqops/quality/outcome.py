"""What both ways of a quality run, by Spark and in one process, make of what they found: the summary, and its files.

Everything is written below one folder, which no other check writes into, `quality.json` last: a check that has it is
complete. What it means for the run says `mqops.quality.results`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.lake.files import make_folder, write_json
from mqops.message_checks import NOTHING, CheckResult, QualitySummary, QueueQuality
from mqops.model import ObserveSummary
from mqops.printable import printable
from mqops.quality.docs_folder import refuse_foreign
from mqops.quality.failure_counts import counted_failures
from mqops.quality.files import QualityFiles
from mqops.quality.no_message import summary_of
from mqops.quality.results import keep
from mqops.quality.scope import QueuesSeen
from mqops.quality.suite import Suite
from mqops.quality.vocabulary import SEVERITIES

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found in a snapshot, beside the table of failures.

    Attributes: `messages` queue → how many; `not_checked` queue → those of them that no check is about; `docs` first
    page.
    """

    queue_manager: str
    seen: QueuesSeen
    messages: Mapping[str, int]
    not_checked: Mapping[str, int]
    results: tuple[CheckResult, ...]
    docs: str


def begun(files: QualityFiles) -> None:
    """Make the folder of a check. Raises `SettingsError`: the folder of the pages is not ours; `LakeError`."""
    if files.docs is not None:
        refuse_foreign(files.docs)
    make_folder(files.folder)


def queue_manager_of(names: Sequence[str], files: QualityFiles) -> str:
    """The queue manager of a snapshot. Parameters: `names` in its rows, at most two."""
    if files.observed:
        return files.observed.queue_manager
    if len(names) > 1:
        raise SettingsError(f"{files.snapshot} holds messages of several queue managers; check one at a time")
    return str(names[0]) if names else "?"


def in_turn(suites: Sequence[Suite], messages: int) -> Iterator[Suite]:
    """The suites one after the other, each told in the log. Parameters: `messages` number of them."""
    for number, suite in enumerate(suites, start=1):
        _log.info(
            "Suite %s (%d of %d): %s on %s",
            printable(suite.name),
            number,
            len(suites),
            counted(len(suite.checks), "expectation"),
            counted(messages, "message"),
        )
        yield suite


def concluded(files: QualityFiles, suites: tuple[Suite, ...], found: Found, *, now: str) -> QualitySummary:
    """The summary, written. The table of failures is there. Parameters: `now` ISO 8601. Raises `LakeError`: the disk
    refused."""
    failures = counted_failures(files.failures)
    problems = disagreements(found.results, failures.by_check, found.messages, files.observed)
    queues = _queues(found.messages, found.not_checked, failures.by_queue)
    summary = replace(
        summary_of(suites, found.results, found.seen),
        run=files.run,
        queue_manager=found.queue_manager,
        queue=",".join(found.messages),
        found=sum(found.messages.values()),
        done=sum(queue.done for queue in queues),
        left=sum(queue.left for queue in queues),
        not_checked=sum(queue.not_checked for queue in queues),
        balanced=not problems,
        messages={name: sum(queue.failed[name] for queue in queues) for name in SEVERITIES},
        queues=queues,
        problems=tuple(problems),
        failures=str(files.failures),
        docs=found.docs,
        checked_at=now,
        check=files.check,
        by_workflow=files.by_workflow,
    )
    write_json(files.quality_json, summary.to_json())
    if files.check:
        keep(files.of_run, summary)
    return summary


def disagreements(
    results: Iterable[CheckResult],
    in_table: Mapping[tuple[str, str], int],
    found: Mapping[str, int],
    observed: ObserveSummary | None,
) -> list[str]:
    """What does not add up: the table of failures against GX's counts, the snapshot against what observe counted."""
    problems = []
    for result in results:
        rows = in_table.get((result.suite, result.expectation), 0)
        if rows != (result.failed or 0):
            where = f"{result.suite}.{result.expectation}"
            problems.append(
                f"{where}: {counted(result.failed or 0, 'message')} failed, {rows:,} are in the table of failures"
            )
    for one in observed.queues if observed else ():
        if (there := found.get(one.queue)) != one.messages:
            problems.append(
                f"{one.queue}: observed: {counted(one.messages, 'message')}, in the snapshot: {there or 0:,}"
            )
    return problems


def _queues(
    found: Mapping[str, int], not_checked: Mapping[str, int], failed: Mapping[str, Mapping[str, int]]
) -> tuple[QueueQuality, ...]:
    queues = []
    for queue, messages in found.items():
        counts = failed.get(queue, {"any": 0, **NOTHING})
        severities = {name: counts[name] for name in SEVERITIES}
        left, others = counts["any"], not_checked.get(queue, 0)
        done = messages - left - others
        queues.append(
            QueueQuality(queue=queue, found=messages, done=done, left=left, failed=severities, not_checked=others)
        )
    return tuple(queues)
