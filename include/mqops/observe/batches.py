"""Browsed messages as record batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa

from mqops.mq.session import RawMessage
from mqops.observe.by_columns import record_batch
from mqops.observe.core.decode import Browsed

BATCH_ROWS = 2000
BATCH_BYTES = 16 << 20
"""A batch ends at this many rows, or as soon as its bodies have this many bytes."""


def record_batches(browsed: Browsed, messages: Iterable[RawMessage], *, first: int = 0) -> Iterator[pa.RecordBatch]:
    """The messages of a queue, in its order, as record batches of the snapshot. Only one batch is in memory.

    Parameters: `first` place on the queue of the first of them, from 0.

    Raises:
        MQError: whatever `messages` raises while it browses.
    """
    source = iter(messages)
    while batch := _next_batch(browsed, first, source):
        first += batch.num_rows
        yield batch


def _next_batch(browsed: Browsed, first: int, source: Iterator[RawMessage]) -> pa.RecordBatch | None:
    """None at the end. The messages themselves are forgotten when it returns."""
    taken = list(islice(_until_full(source), BATCH_ROWS))
    return record_batch(browsed, first, [got.md for got in taken], [got.body for got in taken]) if taken else None


def _until_full(source: Iterator[RawMessage]) -> Iterator[RawMessage]:
    size = 0
    for got in source:
        yield got
        size += len(got.body)
        if size >= BATCH_BYTES:
            return
