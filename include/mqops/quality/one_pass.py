"""A quality run by Spark for a snapshot that is too large for `mqops.quality.in_process`: one pass over the messages.

1. A worker does to a piece of the snapshot (`mqops.quality.pieces`) what one process does to a whole one
   (`mqops.quality.evaluate`): it hands on how many messages a check is about and how many fail it, and the rows of the
   table of failures.
2. What needs every message at once (unique values, quantiles, checks between messages) is computed on the driver from
   the columns that it names, and from no others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mqops.lake.parquet import read_parquet
from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.check_table import by_queue, not_checked_in, result_here, result_of_rows
from mqops.quality.docs_folder import new_docs
from mqops.quality.evaluate import (
    answer,
    answer_of_number,
    columns_for,
    computed_by_rows,
    only_counts,
    values_there,
)
from mqops.quality.failed_rows import Failed, failures_of, write_failed
from mqops.quality.failures import FAILURES, write_rows
from mqops.quality.files import QualityFiles
from mqops.quality.history import History
from mqops.quality.outcome import Found, begun, concluded, in_turn, queue_manager_of
from mqops.quality.own_pages import SAMPLES, write_pages
from mqops.quality.pieces import Pieces, pieces
from mqops.quality.scope import QueuesSeen, nothing_seen, on_nothing, queues_of, with_bases
from mqops.quality.suite import Check, Suite, asked_by, columns_of
from mqops.quality.summary import NO_VALUE, result_of
from mqops.quality.where import chosen
from mqops.spark_job import cached, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

FEW_FAILURES = 100_000
"""Most failing rows that come to the driver."""
NAME, QUEUE, OF_CHECK, FAILING = "queue manager", "queue", "check", "failing"
_COUNTS = ("number", "about", "there", "checked", "failed")
_TEXTS = ("kind", *(one.name for one in FAILURES if one.name not in {"position", "tolerated"}))
HEARD = pa.schema(
    [*(pa.field(one, pa.int64()) for one in (*_COUNTS, "position")), *(pa.field(one, pa.string()) for one in _TEXTS)]
)
"""What workers hand on: a queue manager, the messages of a queue (`about`, of them `checked`), the counts of a check, a
failing row."""


class Counts(NamedTuple):
    """Of a check by rows: messages that it is about, those with a value, those that it looked at, those that fail."""

    about: int = 0
    there: int = 0
    checked: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the workers found, added up.

    Attributes: `messages` queue → how many; `others` queue → those that no check is about; `names` of queue managers;
    `counts` number of a check by rows → its counts.
    """

    messages: dict[str, int]
    others: dict[str, int]
    names: set[str]
    counts: dict[int, Counts]


def check_in_one_pass(
    spark: SparkSession, files: QualityFiles, suites: tuple[Suite, ...], *, now: str
) -> QualitySummary:
    """Run suites on a snapshot; writes the table of failures, the pages and `quality.json`.

    Parameters: `now` the time for the summary, ISO 8601. Failed expectations are in the summary; see `verdict`.

    Raises:
        SettingsError: what lies there is no snapshot, a suite cannot be run, or the folder of the pages is not ours.
        LakeError: the disk refused.
    """
    begun(files)
    suites = with_bases(suites, files.aliases)
    snapshot = pieces(files.snapshot, columns_of(suites), asked_by(suites))
    with cached(snapshot.mapped(spark, Pass(suites), HEARD)) as told:
        with spark_errors(files.snapshot):
            heard = _added_up(told, files)
            everywhere = _on_the_driver(spark, snapshot, suites)
        seen = files.seen(heard.messages)
        queue_manager = queue_manager_of(sorted(heard.names)[:2], files)
        results, failed = _results(everywhere, suites, seen, heard, History(files.of_run, now))
        _log.info("Writing which messages failed which expectation")
        _write(told, heard, results, failed, files.failures)
    return concluded(
        files,
        suites,
        Found(
            queue_manager=queue_manager,
            seen=seen,
            messages=heard.messages,
            not_checked=heard.others,
            results=tuple(results),
            docs=_docs(files, queue_manager, suites, results),
        ),
        now=now,
    )


@dataclass(frozen=True)
class Pass:
    """What a Spark task does to a piece. Parameters: `suites` with the queues that aliases lead to."""

    suites: tuple[Suite, ...]

    def __call__(self, table: pa.Table) -> pa.Table:
        others = not_checked_in(table, self.suites)
        rows: list[dict[str, Any]] = [
            *({"kind": NAME, "queue_manager": name} for name in pc.unique(table["queue_manager"]).to_pylist()),
            *(
                {"kind": QUEUE, "queue": queue, "about": number, "checked": number - others.get(queue, 0)}
                for queue, number in by_queue(table, ()).items()
            ),
        ]
        tables = []
        for number, (suite, check) in enumerate(_all_checks(self.suites)):
            if not computed_by_rows(check):
                continue
            about = chosen(table, check.where, suite.queues)
            found = answer(table, check, about)
            failing = found.rows if found.rows is not None else pa.array([], pa.int64())
            counts = Counts(len(about), values_there(table, check, about), found.checked, len(failing))
            rows.append({"kind": OF_CHECK, "number": number, **counts._asdict()})
            if len(failing):
                tables.append(_told(table.take(failing), suite, check, number))
        return pa.concat_tables([pa.Table.from_pylist(rows, HEARD), *tables])


def _all_checks(suites: Iterable[Suite]) -> Iterator[tuple[Suite, Check]]:
    """The checks of all suites; their places are their numbers."""
    return ((suite, check) for suite in suites for check in suite.checks)


