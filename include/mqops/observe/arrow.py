"""The snapshot's schema in Arrow's terms."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from mqops.lake.parquet import UTC_TIME
from mqops.lake.sealing import sealed_schema
from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.plan_row import Column, ColumnType

_TYPES: dict[ColumnType, pa.DataType] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": UTC_TIME,
}


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """The schema of a table."""
    return pa.schema([pa.field(column.name, _TYPES[column.type], nullable=column.nullable) for column in columns])


SNAPSHOT = schema_of(SNAPSHOT_COLUMNS)

SEALED = sealed_schema(SNAPSHOT)
"""The schema of one whose bodies are encrypted (`mqops.lake.sealing`)."""
