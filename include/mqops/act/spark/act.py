"""Act with Spark: lanes of the approved plan spread over the tasks, each task with one connection.

Whatever Spark does with a task (repeat it, run it twice, lose its result), a unit of work happens once: its lane's
ticket is got in the unit of work itself (`mqops.act`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from mqops.act.canary import Decision
from mqops.act.core.lanes import DEFAULT_LANES, DEFAULT_UNIT_SIZE, Row
from mqops.act.core.mover import LaneResult
from mqops.act.in_process import ROW_COLUMNS, LaneWorker, canary_lanes, make_row, phases, summarise
from mqops.act.resume_record import note_finisher
from mqops.act.tickets import Order, about_plan, check_rows, issue_once, reached_in_ledger, read_order
from mqops.actions import ACTED, PUTS
from mqops.decide.core.pacing import AS_EVER, Handling
from mqops.decide.spark.digest import digest_of
from mqops.lake.files import lake_errors, write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import refuse_if_stopped
from mqops.model import ActSummary
from mqops.mq.connection import MqConnection
from mqops.spark_job import told_by_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

RESULT = "lane long, state string" + "".join(
    f", {count} long" for count in ("moved", "discarded", "failed", "absent", "left", "units", "backouts")
)


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
    first execution decides); `approved` digest of the approved plan; `about` as for the plain one.

    Raises:
        PlanChanged: the plan is not the approved one, or its rows are not those it was made with.
        Stopped: the run or its queue manager is stopped.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    started = time.monotonic()
    order = read_order(run, approved)
    with run.lock():
        refuse_if_stopped(run)
        with lake_errors(run.plan):
            plan = spark.read.parquet(str(run.plan))
        with told_by_spark(run.plan):
            check_rows(order, digest_of(plan))
        told = about_plan(order, **(about or {}))
        lengths = issue_once(connection, run, order, lambda: _lengths(plan, lanes, order.handling), told)
        note_finisher(connection, order, told.get("finished_by", ""))
        first = canary_lanes(lengths, order.handling)
        rows = _in_lanes(plan, len(lengths), order.handling)
        tasks = len(lengths)
        if order.handling.has_pace:  # no more tasks than run at a time, so that a share of the pace is not wasted
            tasks = max(1, min(tasks, _at_a_time(spark)))
        rows = rows.repartition(tasks, "lane").sortWithinPartitions("lane", "position")
        task = ActTask(
            connection=connection,
            order=replace(order, document={}),
            lengths=tuple(lengths),
            unit_size=unit_size,
            shares=tasks,
            reached=reached_in_ledger(order),
        )

        def visit(unfinished: Sequence[int], decision: Decision) -> list[LaneResult]:
            chosen = rows.where(F.col("lane").isin(*unfinished))
            with told_by_spark(run.plan):
                reports = chosen.mapInArrow(replace(task, decision=decision), RESULT).collect()
            return [LaneResult(**report.asDict()) for report in reports]

        def ahead() -> list[Row]:
            with told_by_spark(run.plan):
                found = rows.where(F.col("lane").isin(*first)).collect()
            return [make_row(row["position"], row.asDict()) for row in found]

        results = phases(connection, order, lengths, visit, ahead)
        summary = summarise(order, results, time.monotonic() - started)
        write_json(run.act_json, summary.to_json())
    return summary


def _at_a_time(spark: SparkSession) -> int:
    """How many tasks run side by side: Spark's default parallelism. Spark Connect has no other way to ask for it."""
    return spark.range(10_000).select(F.spark_partition_id().alias("task")).distinct().count()


def _lengths(plan: DataFrame, lanes: int, handling: Handling) -> list[int]:
    number = lanes * 2 if handling.has_canaries else lanes
    counted = _with_lane(plan, number, handling).groupBy("lane").count().collect()
    lengths = [0] * number
    for row in counted:
        lengths[row["lane"]] = row["count"]
    return lengths


