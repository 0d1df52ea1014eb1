"""A quality run in one process, without a JVM: snapshots of at most `FEW` messages. Larger ones go by Spark
(`mqops.quality.one_pass`; where a suite needs Great Expectations itself `mqops.quality.check`), and all find the same.

The import of Great Expectations alone takes four times as long as everything here does on 2,000 messages, so the
expectations are computed by `mqops.quality.evaluate` and the pages are our own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.lake.files import make_durable, make_folder
from mqops.lake.parquet import write_parquet
from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.columns import IDENTITY, is_payload, problem_of
from mqops.quality.docs_folder import new_docs
from mqops.quality.evaluate import answer, compared, values_there
from mqops.quality.files import QualityFiles
from mqops.quality.frame_here import frame_here, messages_in
from mqops.quality.history import History
from mqops.quality.outcome import Found, begun, concluded, in_turn, queue_manager_of
from mqops.quality.own_pages import write_pages
from mqops.quality.scope import QueuesSeen, nothing_seen, on_nothing, with_bases
from mqops.quality.shown import masked, shown
from mqops.quality.suite import Check, Suite, asked_by, by_gx_only, columns_of, looked_at
from mqops.quality.summary import NO_VALUE, result_of
from mqops.quality.vocabulary import SEVERITIES
from mqops.quality.where import chosen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

FEW = 200_000
"""Most messages that are checked here: measured, 200,000 take no longer here than Spark takes to start."""

FAILURES = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("queue_manager", "queue")),
        pa.field("position", pa.int64(), nullable=False),
        *(
            pa.field(name, pa.string(), nullable=False)
            for name in ("msg_key", "msg_id", "suite", "expectation", "severity")
        ),
        pa.field("tolerated", pa.bool_(), nullable=False),
        pa.field("observed", pa.string(), nullable=False),
    ]
)
"""The table of failures, as `mqops.quality.failures` has it for Spark."""


class Failed(NamedTuple):
    """A check and the rows of the table of failures that it makes."""

    result: CheckResult
    rows: pa.Table


def check_snapshot(
    files: QualityFiles, suites: tuple[Suite, ...], *, now: str, session: Callable[[], SparkSession]
) -> QualitySummary:
    """Run suites on a snapshot, here or by Spark. Parameters: `session` gives one of Spark, if it is needed. Raises as
    `check_here`."""
    if not needs_spark(files.snapshot, suites):
        return check_here(files, suites, now=now)
    if by_gx_only(suites):
        from mqops.quality.check import check as by_spark  # noqa: PLC0415 - Spark
    else:
        from mqops.quality.one_pass import check_in_one_pass as by_spark  # noqa: PLC0415 - Spark
    return by_spark(session(), files, suites, now=now)


def needs_spark(snapshot: Path, suites: Iterable[Suite]) -> bool:
    """Whether suites on a snapshot are checked by Spark. Raises as `messages_in`."""
    return by_gx_only(suites) or messages_in(snapshot) > FEW


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
    _write(files, failed)
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
            by_check={(one.result.suite, one.result.expectation): one.rows.num_rows for one in failed},
            by_queue=_failed_by_queue(failed),
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


def result_here(
    table: pa.Table, suite: Suite, check: Check, seen: QueuesSeen, history: History
) -> tuple[CheckResult, pa.Array | None]:
    """The result of a check, and the places of the rows of the table that fail it; None where it names none."""
    if why := nothing_seen(suite, check, seen):
        return result_of(suite, check, met=False, skipped=why), None
    if check.expectation.between:
        return compared(table, suite, check, seen.looked_at, history)
    rows = chosen(table, check.where, suite.queues)
    if check.expectation.needs_values and not values_there(table, check, rows):
        return result_of(suite, check, met=True, skipped=NO_VALUE), None
    found = answer(table, check, rows)
    if found.rows is None:
        return result_of(suite, check, met=found.met, checked=found.checked, observed=found.observed), None
    return result_of_rows(suite, check, checked=found.checked, failed=len(found.rows)), found.rows


def result_of_rows(suite: Suite, check: Check, *, checked: int, failed: int) -> CheckResult:
    """The result of a check by rows. Parameters: `checked` messages that it looked at, `failed` those that fail it."""
    met = not failed or (checked - failed) / checked >= check.mostly
    return result_of(suite, check, met=met, checked=checked, failed=failed, skipped="" if checked else NO_VALUE)


def failures_of(rows: pa.Table, check: Check, result: CheckResult) -> pa.Table:
    """The rows that fail a check as the table of failures has them."""
    same = {
        "suite": result.suite,
        "expectation": check.id,
        "severity": check.severity,
        "tolerated": result.met,
    }
    columns = {name: rows[name] for name in IDENTITY}
    columns |= {name: pa.array([value] * rows.num_rows) for name, value in same.items()}
    observed = pa.array(_observed(rows, check.columns, result.columns), pa.string())
    return pa.table({**columns, "observed": observed}).select(FAILURES.names).cast(FAILURES)


def _observed(rows: pa.Table, names: tuple[str, ...], named: Sequence[str]) -> list[str]:
    texts = [_of_column(rows, name) for name in names]
    if len(names) == 1:
        return texts[0]
    pairs = [[f"{name}={text}" for text in of_one] for name, of_one in zip(named, texts, strict=True)]
    return [", ".join(row) for row in zip(*pairs, strict=True)]


def _of_column(rows: pa.Table, name: str) -> list[str]:
    """What the table of failures says of a column: where the message is at fault, else the value."""
    problem = problem_of(name)
    places = rows[problem].to_pylist() if problem else [None] * rows.num_rows
    show = masked if is_payload(name) else shown
    return [place or show(value) for place, value in zip(places, rows[name].to_pylist(), strict=True)]


def _write(files: QualityFiles, failed: list[Failed]) -> None:
    _log.info("Writing which messages failed which expectation")
    make_folder(files.failures)
    write_parquet(files.failures, FAILURES, (batch for one in failed for batch in one.rows.to_batches()))
    make_durable(files.failures)


def by_queue(table: pa.Table, observed: Iterable[str]) -> dict[str, int]:
    """Messages by queue, the observed queues that were empty included."""
    there = {one["values"]: one["counts"] for one in pc.value_counts(table["queue"]).to_pylist()}
    return dict(sorted({**dict.fromkeys(observed, 0), **there}.items()))


def not_checked_in(table: pa.Table, suites: Iterable[Suite]) -> dict[str, int]:
    """Messages by queue that no check is about."""
    seen = np.zeros(table.num_rows, bool)
    for suite in suites:
        for check in suite.checks:
            seen[looked_at(table, suite, check).to_numpy()] = True
            if seen.all():
                return {}
    return by_queue(table.select(["queue"]).filter(pa.array(~seen)), ())


def _failed_by_queue(failed: Iterable[Failed]) -> dict[str, Mapping[str, int]]:
    """Queue → severity → messages that fail a check of it; `any`: of any. Tolerated ones do not count."""
    messages: dict[str, dict[str, set[int]]] = {}
    for one in failed:
        if one.result.met:
            continue
        for queue, position in zip(one.rows["queue"].to_pylist(), one.rows["position"].to_pylist(), strict=True):
            counts = messages.setdefault(queue, {name: set() for name in ("any", *SEVERITIES)})
            counts["any"].add(position)
            counts[one.result.severity].add(position)
    return {queue: {name: len(places) for name, places in counts.items()} for queue, counts in messages.items()}
