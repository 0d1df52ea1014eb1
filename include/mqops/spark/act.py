"""Act with Spark: lanes of the approved plan spread over the tasks, each task with one connection.

Whatever Spark does with a task (repeat it, run it twice, lose its result), a unit of work happens once: its lane's
ticket is got in the unit of work itself (`mqops.act`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from mqops.act.lanes import ACTED, DEFAULT_LANES, DEFAULT_UNIT_SIZE, Row
from mqops.act.mover import LaneResult
from mqops.model import ActSummary
from mqops.mq.connection import MqConnection
from mqops.spark.digest import digest_of
from mqops.spark.job import told_by_spark
from mqops.store.files import lake_errors, write_json
from mqops.store.run import RunFolder
from mqops.workflow.act import ROW_COLUMNS, LaneWorker, make_row, rounds, summarise
from mqops.workflow.tickets import Order, about_plan, check_rows, issue_once, read_order

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

RESULT = "lane long, state string, moved long, discarded long, failed long, absent long, units long, backouts long"


def act(
    spark: SparkSession,
    connection: MqConnection,
    run: RunFolder,
    *,
    unit_size: int = DEFAULT_UNIT_SIZE,
    lanes: int = DEFAULT_LANES,
    approved: str = "",
    about: Mapping[str, Any] | None = None,
) -> ActSummary:
    """Act on a run's plan, or finish what an earlier execution began; writes RUN/act.json.

    Parameters: `unit_size` most messages a unit of work; `lanes` how many destinations are served side by side (the
    first execution decides); `approved` digest of the approved plan; `about` who asked and who approved.

    Raises:
        PlanChanged: the plan is not the approved one, or its rows are not those it was made with.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    started = time.monotonic()
    order = read_order(run, approved)
    with run.lock():
        with lake_errors(run.plan):
            plan = spark.read.parquet(str(run.plan))
        with told_by_spark(run.plan):
            check_rows(order, digest_of(plan))
        lengths = issue_once(connection, run, order, lambda: _lengths(plan, lanes), about_plan(order, **(about or {})))
        task = ActTask(
            connection=connection, order=replace(order, document={}), lengths=tuple(lengths), unit_size=unit_size
        )
        rows = _in_lanes(plan, len(lengths))

        def visit(unfinished: Sequence[int]) -> list[LaneResult]:
            with told_by_spark(run.plan):
                reports = rows.where(F.col("lane").isin(*unfinished)).mapInArrow(task, RESULT).collect()
            return [LaneResult(**report.asDict()) for report in reports]

        results = rounds(connection, run, order, lengths, visit)
        summary = summarise(order, results, time.monotonic() - started)
        write_json(run.act_json, summary.to_json())
    return summary


def _lengths(plan: DataFrame, lanes: int) -> list[int]:
    counted = _with_lane(plan, lanes).groupBy("lane").count().collect()
    lengths = [0] * lanes
    for row in counted:
        lengths[row["lane"]] = row["count"]
    return lengths


def _with_lane(plan: DataFrame, lanes: int) -> DataFrame:
    lane = F.pmod(F.crc32(F.col("unit_group").cast("binary")), F.lit(lanes)).cast("int")
    return plan.where(F.col("action").isin(*ACTED)).withColumn("lane", lane)


def _in_lanes(plan: DataFrame, lanes: int) -> DataFrame:
    """The plan's rows to act on: each with its position, a lane's rows together and in order."""
    identifiers = ["msg_id", "correl_id"]
    same = plan.groupBy(*identifiers).count().where(F.col("count") > 1).select(*identifiers, F.lit(True).alias("twin"))
    in_lane = Window.partitionBy("lane").orderBy("unit_group", "row")
    return (
        _with_lane(plan.select(*ROW_COLUMNS), lanes)
        .join(same, on=identifiers, how="left")
        .withColumn("twin", F.coalesce("twin", F.lit(False)))
        .withColumn("position", F.row_number().over(in_lane) - 1)
        .repartition(lanes, "lane")
        .sortWithinPartitions("lane", "position")
    )


@dataclass(frozen=True, kw_only=True)
class ActTask:
    """What runs in a Spark task: all lanes of its partition, one after the other."""

    connection: MqConnection
    order: Order
    lengths: tuple[int, ...]
    unit_size: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        names = [field.name for field in fields(LaneResult)]
        with LaneWorker(self.connection, self.order, self.unit_size) as worker:
            for lane, rows in groupby(_rows(batches), key=lambda pair: pair[0]):
                report = worker.run(lane, self.lengths[lane], (row for _lane, row in rows))
                yield pa.RecordBatch.from_pylist([dict(zip(names, astuple(report), strict=True))])


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Row]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row["lane"], make_row(row["position"], row)
