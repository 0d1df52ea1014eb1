"""The rows of the table of failures, as Arrow has them: in this process, and in Spark's workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from mqops.lake.files import make_durable
from mqops.lake.parquet import write_parquet
from mqops.message_checks import CheckResult
from mqops.quality.columns import IDENTITY, is_payload, problem_of
from mqops.quality.shown import masked, shown
from mqops.quality.suite import Check

FAILURES = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("queue_manager", "queue")),
        pa.field("position", pa.int64(), nullable=False),
        *(
            pa.field(name, pa.string(), nullable=False)
            for name in ("msg_key", "msg_id", "suite", "expectation", "severity")
        ),
        pa.field("tolerated", pa.bool_(), nullable=False),
        pa.field("observed", pa.string(), nullable=False),
    ]
)
"""The table of failures, as `mqops.quality.failures` has it for Spark."""


def write_failed(tables: Iterable[pa.Table], folder: Path) -> None:
    """Write rows as the table of failures, durably. Raises `LakeError`: the disk refused."""
    write_parquet(folder, FAILURES, (batch for one in tables for batch in one.cast(FAILURES).to_batches()))
    make_durable(folder)


class Failed(NamedTuple):
    """A check and the rows of the table of failures that it makes."""

    result: CheckResult
    rows: pa.Table


def failures_of(rows: pa.Table, check: Check, result: CheckResult) -> pa.Table:
    """The rows that fail a check as the table of failures has them."""
    same = {
        "suite": result.suite,
        "expectation": check.id,
        "severity": check.severity,
        "tolerated": result.met,
    }
    columns = {name: rows[name] for name in IDENTITY}
    columns |= {name: pa.array([value] * rows.num_rows) for name, value in same.items()}
    observed = pa.array(_observed(rows, check.columns, result.columns), pa.string())
    return pa.table({**columns, "observed": observed}).select(FAILURES.names).cast(FAILURES)


def _observed(rows: pa.Table, names: tuple[str, ...], named: Sequence[str]) -> list[str]:
    texts = [_of_column(rows, name) for name in names]
    if len(names) == 1:
        return texts[0]
    pairs = [[f"{name}={text}" for text in of_one] for name, of_one in zip(named, texts, strict=True)]
    return [", ".join(row) for row in zip(*pairs, strict=True)]


def _of_column(rows: pa.Table, name: str) -> list[str]:
    """What the table of failures says of a column: where the message is at fault, else the value."""
    problem = problem_of(name)
    places = rows[problem].to_pylist() if problem else [None] * rows.num_rows
    show = masked if is_payload(name) else shown
    return [place or show(value) for place, value in zip(places, rows[name].to_pylist(), strict=True)]
