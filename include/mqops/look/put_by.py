"""Who put messages of a plan on their queue, when, and how long they are: by the plan's rows, nothing is browsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.kept import kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.observe.core.put_time import put_instant


class PutBy(NamedTuple):
    """A message by its MQMD. Parameters: `at` PutDate and PutTime, ISO 8601 UTC, "" where they are none; `application`
    PutApplName; `bytes` of its body, an MQDLH included."""

    at: str
    application: str
    bytes: int


@kept(most=32)
def put_by(run: RunFolder, digest: str, rows: tuple[int, ...]) -> Mapping[int, PutBy]:
    """Row of the plan → who put its message.

    Parameters: `digest` of the plan: a decide that is tried again makes another one; `rows` that are asked for.

    Raises:
        LakeError: the plan cannot be read.
    """
    wanted, found = pa.array(rows, pa.int64()), dict[int, PutBy]()
    for batch in read_parquet(run.plan, ["row", "put_date", "put_time", "put_appl_name", "body_length"]):
        for row, date, time, application, length in zip(
            *batch.filter(pc.is_in(batch.column("row"), wanted)).to_pydict().values(), strict=True
        ):
            found[row] = PutBy(put_instant(date, time), application, length)
    return found
