"""Act with Spark: lanes of the approved plan spread over the tasks, each task with one connection.

Whatever Spark does with a task (repeat it, run it twice, lose its result), a unit of work happens once: its lane's
lane token is got in the unit of work itself (`mqops.act`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from mqops.act.approved_plan import ROW_COLUMNS, ApprovedPlan, acted_rows, check_rows, make_row, read_approved_plan
from mqops.act.beginning import begin
from mqops.act.canary import CanaryDecision
from mqops.act.core.deal import canary_lanes, deal, lane_lengths, tasks_of_lanes, with_canaries
from mqops.act.core.lanes import DEFAULT_LANES, DEFAULT_UNIT_SIZE, Row
from mqops.act.core.mover import LaneResult
from mqops.act.in_process import LaneWorker, phases, summarise
from mqops.act.progress import Progress, ProgressFile, heard_from_tasks
from mqops.actions import ACTED, moved_word
from mqops.decide.core.pacing import Pacing
from mqops.decide.spark.digest import digest_of
from mqops.decide.spark.schema import PLAN
from mqops.decide.spark.totals import FEW
from mqops.lake.files import lake_errors
from mqops.lake.parquet import refuse_newer_folder
from mqops.lake.run import RunFolder
from mqops.lake.shared import refuse_unseen
from mqops.lake.stop import refuse_if_stopped
from mqops.ledger import noted
from mqops.ledger.core.marker import About
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.opened import OpenLedger
from mqops.model import ActSummary
from mqops.mq.connection import MqConnection, one_session
from mqops.spark_job import spark_errors
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

PARALLELISM = "spark.default.parallelism"
AT_MOST = 10_000
"""More tasks at a time are not counted."""
ORDER = ("unit_group", "together", "row")
"""The columns that the rows of a lane are sorted by, `unit_group` by its bytes in UTF-8 (`core.deal.in_order`)."""
DEALT_BY = (*ORDER, "action", "rule_key", "order_key")
"""The columns that dealing reads."""
RESULT = StructType(
    [StructField(one.name, StringType() if one.name == "state" else LongType()) for one in fields(LaneResult)]
)
"""One row a lane."""
ROWS = StructType(
    [
        *(StructField(field.name, field.dataType) for field in PLAN if field.name in ROW_COLUMNS),
        StructField("duplicate_id", BooleanType()),
    ]
)
"""What a task gets: `ROW_COLUMNS` and `duplicate_id`."""


def act(
    spark: SparkSession,
    connection: MqConnection,
    run: RunFolder,
    *,
    unit_size: int = DEFAULT_UNIT_SIZE,
    lanes: int = DEFAULT_LANES,
    approved: str = "",
    about: About | None = None,
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
    approved_plan = read_approved_plan(run, approved)
    ledger = OpenLedger(LedgerFile(run.lake_folder), approved_plan.identity, run)
    with run.lock(), one_session(connection) as step:
        refuse_if_stopped(run)
        with lake_errors(run.plan):
            refuse_newer_folder(run.plan)
            plan = spark.read.schema(PLAN).parquet(str(run.plan))
        few = _checked(run, plan, approved_plan)
        lengths, about_run, reached = begin(
            step,
            approved_plan,
            ledger,
            lambda: (
                _lengths(plan, lanes, approved_plan.pacing)
                if few is None
                else lane_lengths(few, approved_plan.pacing, lanes)
            ),
            about,
        )
        first = canary_lanes(lengths, approved_plan.pacing)
        tasks = len(lengths)
        # No more tasks than run at a time: a share of the pace would be wasted, and a task of few rows costs more than
        # what it does.
        if approved_plan.pacing.has_pace or few is not None:
            tasks = max(1, min(sum(map(bool, lengths)), _at_a_time(spark)))
        acted = _acted(plan, repeated=few is None or any(row.duplicate_id for row in few))
        task_of = tasks_of_lanes(lengths, tasks, approved_plan.pacing)
        rows = _in_order(acted, task_of).to(ROWS)  # else PySpark asks for the columns: one analysis more
        task = ActTask(
            connection=connection,
            approved_plan=replace(approved_plan, summary=replace(approved_plan.summary, table_text="", counts=())),
            lengths=tuple(lengths),
            unit_size=unit_size,
            shares=max(task_of) + 1,
            reached=reached,
        )

        def visit(unfinished: Sequence[int], decision: CanaryDecision) -> list[LaneResult]:
            visited = replace(task, decision=decision, wanted=frozenset(unfinished))
            with spark_errors(run.plan):
                reports = rows.mapInArrow(visited, RESULT).collect()
            return [LaneResult(**report.asDict()) for report in reports]

        def ahead() -> list[Row]:
            with spark_errors(run.plan):
                dealt = _with_lanes(rows, len(lengths), approved_plan.pacing)
                found = dealt.where(F.col("lane").isin(*first)).collect()
            return [make_row(row["position"], row.asDict()) for row in found]

        put = moved_word(approved_plan.summary.actions)
        with Progress(run, lengths, about_run, reached, put=put) as progress, heard_from_tasks(run, progress):
            results = phases(step, approved_plan, ledger, visit, ahead, progress=progress)
            summary = summarise(approved_plan, results, time.monotonic() - started)
            noted.ACTED.write(run, summary)
    return summary


def _checked(run: RunFolder, plan: DataFrame, approved_plan: ApprovedPlan) -> list[Row] | None:
    """Check the rows of the plan; few rows are read here, and returned: two Spark jobs less.

    Raises:
        PlanChanged: the rows are not those that the plan was made with.
    """
    if approved_plan.summary.rows <= FEW:
        return acted_rows(approved_plan)
    with spark_errors(run.plan):
        check_rows(approved_plan, digest_of(plan))
    return None


def _at_a_time(spark: SparkSession) -> int:
    """How many tasks run side by side: Spark's default parallelism. Where no setting says it, Spark Connect has no
    other way to ask for it than by the number of the last partition, which is a job of its own."""
    if said := spark.conf.get(PARALLELISM, None):
        return int(said)
    last = spark.range(AT_MOST).where(F.col("id") == AT_MOST - 1).select(F.spark_partition_id().alias("partition"))
    return int(last.collect()[0]["partition"]) + 1


def _lengths(plan: DataFrame, lanes: int, pacing: Pacing) -> list[int]:
    """As `lane_lengths`, by Spark."""
    number = with_canaries(lanes, pacing)
    acted = plan.where(F.col("action").isin(*ACTED))
    if pacing.has_canaries:
        of_rows = _with_lanes(_in_order(acted.select(*DEALT_BY), range(lanes)), number, pacing)
    else:
        of_rows = acted.select(_home_lane(number).alias("lane"))
    lengths = [0] * number
    for row in of_rows.groupBy("lane").count().collect():
        lengths[row["lane"]] = row["count"]
    return lengths


def _home_lane(lanes: int) -> Column:
    """The lane of a destination, as `lane_of` computes it."""
    return F.pmod(F.crc32(F.col("unit_group").cast("binary")), F.lit(lanes)).cast("int")


def _in_order(rows: DataFrame, tasks: Sequence[int]) -> DataFrame:
    """The rows as `deal` takes them. Parameters: `tasks` the partition of each home lane."""
    partition = F.array(*map(F.lit, tasks))[F.col("home")]
    of_lanes = rows.withColumn("home", _home_lane(len(tasks))).repartitionById(max(tasks) + 1, partition)
    return of_lanes.sortWithinPartitions("home", *ORDER).drop("home")


def _with_lanes(rows: DataFrame, lanes: int, pacing: Pacing) -> DataFrame:
    """The rows of `_in_order` with the columns `lane` and `position`."""
    dealt = StructType([*rows.schema, StructField("lane", LongType()), StructField("position", LongType())])
    return rows.mapInArrow(Deal(lanes, pacing), dealt)


def _acted(plan: DataFrame, *, repeated: bool) -> DataFrame:
    """The rows to act on. `duplicate_id` says whether another row of the plan has the same identifiers.

    Parameters: `repeated` whether some rows may have them: else nobody has to look.
    """
    acted = plan.select(*ROW_COLUMNS).where(F.col("action").isin(*ACTED))
    if not repeated:
        return acted.withColumn("duplicate_id", F.lit(False))
    identifiers = ["msg_id", "correl_id"]
    same = (
        plan.groupBy(*identifiers)
        .count()
        .where(F.col("count") > 1)
        .select(*identifiers, F.lit(True).alias("duplicate_id"))
    )
    return acted.join(same, on=identifiers, how="left").withColumn(
        "duplicate_id", F.coalesce("duplicate_id", F.lit(False))
    )


class _Key(NamedTuple):
    """What dealing reads of a row (`mqops.act.core.deal.Dealable`); fields in the order of `DEALT_BY`."""

    unit_group: str
    bundle: int
    row: int
    action: str
    rule_key: str
    order_key: str


@dataclass(frozen=True)
class Deal:
    """Deals the rows of one partition of `_in_order` in a Spark task: adds the columns `lane` and `position`.

    Parameters: `lanes` with those of canaries.
    """

    lanes: int
    pacing: Pacing

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        begin_task()
        read: deque[pa.RecordBatch] = deque()

        def keys() -> Iterator[_Key]:
            for batch in batches:
                if batch.num_rows:
                    read.append(batch)
                    yield from _keys(batch)

        dealt: list[tuple[int, int]] = []
        for lane, position, _key in deal(keys(), self.lanes, self.pacing):  # in the order in which rows are read
            dealt.append((lane, position))
            if len(dealt) == read[0].num_rows:
                lanes, positions = (pa.array(column, pa.int64()) for column in zip(*dealt, strict=True))
                yield read.popleft().append_column("lane", lanes).append_column("position", positions)
                dealt.clear()


def _keys(batch: pa.RecordBatch) -> Iterator[_Key]:
    columns = {name: batch.column(name).to_pylist() for name in DEALT_BY}
    columns["rule_key"] = [rule or "" for rule in columns["rule_key"]]
    return map(_Key._make, zip(*columns.values(), strict=True))


@dataclass(frozen=True, kw_only=True)
class ActTask:
    """What runs in a Spark task: deal the rows of one partition of `_in_order`, and act on the lanes that are `wanted`,
    one after the other.

    Parameters: `shares` tasks that share the pace; `decision` about the canaries that went before; `reached` as for
    `LaneWorker`. The ledger's key is not in it: the task reads it from the lake.
    """

    connection: MqConnection
    approved_plan: ApprovedPlan
    lengths: tuple[int, ...]
    unit_size: int
    shares: int = 1
    decision: CanaryDecision = field(default_factory=CanaryDecision)
    reached: Mapping[int, int] = field(default_factory=dict)
    wanted: frozenset[int] = frozenset()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        begin_task()
        refuse_unseen(self.approved_plan.folder.path, made_by="the task")
        names = [one.name for one in fields(LaneResult)]
        with (
            ProgressFile(self.approved_plan.folder) as progress,
            LaneWorker(
                self.connection,
                self.approved_plan,
                self.unit_size,
                shares=self.shares,
                decision=self.decision,
                reached=self.reached,
                report=progress.add,
                keys=KeyRing(self.approved_plan.folder.lake_folder),
            ) as worker,
        ):
            dealt = Deal(len(self.lengths), self.approved_plan.pacing)(batches)
            for lane, rows in groupby(_rows(dealt, self.wanted), key=lambda pair: pair[0]):
                report = worker.run(lane, self.lengths[lane], (row for _lane, row in rows))
                yield pa.RecordBatch.from_pylist([dict(zip(names, astuple(report), strict=True))])


def _rows(batches: Iterable[pa.RecordBatch], wanted: frozenset[int]) -> Iterator[tuple[int, Row]]:
    """The rows of the wanted lanes, each with its lane. A visit is for canaries or for others, never for both, so the
    rows of one lane follow each other."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    lanes = pa.array(sorted(wanted), pa.int64())
    for batch in batches:
        for row in batch.filter(pc.is_in(batch.column("lane"), lanes)).to_pylist():
            yield row["lane"], make_row(row["position"], row)
