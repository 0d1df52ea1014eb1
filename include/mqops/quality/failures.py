"""The table of failures: which messages failed which check. One row a message and check, no payload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from mqops.lake.files import make_durable
from mqops.lake.part_file import SPARK_FORMAT
from mqops.quality.columns import COLUMNS
from mqops.quality.validation import Failing
from mqops.quality.vocabulary import SEVERITIES

FAILURES = StructType(
    [
        *(StructField(name, StringType(), False) for name in ("queue_manager", "queue")),
        StructField("position", LongType(), False),
        *(StructField(name, StringType(), False) for name in ("msg_key", "msg_id", "suite", "expectation", "severity")),
        StructField("tolerated", BooleanType(), False),
        StructField("observed", StringType(), False),
    ]
)
"""`msg_id` is in hexadecimal; `expectation` is its id in the suite; `tolerated` failures are within the expectation's
`mostly`; `observed` is the value of the column, or the place in the message where it is at fault."""

FILES = 8
"""Most files of the table."""

_MESSAGE = ("queue_manager", "queue", "position", "msg_key", "msg_id")


def write_failures(spark: SparkSession, failing: Iterable[Failing], folder: Path) -> None:
    """Write the table, durably; an earlier one is replaced.

    Raises:
        LakeError: the disk refused.
    """
    tables = [_table(one) for one in failing]
    rows = reduce(DataFrame.unionByName, tables) if tables else spark.createDataFrame([], FAILURES)
    typed = rows.select(*[F.col(field.name).cast(field.dataType) for field in FAILURES])
    noted = typed.withMetadata(typed.columns[0], SPARK_FORMAT)
    noted.coalesce(FILES).write.mode("overwrite").option("compression", "zstd").parquet(str(folder))
    make_durable(folder)


def _table(failing: Failing) -> DataFrame:
    check = failing.check
    return failing.rows.select(
        *_MESSAGE,
        F.lit(failing.result.suite).alias("suite"),
        F.lit(check.id).alias("expectation"),
        F.lit(check.severity).alias("severity"),
        F.lit(failing.result.met).alias("tolerated"),
        _observed(check.columns).alias("observed"),
    )


def _observed(names: tuple[str, ...]) -> Column:
    if len(names) == 1:
        return _shown(names[0])
    return F.concat_ws(", ", *[F.concat(F.lit(f"{name}="), _shown(name)) for name in names])


def _shown(name: str) -> Column:
    values = [F.col(name).cast("string"), F.lit("null")]
    problem = COLUMNS[name].problem
    return F.coalesce(*([F.col(problem)] if problem else []), *values)


def read_failures(spark: SparkSession, folder: Path) -> DataFrame:
    """The table as it is on disk."""
    return spark.read.schema(FAILURES).parquet(str(folder))


def count_by_check(failures: DataFrame) -> Mapping[tuple[str, str], int]:
    """(suite, expectation) → rows of the table."""
    rows = failures.groupBy("suite", "expectation").count().collect()
    return {(row["suite"], row["expectation"]): row["count"] for row in rows}


def count_by_queue(failures: DataFrame) -> Mapping[str, Mapping[str, int]]:
    """Queue → severity → messages that fail a check of it; `any`: of any. Tolerated ones do not count."""
    messages = [
        F.count_distinct(F.when(F.col("severity") == severity, F.col("position"))).alias(severity)
        for severity in SEVERITIES
    ]
    counted = failures.where("NOT tolerated").groupBy("queue")
    rows = counted.agg(F.count_distinct("position").alias("any"), *messages).collect()
    return {row["queue"]: {name: row[name] for name in ("any", *SEVERITIES)} for row in rows}
