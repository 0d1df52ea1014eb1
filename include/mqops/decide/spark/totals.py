"""What a plan adds up to, counted by Spark, or, where the messages are few, in this process."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from pyspark.sql import SparkSession

from mqops.decide.arrow import rows_in
from mqops.decide.core import PlanCount, RuleCount
from mqops.decide.counts import PlanTotals
from mqops.decide.spark.counts import plan_counts
from mqops.decide.spark.digest import digest_of
from mqops.decide.spark.schema import PLAN
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.plan_row import COLUMNS, PlanRow

FEW = 50_000
"""Messages that are counted faster here than Spark starts its ten jobs for it."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The plan's digest, its counts per rule and of its largest groups, and how many groups are left off."""

    digest: str
    rules: tuple[RuleCount, ...]
    counts: tuple[PlanCount, ...]
    left_off: int


def totals_of(spark: SparkSession, folder: RunFolder, messages: int) -> Totals:
    """The totals of RUN/plan. Parameters: `messages` at most, which decides where they are counted.

    Raises:
        LakeError: the plan or the snapshot cannot be read.
    """
    return counted_here(folder) if messages <= FEW else counted_by_spark(spark, folder)


def counted_here(folder: RunFolder) -> Totals:
    """In this process: 10 to 20 microseconds a message. Raises `LakeError`."""
    totals = PlanTotals()
    batches = totals.digested(read_parquet(folder.plan, COLUMNS))
    rows = chain.from_iterable(rows_in(batch, PlanRow) for batch in batches)
    for row in sorted(rows, key=attrgetter("row")):
        totals.add(row)
    return Totals(totals.digest(), totals.rule_counts(), totals.counts(folder.snapshot), totals.groups_left_off())


def counted_by_spark(spark: SparkSession, folder: RunFolder) -> Totals:
    """By about ten Spark jobs. Raises `LakeError`."""
    plan = spark.read.schema(PLAN).parquet(str(folder.plan))
    return Totals(digest_of(plan), *plan_counts(plan, folder.snapshot))
