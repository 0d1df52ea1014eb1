"""The snapshot's schema in Arrow's terms."""

from __future__ import annotations

import pyarrow as pa

from mqops.lake.parquet import UTC_TIME
from mqops.observe.core.columns import SNAPSHOT_COLUMNS

_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "timestamp": UTC_TIME,
}
SNAPSHOT = pa.schema([pa.field(name, _TYPES[kind], nullable=nullable) for name, kind, nullable in SNAPSHOT_COLUMNS])
