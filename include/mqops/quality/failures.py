"""The table of failures: which messages failed which check. One row a message and check, no payload."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

from mqops.lake.files import make_durable
from mqops.lake.parquet import SPARK_FORMAT
from mqops.observe.core.mask import SHOWN_BYTES
from mqops.quality.columns import IDENTITY, is_payload, problem_of
from mqops.quality.validation import Failing

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

PLAIN = f"0.{'#' * 340}"
"""How a number of a payload is written before it is masked (Java's DecimalFormat), as `mqops.quality.shown` has it."""
FILES = 8
"""Most files of the table."""


def write_failures(spark: SparkSession, failing: Iterable[Failing], folder: Path) -> None:
    """Write the table, durably; an earlier one is replaced.

    Raises:
        LakeError: the disk refused.
    """
    of_rows: dict[int, list[Failing]] = {}
    for one in failing:
        of_rows.setdefault(id(one.rows), []).append(one)
    tables = [_table(together) for together in of_rows.values()]
    write_rows(reduce(DataFrame.unionByName, tables) if tables else spark.createDataFrame([], FAILURES), folder)


def write_rows(rows: DataFrame, folder: Path) -> None:
    """Write rows with the columns of `FAILURES` as the table, durably; an earlier one is replaced. Raises as
    `write_failures`."""
    typed = rows.select(*[F.col(field.name).cast(field.dataType) for field in FAILURES])
    noted = typed.withMetadata(typed.columns[0], SPARK_FORMAT)
    noted.coalesce(FILES).write.mode("overwrite").option("compression", "zstd").parquet(str(folder))
    make_durable(folder)


def _table(failing: Sequence[Failing]) -> DataFrame:
    """What checks of the same rows say of them, in one pass."""
    rows = failing[0].rows
    each = [_row(one) if one.fails is None else F.when(one.fails, _row(one)) for one in failing]
    return rows.select(*IDENTITY, F.inline(F.array_compact(F.array(*each))))


def _row(failing: Failing) -> Column:
    """What a check says of a message that fails it."""
    check, result = failing.check, failing.result
    return F.struct(
        F.lit(result.suite).alias("suite"),
        F.lit(check.id).alias("expectation"),
        F.lit(check.severity).alias("severity"),
        F.lit(result.met).alias("tolerated"),
        _observed(failing.rows.schema, check.columns, result.columns).alias("observed"),
    )


def _observed(kinds: StructType, names: tuple[str, ...], shown: tuple[str, ...]) -> Column:
    if len(names) == 1:
        return _shown(kinds, names[0])
    pairs = zip(names, shown, strict=True)
    return F.concat_ws(", ", *[F.concat(F.lit(f"{named}="), _shown(kinds, name)) for name, named in pairs])


def _shown(kinds: StructType, name: str) -> Column:
    text = F.col(name).cast("string")
    if is_payload(name):
        text = _masked(
            F.call_function("format_number", F.col(name), F.lit(PLAIN))
            if isinstance(kinds[name].dataType, DoubleType)
            else text
        )
    values = [text, F.lit("null")]
    problem = problem_of(name)
    return F.coalesce(*([F.col(problem)] if problem else []), *values)


def _masked(text: Column) -> Column:
    """The shape of a text, as `mqops.observe.core.mask.masked_text` has it."""
    letters = F.regexp_replace(F.substring(text, 1, SHOWN_BYTES), r"[\p{L}\p{M}]", "x")
    return F.regexp_replace(F.regexp_replace(letters, r"\p{N}", "9"), r"[^\x20-\x7e]", ".")
