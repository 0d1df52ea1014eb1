"""The schema of snapshots that docs/snapshots.md has is that of the files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from mqops.cli import main
from mqops.observe.core.column_texts import MEANING, described

sys.path.insert(0, str(Path(__file__).parent))
from snapshots import recorded

PAGE = Path(__file__).parents[3] / "docs" / "snapshots.md"
HEADING = ["column", "type", "unit", "source", "stability", "masked", "meaning"]


def test_the_page_has_each_column_of_the_files_with_its_type(tmp_path: Path) -> None:
    """The page is corrected by what this test prints."""
    told = json.loads(CliRunner().invoke(main, ["snapshot", "columns", "--json"]).stdout)
    rows = [[f"`{row['column']}`", *(row[name] for name in HEADING[1:])] for row in told["columns"]]
    table = "".join(f"| {' | '.join(row)} |\n" for row in [HEADING, ["---"] * len(HEADING), *rows])
    (shown,) = re.findall(r"<!-- columns -->\n(.*?)<!-- /columns -->", PAGE.read_text(), re.DOTALL)
    assert shown == table, table
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
    assert {*MEANING} == {one.column.name for one in described()}
