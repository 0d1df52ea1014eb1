"""How many rows the table of failures has, of how many messages, and the first one: read as it is on disk, whoever
wrote it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mqops.lake.parquet import read_parquet
from mqops.quality.vocabulary import SEVERITIES

_COLUMNS = ("suite", "expectation", "tolerated", "queue", "severity", "position")


class FailureCounts(NamedTuple):
    """Parameters: `by_check` (suite, expectation) → rows; `by_queue` queue → severity → messages that fail a check of
    it, `any`: of any. Tolerated failures count by check only."""

    by_check: Mapping[tuple[str, str], int]
    by_queue: Mapping[str, Mapping[str, int]]


class Failure(NamedTuple):
    """A message of a queue that failed a suite. Parameters: the names of both."""

    suite: str
    queue: str


def first_failure(folder: Path) -> Failure | None:
    """One of a table of failures that is not tolerated; None where there is none. Raises `LakeError`."""
    for batch in read_parquet(folder, ("suite", "queue", "tolerated")):
        blamed = batch.filter(pc.invert(batch["tolerated"]))
        if len(blamed):
            return Failure(blamed["suite"][0].as_py(), blamed["queue"][0].as_py())
    return None


def counted_failures(folder: Path) -> FailureCounts:
    """The counts of a table of failures. Raises `LakeError`: it cannot be read."""
    by_check = Counter[tuple[str, str]]()
    places: dict[str, dict[str, list[npt.NDArray[np.int64]]]] = defaultdict(lambda: {name: [] for name in SEVERITIES})
    for batch in read_parquet(folder, _COLUMNS):
        rows = pa.Table.from_batches([batch])
        for each in rows.group_by(["suite", "expectation"]).aggregate([([], "count_all")]).to_pylist():
            by_check[each["suite"], each["expectation"]] += each["count_all"]
        blamed = rows.filter(pc.invert(rows["tolerated"])).group_by(["queue", "severity"])
        found = blamed.aggregate([("position", "distinct")])
        names = ("queue", "severity", "position_distinct")
        for queue, severity, some in zip(*(found[name] for name in names), strict=True):
            places[queue.as_py()][severity.as_py()].append(some.values.to_numpy())
    by_queue = {}
    for queue, of_severity in places.items():
        counts = {name: _different(parts) for name, parts in of_severity.items()}
        by_queue[queue] = {"any": _different([one for parts in of_severity.values() for one in parts]), **counts}
    return FailureCounts(by_check, by_queue)


def _different(parts: list[npt.NDArray[np.int64]]) -> int:
    return len(np.unique(np.concatenate(parts))) if parts else 0
