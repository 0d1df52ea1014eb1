"""The plan in Spark's terms: what decide gives to act."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from mqops.plan_row import PLAN_COLUMNS, ColumnType

_TYPES: dict[ColumnType, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "long": LongType(),
    "integer": IntegerType(),
    "boolean": BooleanType(),
}
PLAN = StructType([StructField(column.name, _TYPES[column.type], column.nullable) for column in PLAN_COLUMNS])
"""One row a message of the frozen set (`mqops.plan_row.PlanRow`)."""
