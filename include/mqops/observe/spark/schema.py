"""The snapshot in Spark's terms: what observe gives to decide."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.plan_row import Column, ColumnType

_TYPES: dict[ColumnType, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "long": LongType(),
    "integer": IntegerType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
}


def struct_of(columns: Iterable[Column]) -> StructType:
    """The schema of a table."""
    return StructType([StructField(column.name, _TYPES[column.type], column.nullable) for column in columns])


SNAPSHOT = struct_of(SNAPSHOT_COLUMNS)
"""One row a message, whole: `md` is the MQMD as it was got, `body` all that follows it. MQDLH columns are null where
there is none, and then `dlh_error` says why."""
