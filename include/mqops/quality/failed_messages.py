"""The table of failures without Spark: which messages failed what, and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.kept import bytes_of, kept
from mqops.lake.parquet import read_parquet, rows_as
from mqops.message_checks import CheckResult, QualitySummary
from mqops.quality.units import about_values, with_unit

_SEVERITIES = ("critical", "warning", "info")
"""The worst first."""
_KEY = ("queue", "msg_id", "suite", "expectation", "severity")


class _Row(NamedTuple):
    queue: str
    msg_id: str
    suite: str
    expectation: str
    severity: str
    observed: str


class OfCheck(NamedTuple):
    """Messages of a queue that failed a check."""

    queue: str
    suite: str
    expectation: str
    messages: int


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
    order = _worst_first(summary.failures, summary.checked_at)
    wanted = order[after : after + most]
    found: dict[int, FailedMessage] = {}
    first = 0
    for batch in read_parquet(Path(summary.failures), _Row._fields) if wanted else ():
        here = [place - first for place in wanted.to_pylist() if 0 <= place - first < batch.num_rows]
        for place, row in zip(here, rows_as(batch.take(pa.array(here, pa.int64())), _Row), strict=True):
            found[first + place] = _failed(row, checks.get((row.suite, row.expectation)))
        first += batch.num_rows
    return [found[place] for place in wanted.to_pylist()], len(order)


@kept(most=32 * 2**20, size=bytes_of)
def _worst_first(failures: str, _checked_at: str) -> pa.Array:
    """The numbers of the rows that are not tolerated, in the order of a page. A run can have a failure a message, so
    Arrow sorts. Parameters: as of `failed_critical`. Raises `LakeError`."""
    ranks = pa.array(_SEVERITIES)
    parts, first = [], 0
    for batch in read_parquet(Path(failures), (*_KEY, "tolerated")):
        numbered = pa.table(
            {
                "rank": pc.fill_null(pc.index_in(batch["severity"], ranks), len(ranks)).cast(pa.int8()),
                "queue": batch["queue"],
                "msg_id": batch["msg_id"],
                "check": pc.binary_join_element_wise(batch["suite"], batch["expectation"], "."),
                "row": pa.array(range(first, first + batch.num_rows), pa.int32()),
            }
        )
        parts.append(numbered.filter(pc.invert(batch["tolerated"])))
        first += batch.num_rows
    if not parts:
        return pa.array([], pa.int32())
    rows = pa.concat_tables(parts)
    by = [(name, "ascending") for name in ("rank", "queue", "msg_id", "check")]
    return rows["row"].combine_chunks().take(pc.sort_indices(rows, by))


@kept(most=256)
def by_check(failures: str, _checked_at: str) -> tuple[OfCheck, ...]:
    """How many messages of each queue failed each check, most first; tolerated failures do not count. Parameters: as
    of `failed_critical`. Raises `LakeError`."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for batch in read_parquet(Path(failures), ("queue", "suite", "expectation", "tolerated")):
        own = pa.Table.from_batches([batch.filter(pc.invert(batch["tolerated"]))])
        for row in own.group_by(["queue", "suite", "expectation"]).aggregate([([], "count_all")]).to_pylist():
            counts[row["queue"], row["suite"], row["expectation"]] += row["count_all"]
    return tuple(OfCheck(*of, messages) for of, messages in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _failed(row: _Row, check: CheckResult | None) -> FailedMessage:
    observed = with_unit(check.columns, row.observed) if check and about_values(check.expect) else row.observed
    return FailedMessage(
        row.queue,
        row.msg_id,
        row.severity,
        f"{row.suite}.{row.expectation}",
        "; ".join(filter(None, (observed, check.why if check else ""))),
    )


def _bytes(found: pa.Table | None) -> int:
    return bytes_of(*([] if found is None else [found]))


@kept(most=32 * 2**20, size=_bytes)
def failed_critical(failures: str, _checked_at: str) -> pa.Table | None:
    """The messages that failed a critical check, each once: `queue`, `position`, `msg_key`; None without the table of
    failures. Parameters: `_checked_at` of the run: a check that is tried again writes another table. Raises
    `LakeError`."""
    if not failures or not Path(failures).is_dir():
        return None
    columns = ("queue", "position", "msg_key", "severity", "tolerated")
    parts = [
        batch.filter(pc.and_(pc.equal(batch["severity"], "critical"), pc.invert(batch["tolerated"]))).select(
            columns[:3]
        )
        for batch in read_parquet(Path(failures), columns)
    ]
    kinds = pa.schema({"queue": pa.string(), "position": pa.int64(), "msg_key": pa.string()})
    several = pa.Table.from_batches([one.cast(kinds) for one in parts], kinds) if parts else kinds.empty_table()
    return several.group_by(list(columns[:3]), use_threads=False).aggregate([])
