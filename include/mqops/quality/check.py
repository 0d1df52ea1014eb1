"""A quality run: suites on a snapshot, the table of failures, the pages, the summary. Reads the lake, touches no queue.

Everything is written below one folder, which no other check writes into, `quality.json` last: a check that has it is
complete. What it means for the run says `mqops.quality.results`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqops.counted import counted
from mqops.errors import LakeError, SettingsError
from mqops.lake.files import make_folder, write_json
from mqops.lake.parquet import refuse_newer_folder
from mqops.message_checks import NOTHING, CheckResult, QualitySummary, QueueQuality
from mqops.model import ObserveSummary
from mqops.printable import printable
from mqops.quality.docs_folder import new_docs, refuse_foreign
from mqops.quality.files import QualityFiles
from mqops.quality.no_message import summary_of
from mqops.quality.results import keep
from mqops.quality.scope import QueuesSeen, checked_sql, with_bases
from mqops.quality.suite import Suite, columns_of
from mqops.quality.vocabulary import SEVERITIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mqops.quality.validation import Failing, Validator

_log = logging.getLogger(__name__)

ROWS_PER_PARTITION = 250_000  # rows are narrow, the payload is not among them


def check(spark: SparkSession, files: QualityFiles, suites: tuple[Suite, ...], *, now: str) -> QualitySummary:
    """Run suites on a snapshot; writes the table of failures, the pages and `quality.json`.

    Parameters: `now` the time for the summary, ISO 8601. Failed expectations are in the summary; see `verdict`.

    Raises:
        SettingsError: what lies there is no snapshot, a suite cannot be run, or the folder of the pages is not ours.
        LakeError: the disk refused.
    """
    from mqops.quality.failures import count_by_check, count_by_queue, read_failures, write_failures  # noqa: PLC0415
    from mqops.quality.frame import frame_of, needs_body  # noqa: PLC0415
    from mqops.quality.validation import Validator  # noqa: PLC0415

    if files.docs is not None:
        refuse_foreign(files.docs)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    make_folder(files.folder)
    suites = with_bases(suites, files.aliases)
    columns = columns_of(suites)
    frame = frame_of(read_snapshot(spark, files.snapshot, needs_body=needs_body(columns)), columns).persist()
    try:
        with _unreadable(files.snapshot):
            found, not_checked = _found(frame, files.observed, checked_sql(suites))
        seen = files.seen(found)
        spark.conf.set("spark.sql.shuffle.partitions", str(2 + sum(found.values()) // ROWS_PER_PARTITION))
        queue_manager = _queue_manager(frame, files)
        validator = Validator(queue_manager, files.run)
        results, failing = _validated(validator, frame, suites, seen, sum(found.values()))
        _log.info("Writing which messages failed which expectation")
        write_failures(spark, failing, files.failures)
        docs = _docs(validator, files, queue_manager, results)
    finally:
        frame.unpersist()
    failures = read_failures(spark, files.failures)
    problems = disagreements(results, count_by_check(failures), found, files.observed)
    queues = _queues(found, not_checked, count_by_queue(failures))
    summary = replace(
        summary_of(suites, results, seen),
        run=files.run,
        queue_manager=queue_manager,
        queue=",".join(found),
        found=sum(found.values()),
        done=sum(queue.done for queue in queues),
        left=sum(queue.left for queue in queues),
        not_checked=sum(queue.not_checked for queue in queues),
        balanced=not problems,
        messages={name: sum(queue.failed[name] for queue in queues) for name in SEVERITIES},
        queues=queues,
        problems=tuple(problems),
        failures=str(files.failures),
        docs=docs,
        checked_at=now,
        check=files.check,
        by_workflow=files.by_workflow,
    )
    write_json(files.quality_json, summary.to_json())
    if files.check:
        keep(files.of_run, summary)
    return summary


def _validated(
    validator: Validator, frame: DataFrame, suites: tuple[Suite, ...], seen: QueuesSeen, messages: int
) -> tuple[list[CheckResult], list[Failing]]:
    """The results of all suites, and which messages fail what. Parameters: `messages` number of them, for the log."""
    results: list[CheckResult] = []
    failing: list[Failing] = []
    for number, suite in enumerate(suites, start=1):
        _log.info(
            "Suite %s (%d of %d): %s on %s",
            printable(suite.name),
            number,
            len(suites),
            counted(len(suite.checks), "expectation"),
            counted(messages, "message"),
        )
        suite_results, suite_failing = validator.validate(frame, suite, seen)
        results += suite_results
        failing += suite_failing
    return results, failing


def read_snapshot(spark: SparkSession, folder: Path, *, needs_body: bool = True) -> DataFrame:
    """The snapshot in a folder.

    Parameters: `needs_body` whether the bodies are read; without them no key is needed.

    Raises:
        SettingsError: the Parquet files there are something else.
        LakeError: they cannot be read, or decrypted.
    """
    from mqops.observe.spark import sealed  # noqa: PLC0415

    stored = sealed.schema_in(folder)
    with _unreadable(folder):
        there = {field.name: field.dataType for field in spark.read.parquet(str(folder)).schema}
    refuse_newer_folder(folder)
    wrong = [field.name for field in stored if there.get(field.name) != field.dataType]
    if wrong:
        raise SettingsError(
            f"{folder} is not a snapshot of this version of mqops: missing or of another type: {', '.join(wrong)}"
        )
    return sealed.read_snapshot(spark, folder, ["body"] if needs_body else [])


@contextmanager
def _unreadable(folder: Path) -> Iterator[None]:
    """Turn Spark's errors of reading files into `LakeError`; others stay as they are."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if "FAILED_READ_FILE" not in str(error) and "UNABLE_TO_INFER_SCHEMA" not in str(error):
            raise
        raise LakeError(f"The snapshot {folder} cannot be read; restore its files, or take a new one") from error


def _found(
    frame: DataFrame, observed: ObserveSummary | None, checked: str | None
) -> tuple[dict[str, int], dict[str, int]]:
    """Messages by queue, the observed queues that were empty included; and those of them that no check is about. This
    is what reads the bodies.

    Parameters: `checked` which messages checks are about, as SQL; None for every message.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415

    passed_over = ~F.coalesce(F.expr(checked or "true"), F.lit(False))
    rows = frame.groupBy("queue").agg(F.count(F.lit(1)).alias("messages"), F.count_if(passed_over).alias("others"))
    counts = {one.queue: 0 for one in observed.queues} if observed else {}
    others = {}
    for row in rows.collect():
        counts[row["queue"]], others[row["queue"]] = row["messages"], row["others"]
    return dict(sorted(counts.items())), others


def _queue_manager(frame: DataFrame, files: QualityFiles) -> str:
    if files.observed:
        return files.observed.queue_manager
    names = [row["queue_manager"] for row in frame.select("queue_manager").distinct().take(2)]
    if len(names) > 1:
        raise SettingsError(f"{files.snapshot} holds messages of several queue managers; check one at a time")
    return str(names[0]) if names else "?"


def _docs(validator: Any, files: QualityFiles, queue_manager: str, results: Sequence[CheckResult]) -> str:
    if files.docs is None:
        return ""
    from mqops.quality.offline_pages import INDEX, make_offline  # noqa: PLC0415

    with new_docs(files.docs) as folder:
        texts = validator.build_docs(folder)
        make_offline(folder, f"Data quality on {queue_manager}, run {files.run}", results, texts)
    return str(files.docs / INDEX)


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