def _with_lane(plan: DataFrame, lanes: int, handling: Handling) -> DataFrame:
    """The rows with an action and their lanes. Parameters: `lanes` those of canaries included."""
    number = lanes // 2 if handling.has_canaries else lanes
    lane = F.pmod(F.crc32(F.col("unit_group").cast("binary")), F.lit(number)).cast("int")
    acted = plan.where(F.col("action").isin(*ACTED))
    if not handling.has_canaries:
        return acted.withColumn("lane", lane)
    ahead = F.when(_canary(handling), F.lit(number)).otherwise(0)
    together = Window.partitionBy("unit_group", "together")
    dealt = _may_lead(acted).withColumn("ahead", ahead).withColumn("lane", lane + F.max("ahead").over(together))
    return dealt.drop("ahead", "leads")


def _canary(handling: Handling) -> Column:
    """Whether a row is one of the first of its group (`mqops.act.canary`, rule 1)."""
    wanted = F.lit(handling.canary)
    for key, rule in handling.rules.items():
        if rule.canary:
            wanted = F.when(F.col("rule_key") == key, F.lit(rule.canary)).otherwise(wanted)
    leads = F.col("action").isin(*PUTS) & F.col("leads")
    group = Window.partitionBy("unit_group", F.coalesce("rule_key", F.lit("")), leads).orderBy("together", "row")
    return leads & (F.row_number().over(group) <= wanted)


def _may_lead(acted: DataFrame) -> DataFrame:
    """The rows with a column `leads`: whether they may be canaries, overtaking none with their order key."""
    together = Window.partitionBy("unit_group", "together")
    place = Window.partitionBy("unit_group", "order_key").orderBy("together", "row")
    rule = F.coalesce("rule_key", F.lit(""))
    one_rule = F.min(rule).over(place) == F.max(rule).over(place)
    sizes = acted.withColumn("size", F.count("*").over(together))
    follows = F.when(F.col("size") == 1, one_rule & (F.max("size").over(place) == 1)).otherwise(
        F.min("together").over(place) == F.col("together")
    )
    leads = sizes.withColumn("leads", (F.col("order_key") == "") | follows)
    return leads.withColumn("leads", F.min("leads").over(together)).drop("size")


def _in_lanes(plan: DataFrame, lanes: int, handling: Handling = AS_EVER) -> DataFrame:
    """The plan's rows to act on, each with its lane and its position there."""
    identifiers = ["msg_id", "correl_id"]
    same = plan.groupBy(*identifiers).count().where(F.col("count") > 1).select(*identifiers, F.lit(True).alias("twin"))
    in_lane = Window.partitionBy("lane").orderBy("unit_group", "together", "row")
    return (
        _with_lane(plan.select(*ROW_COLUMNS), lanes, handling)
        .join(same, on=identifiers, how="left")
        .withColumn("twin", F.coalesce("twin", F.lit(False)))
        .withColumn("position", F.row_number().over(in_lane) - 1)
    )


@dataclass(frozen=True, kw_only=True)
class ActTask:
    """What runs in a Spark task: all lanes of its partition, one after the other.

    Parameters: `shares` tasks that share the pace; `decision` about the canaries that went before; `reached` as for
    `LaneWorker`. The ledger's key is not in it: the task reads it from the lake.
    """

    connection: MqConnection
    order: Order
    lengths: tuple[int, ...]
    unit_size: int
    shares: int = 1
    decision: Decision = field(default_factory=Decision)
    reached: Mapping[int, int] = field(default_factory=dict)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        names = [one.name for one in fields(LaneResult)]
        with LaneWorker(
            self.connection,
            self.order,
            self.unit_size,
            shares=self.shares,
            decision=self.decision,
            reached=self.reached,
        ) as worker:
            for lane, rows in groupby(_rows(batches), key=lambda pair: pair[0]):
                report = worker.run(lane, self.lengths[lane], (row for _lane, row in rows))
                yield pa.RecordBatch.from_pylist([dict(zip(names, astuple(report), strict=True))])


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Row]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row["lane"], make_row(row["position"], row)
