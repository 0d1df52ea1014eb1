"""The snapshot in Spark's terms: what observe gives to decide."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.plan_row import ColumnType

_TYPES: dict[ColumnType, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "long": LongType(),
    "integer": IntegerType(),
    "timestamp": TimestampType(),
}

SNAPSHOT = StructType([StructField(name, _TYPES[kind], nullable) for name, kind, nullable in SNAPSHOT_COLUMNS])
"""One row a message, whole: `md` is the MQMD as it was got, `body` all that follows it. MQDLH columns are null where
there is none, and then `dlh_error` says why."""
