"""`mqops.lake.row_groups.read_chunks`: each batch comes with a way to further columns of the same rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqops.errors import LakeError
from mqops.lake import row_groups
from mqops.lake.row_groups import read_chunks


@pytest.mark.parametrize("rows", [1, 4, 7, 25, 1000])  # less than a row group of 10, several of them, all
def test_further_columns_are_those_of_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(row_groups, "_FIRST_ROWS", 15)  # then chunks grow
    for part in range(2):
        numbers = range(part * 95, part * 95 + 95)
        table = pa.table({"number": list(numbers), "text": [str(one) for one in numbers]})
        pq.write_table(table, tmp_path / f"part-{part}.parquet", row_group_size=10)
    found = []
    for batch, others in read_chunks(tmp_path, ["number"], rows=rows):
        assert batch.num_rows <= max(rows, 1)
        assert [str(one) for one in batch.column("number").to_pylist()] == others(["text"]).column("text").to_pylist()
        found += batch.column("number").to_pylist()
    assert found == list(range(190))
    with pytest.raises(LakeError, match="without the columns other"):
        next(read_chunks(tmp_path, ["other"], rows=rows))
