"""The table of failures without Spark: which messages failed what, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from mqops.kept import kept
from mqops.lake.parquet import read_parquet
from mqops.quality.summary import CheckResult, QualitySummary
from mqops.quality.units import about_values, with_unit


class FailedMessage(NamedTuple):
    """A message and a check that it failed. `why` has the value that was found, and no payload."""

    queue: str
    msg_id: str
    severity: str
    check: str
    why: str


def failed_messages(summary: QualitySummary, most: int, after: int = 0) -> tuple[list[FailedMessage], int]:
    """The failed messages of a page, worst first, and how many there are in all. Tolerated failures do not count.

    Parameters: `most` how many; `after` how many before them are left out.

    Raises:
        LakeError: the table of failures cannot be read.
    """
    checks = {(check.suite, check.expectation): check for check in summary.checks}
    columns = ("queue", "msg_id", "suite", "expectation", "severity", "observed", "tolerated")
    rows = [row for batch in read_parquet(Path(summary.failures), columns) for row in batch.to_pylist()]
    found = [_failed(row, checks.get((row["suite"], row["expectation"]))) for row in rows if not row["tolerated"]]
    order = {"critical": 0, "warning": 1, "info": 2}
    found.sort(key=lambda one: (order.get(one.severity, 3), one.queue, one.msg_id, one.check))
    return found[after : after + most], len(found)


def _failed(row: Mapping[str, Any], check: CheckResult | None) -> FailedMessage:
    observed = with_unit(check.columns, row["observed"]) if check and about_values(check.expect) else row["observed"]
    return FailedMessage(
        row["queue"],
        row["msg_id"],
        row["severity"],
        f"{row['suite']}.{row['expectation']}",
        "; ".join(filter(None, (observed, check.why if check else ""))),
    )


def _bytes(found: pa.Table | None) -> int:
    return 1000 + (int(found.nbytes) if found is not None else 0)


@kept(most=32 * 2**20, size=_bytes)
def failed_critical(failures: str, _checked_at: str) -> pa.Table | None:
    """The messages that failed a critical check, each once: `queue`, `position`, `msg_key`; None without the table of
    failures. Parameters: `_checked_at` of the run: a check that is tried again writes another table. Raises
    `LakeError`."""
    if not failures or not Path(failures).is_dir():
        return None
    columns = ("queue", "position", "msg_key", "severity", "tolerated")
    rows = [row for batch in read_parquet(Path(failures), columns) for row in batch.to_pylist()]
    found = {
        (row["queue"], row["position"]): {name: row[name] for name in ("queue", "position", "msg_key")}
        for row in rows
        if row["severity"] == "critical" and not row["tolerated"]
    }
    kinds = pa.schema({"queue": pa.string(), "position": pa.int64(), "msg_key": pa.string()})
    return pa.Table.from_pylist(list(found.values()), kinds)
