"""A quality run: suites on a snapshot, the table of failures, the pages, the summary. Reads the lake, touches no queue.

Everything is written below one folder, `quality.json` last, so that a run that has it is complete.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqops.counted import counted
from mqops.errors import LakeError, SettingsError
from mqops.lake.files import lake_errors, make_folder, read_json, write_json
from mqops.printable import printable
from mqops.quality.docs_folder import new_docs, refuse_foreign
from mqops.quality.suite import Suite, columns_of
from mqops.quality.summary import NOTHING, CheckResult, QualitySummary, QueueQuality
from mqops.quality.vocabulary import SEVERITIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mqops.quality.validation import Failing, Validator

_log = logging.getLogger(__name__)

ROWS_PER_PARTITION = 250_000  # rows are narrow, the payload is not among them


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityFiles:
    """Where a quality run reads and writes.

    Attributes:
        snapshot: folder of the snapshot's Parquet files.
        observed: what `observe.json` says of the snapshot, empty where there is none.
        folder: what is written lies below it.
        docs: whether, and where, Data Docs are built: in a new folder, an empty one, or one that mqops made.
    """

    snapshot: Path
    folder: Path
    docs: Path | None = None
    run: str = ""
    observed: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Path, *, folder: Path | None = None, docs: Path | None = None) -> QualityFiles:
        """The files for a run's folder or for the folder of a snapshot.

        Raises:
            SettingsError: there is no snapshot.
            LakeError: observe.json cannot be read.
        """
        run = snapshot.parent if snapshot.name == "snapshot" else snapshot
        observe_json = run / "observe.json"
        observed = read_json(observe_json) if observe_json.is_file() else {}
        files = run / "snapshot" if observed else snapshot
        if not files.is_dir() or not any(files.glob("*.parquet")):
            raise SettingsError(f"There is no snapshot in {snapshot}: name a run's folder, or one of Parquet files")
        return cls(
            snapshot=files,
            observed=observed,
            folder=folder or run / "quality",
            docs=docs and docs.absolute(),
            run=run.name,
        )

    @property
    def failures(self) -> Path:
        """Folder of the table of failures."""
        return self.folder / "failures"

    @property
    def docs_of_run(self) -> bool:
        """Whether the Data Docs lie where the run has its own."""
        return self.docs == (self.snapshot.parent / "quality" / "docs").absolute()

    @property
    def quality_json(self) -> Path:
        """The summary."""
        return self.folder / "quality.json"


def check(spark: SparkSession, files: QualityFiles, suites: tuple[Suite, ...], *, now: str) -> QualitySummary:
    """Run suites on a snapshot; writes the table of failures, the pages and `quality.json`.

    Parameters: `now` the time for the summary, ISO 8601. Failed expectations are in the summary; see `verdict`.

    Raises:
        SettingsError: what lies there is no snapshot, a suite cannot be run, or the folder of the pages is not ours.
        LakeError: the disk refused.
    """
    from mqops.quality.failures import count_by_check, count_by_queue, read_failures, write_failures  # noqa: PLC0415
    from mqops.quality.frame import frame_of  # noqa: PLC0415
    from mqops.quality.validation import Validator  # noqa: PLC0415

    if files.docs is not None:
        refuse_foreign(files.docs, of_run=files.docs_of_run)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    make_folder(files.folder)
    files.quality_json.unlink(missing_ok=True)
    _tell(files)
    frame = frame_of(read_snapshot(spark, files.snapshot), columns_of(suites)).persist()
    try:
        with _unreadable(files.snapshot):
            found = _found(frame, files.observed)
        spark.conf.set("spark.sql.shuffle.partitions", str(2 + sum(found.values()) // ROWS_PER_PARTITION))
        queue_manager = _queue_manager(frame, files)
        validator = Validator(queue_manager, files.run)
        results, failing = _validated(validator, frame, suites, sum(found.values()))
        _log.info("Writing which messages failed which expectation")
        write_failures(spark, failing, files.failures)
        docs = _docs(validator, files, queue_manager, results)
    finally:
        frame.unpersist()
    failures = read_failures(spark, files.failures)
    problems = disagreements(results, count_by_check(failures), found, files.observed)
    queues = _queues(found, count_by_queue(failures))
    summary = QualitySummary(
        run=files.run,
        queue_manager=queue_manager,
        queue=",".join(found),
        found=sum(found.values()),
        done=sum(queue.done for queue in queues),
        left=sum(queue.left for queue in queues),
        balanced=not problems,
        failed={name: sum(r.severity == name and not r.met for r in results) for name in SEVERITIES},
        messages={name: sum(queue.failed[name] for queue in queues) for name in SEVERITIES},
        suites=tuple(suite.name for suite in suites),
        checks=tuple(results),
        queues=queues,
        problems=tuple(problems),
        failures=str(files.failures),
        docs=docs,
        checked_at=now,
    )
    write_json(files.quality_json, summary.to_json())
    _tell(files)
    return summary


def _tell(files: QualityFiles) -> None:
    """Give the run's folder another time, by which the list of runs sees that it has changed (`mqops.look.runs`)."""
    if files.folder.parent == files.snapshot.parent:
        with lake_errors(files.folder.parent):
            os.utime(files.folder.parent)


