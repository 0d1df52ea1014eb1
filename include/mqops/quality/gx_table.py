"""The messages of a snapshot as a table for a Checkpoint of one's own: the columns that a suite speaks of, by the names
that its exported JSON has. The values of payloads are in it as they are: keep it in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqops.quality.columns import COLUMNS
from mqops.quality.frame_here import frame_here
from mqops.quality.gx_suite import answer_column
from mqops.quality.suite import asked_by, columns_of
from mqops.quality.suite_file import load_suites
from mqops.quality.where import chosen

if TYPE_CHECKING:
    import pyarrow as pa


def table_for(snapshot: str | Path, suite: str | Path) -> pa.Table:
    """A row for each message of the suite's queues.

    Parameters: `snapshot` folder of a snapshot's Parquet files; `suite` its file, in mqops' form or GX's.

    Raises:
        SettingsError: the suite is not valid, or the Parquet files are something else.
        LakeError: they cannot be read, or decrypted.
    """
    (read,) = load_suites([suite])
    table = frame_here(Path(snapshot), columns_of((read,)), asked_by((read,)))
    table = table.take(chosen(table, (), read.queues))
    named = {one.column.name: one.name for one in read.asked if not one.probe}
    named |= {name: name for name in table.column_names if name in COLUMNS}
    columns = {shown: table[name] for name, shown in named.items()}
    for check in read.checks:
        if answers := answer_column(read, check):
            columns[answers] = table[check.columns[0]]
    return table.from_pydict(columns)
