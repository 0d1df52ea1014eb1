"""`mqops.lake.bodies`: the messages of a snapshot, whole, by their identity."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqops.errors import LakeError
from mqops.lake.bodies import bodies_of


def test_law4_a_snapshot_that_lacks_messages_is_refused_with_what_to_do(tmp_path: Path) -> None:
    there = {"msg_key": ["a", "b"], "queue": ["Q", "Q"], "md": [b"1", b"2"], "body": [b"x", b"y"]}
    pq.write_table(pa.table(there), tmp_path / "part.parquet")
    assert bodies_of(tmp_path, {("Q", "b")}) == {("Q", "b"): (b"2", b"y")}
    told = r"lacks 2 messages of its plan\. Restore the folder from a backup, or make a new run"
    with pytest.raises(LakeError, match=told):
        bodies_of(tmp_path, {("Q", "b"), ("Q", "c"), ("OTHER", "a")})
