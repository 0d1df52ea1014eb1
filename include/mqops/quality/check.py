"""A quality run by Great Expectations itself, on Spark: for suites that have an expectation of another distribution."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mqops.message_checks import CheckResult, QualitySummary
from mqops.model import ObserveSummary
from mqops.quality.docs_folder import new_docs
from mqops.quality.files import QualityFiles
from mqops.quality.outcome import Found, begun, concluded, in_turn, queue_manager_of
from mqops.quality.scope import QueuesSeen, checked_sql, with_bases
from mqops.quality.snapshot_frame import frame_for, unreadable
from mqops.quality.suite import Suite
from mqops.spark_job import cached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mqops.quality.validation import Failing, Validator

_log = logging.getLogger(__name__)

ROWS_PER_PARTITION = 250_000  # rows are narrow, the payload is not among them


def check(spark: SparkSession, files: QualityFiles, suites: tuple[Suite, ...], *, now: str) -> QualitySummary:
    """Run suites on a snapshot by Spark; writes the table of failures, the pages and `quality.json`.

    Parameters: `now` the time for the summary, ISO 8601. Failed expectations are in the summary; see `verdict`.

    Raises:
        SettingsError: what lies there is no snapshot, a suite cannot be run, or the folder of the pages is not ours.
        LakeError: the disk refused.
    """
    from mqops.quality.failures import write_failures  # noqa: PLC0415
    from mqops.quality.validation import Validator  # noqa: PLC0415

    begun(files)
    suites = with_bases(suites, files.aliases)
    with cached(frame_for(spark, files, suites)) as frame:
        with unreadable(files.snapshot):
            found, not_checked = _found(frame, files.observed, checked_sql(suites))
        seen = files.seen(found)
        spark.conf.set("spark.sql.shuffle.partitions", str(2 + sum(found.values()) // ROWS_PER_PARTITION))
        names = [row["queue_manager"] for row in frame.select("queue_manager").distinct().take(2)]
        queue_manager = queue_manager_of(names, files)
        validator = Validator(queue_manager, files.of_run, now)
        results, failing = _validated(validator, frame, suites, seen, sum(found.values()))
        _log.info("Writing which messages failed which expectation")
        write_failures(spark, failing, files.failures)
        docs = _docs(validator, files, queue_manager, results, suites)
    return concluded(
        files,
        suites,
        Found(
            queue_manager=queue_manager,
            seen=seen,
            messages=found,
            not_checked=not_checked,
            results=tuple(results),
            docs=docs,
        ),
        now=now,
    )


def _validated(
    validator: Validator, frame: DataFrame, suites: tuple[Suite, ...], seen: QueuesSeen, messages: int
) -> tuple[list[CheckResult], list[Failing]]:
    """The results of all suites, and which messages fail what. Parameters: `messages` number of them, for the log."""
    results: list[CheckResult] = []
    failing: list[Failing] = []
    for suite in in_turn(suites, messages):
        suite_results, suite_failing = validator.validate(frame, suite, seen)
        results += suite_results
        failing += suite_failing
    return results, failing


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


def _docs(
    validator: Any, files: QualityFiles, queue_manager: str, results: Sequence[CheckResult], suites: Sequence[Suite]
) -> str:
    if files.docs is None:
        return ""
    from mqops.quality.offline_pages import INDEX, make_offline  # noqa: PLC0415

    with new_docs(files.docs) as folder:
        texts = validator.build_docs(folder, suites)
        make_offline(folder, f"Data quality on {queue_manager}, run {files.run}", results, texts)
    return str(files.docs / INDEX)
