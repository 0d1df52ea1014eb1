"""What a plan says of messages whose origin is ambiguous: rows of the table of origins that would decide them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from mqops.actions import Action
from mqops.backout.core.explained import row_for
from mqops.backout.core.origin import Setting
from mqops.backout.core.origin_table import SECTION, SUGGESTED, OriginRow
from mqops.counted import counted
from mqops.lake.parquet import read_parquet, rows_with
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import SnapshotRow

MOST_ROWS = 10
"""Rows that are suggested."""
_MOST_KINDS = 1000
_COLUMNS = ("queue", "dlh_error", "jms_destination", *SUGGESTED.values())


def remarks(run: RunFolder, where: Setting) -> tuple[str, ...]:
    """A line of the estate for each kind of message that the run's plan leaves as AMBIGUOUS, the most frequent first.

    Raises:
        LakeError: the plan or the snapshot is missing or cannot be read.
    """
    kinds: Counter[tuple[str, OriginRow, tuple[str, ...]]] = Counter()
    for message in _ambiguous(run):
        if (found := row_for(message, where)) is not None:
            kind = (message["queue"], *found)
            kinds[kind] += 1 if kind in kinds or len(kinds) < _MOST_KINDS else 0
    told = sorted(kinds.items(), key=lambda one: (-one[1], one[0][0], one[0][1].when))
    lines = [_line(number, *kind) for kind, number in told[:MOST_ROWS] if number]
    more = len(told) - len(lines)
    return (*lines, *([f"{counted(more, 'more kind')} of messages of ambiguous origin"] if more else []))


def _line(number: int, queue: str, row: OriginRow, named: tuple[str, ...]) -> str:
    could = f", where {' or '.join(named)} can be the queue" if named else ", with the queue that they came from"
    what = f"{queue}: {counted(number, 'message')} of ambiguous origin"
    return f"{what}. This row would decide, below {SECTION} in the estate{could}: {row.written}"


def _ambiguous(run: RunFolder) -> Iterator[SnapshotRow]:
    keys = [
        key
        for batch in read_parquet(run.plan, ["msg_key", "action"])
        for key, action in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        if action == Action.AMBIGUOUS
    ]
    if not keys:
        return
    chosen, first = rows_with(run.snapshot, "msg_key", pa.array(keys, pa.string())), 0
    for batch in read_parquet(run.snapshot, list(_COLUMNS)):
        yield from batch.filter(chosen.slice(first, batch.num_rows)).to_pylist()
        first += batch.num_rows