def _validated(
    validator: Validator, frame: DataFrame, suites: tuple[Suite, ...], messages: int
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
        suite_results, suite_failing = validator.validate(frame, suite)
        results += suite_results
        failing += suite_failing
    return results, failing


def read_snapshot(spark: SparkSession, folder: Path) -> DataFrame:
    """The snapshot in a folder.

    Raises:
        SettingsError: the Parquet files there are something else.
        LakeError: they cannot be read.
    """
    from mqops.observe.spark.schema import SNAPSHOT  # noqa: PLC0415

    with _unreadable(folder):
        there = {field.name: field.dataType for field in spark.read.parquet(str(folder)).schema}
    wrong = [field.name for field in SNAPSHOT if there.get(field.name) != field.dataType]
    if wrong:
        raise SettingsError(
            f"{folder} is not a snapshot of this version of mqops: missing or of another type: {', '.join(wrong)}"
        )
    return spark.read.schema(SNAPSHOT).parquet(str(folder))


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


def _found(frame: DataFrame, observed: Mapping[str, Any]) -> dict[str, int]:
    """Messages by queue, the observed queues that were empty included. This is what reads the bodies."""
    counts = {queue["queue"]: 0 for queue in observed.get("queues", ())}
    counts |= {row["queue"]: row["count"] for row in frame.groupBy("queue").count().collect()}
    return dict(sorted(counts.items()))


def _queue_manager(frame: DataFrame, files: QualityFiles) -> str:
    if "queue_manager" in files.observed:
        return str(files.observed["queue_manager"])
    names = [row["queue_manager"] for row in frame.select("queue_manager").distinct().take(2)]
    if len(names) > 1:
        raise SettingsError(f"{files.snapshot} holds messages of several queue managers; check one at a time")
    return str(names[0]) if names else "?"


def _docs(validator: Any, files: QualityFiles, queue_manager: str, results: Sequence[CheckResult]) -> str:
    if files.docs is None:
        return ""
    from mqops.quality.offline_pages import INDEX, make_offline  # noqa: PLC0415

    with new_docs(files.docs, of_run=files.docs_of_run) as folder:
        texts = validator.build_docs(folder)
        make_offline(folder, f"Data quality on {queue_manager}, run {files.run}", results, texts)
    return str(files.docs / INDEX)


def disagreements(
    results: Iterable[CheckResult],
    in_table: Mapping[tuple[str, str], int],
    found: Mapping[str, int],
    observed: Mapping[str, Any],
) -> list[str]:
    """What does not add up: the table of failures against GX's counts, the snapshot against what observe counted."""
    problems = []
    for result in results:
        rows = in_table.get((result.suite, result.expectation), 0)
        if rows != (result.failed or 0):
            where = f"{result.suite}.{result.expectation}"
            problems.append(
                f"{where}: {counted(result.failed or 0, 'message')} failed, {rows} are in the table of failures"
            )
    for queue in observed.get("queues", ()):
        if found.get(queue["queue"]) != queue["messages"]:
            there = found.get(queue["queue"], 0)
            problems.append(
                f"{queue['queue']}: observed: {counted(queue['messages'], 'message')}, in the snapshot: {there}"
            )
    return problems


def _queues(found: Mapping[str, int], failed: Mapping[str, Mapping[str, int]]) -> tuple[QueueQuality, ...]:
    queues = []
    for queue, messages in found.items():
        counts = failed.get(queue, {"any": 0, **NOTHING})
        severities = {name: counts[name] for name in SEVERITIES}
        left = counts["any"]
        queues.append(QueueQuality(queue=queue, found=messages, done=messages - left, left=left, failed=severities))
    return tuple(queues)
