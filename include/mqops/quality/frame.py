"""The frame that Great Expectations sees: a snapshot's columns without its payload, and what reading the bodies shows.

Bodies are read in Python workers, batch by batch, only if a suite asks for a column that needs them; nothing but the
answers leaves the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from mqops.quality.answers import BODY_INPUT, answered, answers
from mqops.quality.columns import COLUMNS, IDENTITY, PLACE, ColumnKind, Source, of_source
from mqops.quality.payload import Asked
from mqops.spark_worker import begin_task

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: Mapping[ColumnKind, DataType] = {
    ColumnKind.TEXT: StringType(),
    ColumnKind.NUMBER: LongType(),
    ColumnKind.FLAG: BooleanType(),
    ColumnKind.TIME: TimestampType(),
}


def frame_of(snapshot: DataFrame, wanted: Iterable[str], asked: Sequence[Asked] = ()) -> DataFrame:
    """The wanted columns (names of `COLUMNS`), those of `IDENTITY` and those that suites ask, one row a message.

    Parameters: `snapshot` with the columns of `mqops.observe.spark.schema.SNAPSHOT`; the session's time zone is UTC.
    """
    names = {*wanted, *IDENTITY, *(one.path for one in asked if one.language == "column")}
    carried = [name for name in COLUMNS if name in names and COLUMNS[name].source is not Source.BODY]
    derived = derived_columns()
    native = [_native(name, derived).alias(name) for name in carried]
    body = of_source(names, Source.BODY)
    if not body and not asked:
        return snapshot.select(*native)
    needed = [F.col(name).alias(f"_{name}") for name in BODY_INPUT]
    rows = snapshot.select(*native, *needed)
    made = [
        StructField(one.name, DoubleType() if one.double and one.kind is ColumnKind.NUMBER else _TYPES[one.kind])
        for one in answered(body, asked)
    ]
    schema = StructType([*(field for field in rows.schema if not field.name.startswith("_")), *made])
    return rows.mapInArrow(_reader(carried, body, asked), schema)


def _native(name: str, derived: Mapping[str, Column]) -> Column:
    source = COLUMNS[name].source
    if source is Source.HEX:
        return F.lower(F.hex(name))
    return derived[name] if source is Source.DERIVED else F.col(name)


def derived_columns() -> Mapping[str, Column]:
    """The columns of `Source.DERIVED`."""
    put_at = F.try_to_timestamp(F.concat_ws(" ", "put_date", "put_time"), F.lit("yyyyMMdd HHmmssSS"))
    place = F.regexp_extract("dlh_error", PLACE, 0)
    return {
        "age_seconds": F.col("observed_at").cast("double") - put_at.cast("double"),
        "expires_in_seconds": F.when(F.col("expiry") >= 0, F.col("expiry") / 10),
        "dlh_valid": F.col("dlh_error").isNull(),
        "dlh_problem": F.when(place != "", place).when(F.col("dlh_error").isNotNull(), "no valid MQDLH"),
    }


def _reader(
    carried: list[str], body: list[str], asked: Sequence[Asked]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers run: batches with bodies in, batches with answers out."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415

        begin_task()
        for batch in batches:
            arrays = [batch.column(name) for name in carried]
            names = [*carried, *(one.name for one in answered(body, asked))]
            yield pa.RecordBatch.from_arrays([*arrays, *answers(batch, body, asked, "_")], names=names)

    return read
