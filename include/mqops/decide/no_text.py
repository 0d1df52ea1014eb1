"""What a plan says of messages whose data has no text, so that no condition on it can hold."""

from __future__ import annotations

from mqops.counted import counted
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.rules import Table
from mqops.rules.keyword import ValueKind


def remarks(run: RunFolder, table: Table) -> tuple[str, ...]:
    """How many messages of the run's snapshot the BODY conditions of a table cannot be asked of.

    Raises:
        LakeError: the snapshot is missing or cannot be read.
    """
    if not any(question.kind is ValueKind.BODY for question in table.questions):
        return ()
    count = sum(batch.column("text_kind").null_count for batch in read_parquet(run.snapshot, ["text_kind"]))
    if not count:
        return ()
    return (
        f"{counted(count, 'message')} without text that can be read: no BODY condition holds for "
        f"{'it' if count == 1 else 'them'}; `mqops message show` says why (a CCSID that cannot be converted, bytes "
        "that are no text, a binary format)",
    )
