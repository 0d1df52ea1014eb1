"""A quality run in one process, without a JVM. Large snapshots go by Spark (`mqops.quality.check_snapshot`).

The import of Great Expectations alone takes four times as long as everything here does on 2,000 messages, so the
expectations are computed by `mqops.quality.evaluate` and the pages are our own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.check_table import by_queue, not_checked_in, result_here
from mqops.quality.docs_folder import new_docs
from mqops.quality.failed_rows import Failed, failures_of, write_failed
from mqops.quality.files import QualityFiles
from mqops.quality.frame_here import frame_here
from mqops.quality.history import History
from mqops.quality.outcome import Found, begun, concluded, in_turn, queue_manager_of
from mqops.quality.own_pages import write_pages
from mqops.quality.scope import QueuesSeen, on_nothing, with_bases
from mqops.quality.suite import Suite, asked_by, columns_of
from mqops.quality.where import chosen

_log = logging.getLogger(__name__)


def check_here(files: QualityFiles, suites: tuple[Suite, ...], *, now: str) -> QualitySummary:
    """Run suites on a snapshot; writes the table of failures, the pages and `quality.json`.

    Parameters: `now` the time for the summary, ISO 8601. Failed expectations are in the summary; see `verdict`.

    Raises:
        SettingsError: what lies there is no snapshot, a suite cannot be run, or the folder of the pages is not ours.
        LakeError: the disk refused.
    """
    begun(files)
    suites = with_bases(suites, files.aliases)
    table = frame_here(files.snapshot, columns_of(suites), asked_by(suites))
    found = by_queue(table, [one.queue for one in files.observed.queues] if files.observed else ())
    queue_manager = queue_manager_of(pc.unique(table["queue_manager"]).to_pylist()[:2], files)
    seen = files.seen(found)
    results, failed = _results(table, suites, seen, History(files.of_run, now))
    _log.info("Writing which messages failed which expectation")
    write_failed([one.rows for one in failed], files.failures)
    docs = ""
    if files.docs is not None:
        with new_docs(files.docs) as folder:
            first = write_pages(folder, f"Data quality on {queue_manager}, run {files.run}", suites, results, failed)
        docs = str(files.docs / first)
    return concluded(
        files,
        suites,
        Found(
            queue_manager=queue_manager,
            seen=seen,
            messages=found,
            not_checked=not_checked_in(table, suites),
            results=tuple(results),
            docs=docs,
        ),
        now=now,
    )


def _results(
    table: pa.Table, suites: Iterable[Suite], seen: QueuesSeen, history: History
) -> tuple[list[CheckResult], list[Failed]]:
    results, failed = list[CheckResult](), list[Failed]()
    for suite in in_turn(tuple(suites), table.num_rows):
        messages = len(chosen(table, (), suite.queues))
        for check in suite.checks:
            if messages or check.expectation.between:
                result, rows = result_here(table, suite, check, seen, history)
            else:
                result, rows = on_nothing(suite, check, seen), None
            results.append(result)
            if rows is not None and len(rows):
                failed.append(Failed(result, failures_of(table.take(rows), check, result)))
    return results, failed
