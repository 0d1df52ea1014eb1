"""The schema of snapshots that `mqops snapshot columns` and docs/snapshots.md tell is that of the files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from mqops.cli import main
from mqops.observe.core.column_texts import MEANING
from mqops.observe.core.columns import SNAPSHOT_COLUMNS

sys.path.insert(0, str(Path(__file__).parent))
from snapshots import recorded


def test_each_column_has_a_meaning() -> None:
    names = {one.name for one in SNAPSHOT_COLUMNS}
    assert {*MEANING} == names, "say what a column has: MEANING in observe/core/column_texts.py"


def test_what_is_told_of_each_column_is_so_in_the_files(tmp_path: Path) -> None:
    told = json.loads(CliRunner().invoke(main, ["snapshot", "columns", "--json"]).stdout)
    (part,) = recorded(tmp_path, [({}, b"x")]).snapshot.glob("*.parquet")
    schema = pq.read_schema(part)
    types = {
        "string": pa.string(),
        "binary": pa.binary(),
        "long": pa.int64(),
        "integer": pa.int32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    assert [row["column"] for row in told["columns"]] == schema.names
    for row in told["columns"]:
        kind, _, null = row["type"].partition(", or ")
        field = schema.field(row["column"])
        assert (field.type, field.nullable) == (types[kind], null == "null"), row
    assert str(told["format"]).encode() == schema.metadata[b"mqops.format"]