def _told(rows: pa.Table, suite: Suite, check: Check, number: int) -> pa.Table:
    """Failing rows as workers hand them on. Whether they are tolerated is known when all have been counted."""
    found = failures_of(rows, check, result_of(suite, check, met=False))
    columns = {name: found[name] for name in found.column_names if name != "tolerated"}
    columns |= {"kind": pa.array([FAILING] * rows.num_rows), "number": pa.array([number] * rows.num_rows, pa.int64())}
    empty = {one.name: pa.nulls(rows.num_rows, one.type) for one in HEARD if one.name not in columns}
    return pa.table({**columns, **empty}).select(HEARD.names).cast(HEARD)


def _added_up(told: DataFrame, files: QualityFiles) -> Heard:
    """The counts of all workers. This is what reads the messages."""
    observed = files.observed.queues if files.observed else ()
    heard = Heard(messages=dict.fromkeys((one.queue for one in observed), 0), others={}, names=set(), counts={})
    of_what = ["kind", "queue_manager", "queue", "number"]
    of_workers = told.where(F.col("kind") != FAILING).select(*of_what, *Counts._fields).toArrow()
    sums = of_workers.group_by(of_what).aggregate([(one, "sum") for one in Counts._fields])
    sums = sums.select([*of_what, *(f"{one}_sum" for one in Counts._fields)])
    for row in sums.rename_columns(of_workers.column_names).to_pylist():
        if row["kind"] == OF_CHECK:
            heard.counts[row["number"]] = Counts(*(row[one] for one in Counts._fields))
            continue
        if row["kind"] == NAME:
            heard.names.add(row["queue_manager"])
            continue
        queue = row["queue"]
        heard.messages[queue] = heard.messages.get(queue, 0) + row["about"]
        heard.others[queue] = heard.others.get(queue, 0) + row["about"] - row["checked"]
    return replace(heard, messages=dict(sorted(heard.messages.items())))


def _results(
    table: pa.Table, suites: tuple[Suite, ...], seen: QueuesSeen, heard: Heard, history: History
) -> tuple[list[CheckResult], list[Failed]]:
    """The results of all checks in their order, and the failing rows of those that the driver computes.

    Parameters: `table` of `_on_the_driver`.
    """
    results, failed = list[CheckResult](), list[Failed]()
    numbers = count()
    for suite in in_turn(suites, sum(heard.messages.values())):
        messages = sum(heard.messages[queue] for queue in queues_of(suite, heard.messages))
        for check, number in zip(suite.checks, numbers, strict=False):
            if not (messages or check.expectation.between):
                results.append(on_nothing(suite, check, seen))
            elif computed_by_rows(check):
                results.append(_counted(suite, check, seen, heard.counts.get(number, Counts())))
            else:
                result, rows = result_here(table, suite, check, seen, history)
                results.append(result)
                if rows is not None and len(rows):
                    failed.append(Failed(result, failures_of(table.take(rows), check, result)))
    return results, failed


def _on_the_driver(spark: SparkSession, snapshot: Pieces, suites: Iterable[Suite]) -> pa.Table:
    """The columns of the checks that see all messages at once, each once; no row where there is no such check."""
    wanted = [name for _, check in _all_checks(suites) if not computed_by_rows(check) for name in columns_for(check)]
    if not wanted:
        return pa.table({})
    return snapshot.columns(spark, wanted)


def _counted(suite: Suite, check: Check, seen: QueuesSeen, counts: Counts) -> CheckResult:
    if why := nothing_seen(suite, check, seen):
        return result_of(suite, check, met=False, skipped=why)
    if only_counts(check):
        found = answer_of_number(check, counts.about)
        return result_of(suite, check, met=found.met, checked=found.checked, observed=found.observed)
    if check.expectation.needs_values and not counts.there:
        return result_of(suite, check, met=True, skipped=NO_VALUE)
    return result_of_rows(suite, check, checked=counts.checked, failed=counts.failed)


def _write(
    told: DataFrame, heard: Heard, results: Sequence[CheckResult], failed: Iterable[Failed], folder: Path
) -> None:
    """The table of failures: the rows of the workers, and those of the driver."""
    tolerated = [number for number, result in enumerate(results) if result.met]
    rows = told.where(F.col("kind") == FAILING).withColumn("tolerated", F.col("number").isin(tolerated))
    rows = rows.select(*FAILURES.fieldNames())
    if sum(one.failed for one in heard.counts.values()) <= FEW_FAILURES:
        write_failed([rows.toArrow(), *(one.rows for one in failed)], folder)
        return
    others = [told.sparkSession.createDataFrame(one.rows) for one in failed]
    write_rows(reduce(DataFrame.unionByName, [rows, *others]), folder)


def _docs(files: QualityFiles, queue_manager: str, suites: Sequence[Suite], results: Sequence[CheckResult]) -> str:
    if files.docs is None:
        return ""
    with new_docs(files.docs) as folder:
        failed = _some_that_fail(files.failures, results)
        first = write_pages(folder, f"Data quality on {queue_manager}, run {files.run}", suites, results, failed)
    return str(files.docs / first)


def _some_that_fail(folder: Path, results: Iterable[CheckResult]) -> list[Failed]:
    """As many failing rows of each check as its page shows; the table is read until they are there."""
    wanted = {(one.suite, one.expectation): one for one in results if one.failed}
    found: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in wanted}
    lacking = {key: min(SAMPLES, one.failed or 0) for key, one in wanted.items()}
    for batch in read_parquet(folder, FAILURES.fieldNames()):
        if not lacking:
            break
        for row in batch.to_pylist():
            key = (row["suite"], row["expectation"])
            if key in lacking:
                found[key].append(row)
                if len(found[key]) == lacking[key]:
                    del lacking[key]
    return [Failed(wanted[key], pa.Table.from_pylist(rows)) for key, rows in found.items()]
