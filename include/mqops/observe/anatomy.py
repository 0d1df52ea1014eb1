"""The anatomy of a snapshot's queues: counted by Arrow, kept as RUN/anatomy.json and RUN/anatomy.prom.

LAKE/<queue manager>/anatomy/<queue>.json is the last record of a queue. The growth in the next
record is counted from it. A look that found the queue empty is a record, too, whether or not it made a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from mqops.lake.files import ANATOMY as ANATOMY_FOLDER
from mqops.lake.files import make_folder, write_bytes, write_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.model import QueueObserved
from mqops.observe.core.anatomy import (
    NO_DLH,
    OLDER,
    UNKNOWN,
    Cell,
    Group,
    QueueAnatomy,
    QueueJson,
    Since,
    folded,
    grown,
    limits,
    openmetrics,
)
from mqops.observe.core.put_time import DIGITS
from mqops.observe.core.reasons import reason_symbol
from mqops.observe.recorded import ANATOMY

_ORIGIN = ("dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "put_appl_name")
_TIMES = ("dlh_put_date", "dlh_put_time", "put_date", "put_time")
COLUMNS = ("queue", *_ORIGIN, *_TIMES, "body_length")
"""The columns of a snapshot that it takes."""
_KEY = ["queue", *_ORIGIN, "age"]
_SECOND = "%Y%m%d%H%M%S"
_LAST = Checked(QueueJson)


class AnatomyCounter:
    """Counts the messages of a snapshot, batch by batch.

    Parameters: `queues` that are counted even if they are empty; `observed_at` ISO 8601; `run` blank for none.
    """

    def __init__(self, queue_manager: str, queues: Iterable[str], observed_at: str, run: str = "") -> None:
        self._empty = QueueAnatomy(queue_manager=queue_manager, queue="", observed_at=observed_at, run=run)
        self._limits = limits(observed_at)
        self._queues = {queue: _Counted() for queue in queues}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch that has `COLUMNS`."""
        put, by_md = _put(batch)
        table = pa.Table.from_batches([batch.select(["queue", *_ORIGIN, "body_length"])])
        table = table.append_column("age", self._age(put)).append_column("put", put).append_column("by_md", by_md)
        md_put = pc.binary_join_element_wise(batch["put_date"], batch["put_time"], "")
        table = table.append_column("md_put", pc.if_else(pc.equal(md_put, ""), pa.scalar(None, pa.string()), md_put))
        sums = [("body_length", "sum"), ("put", "min"), ("by_md", "sum"), ("md_put", "min"), ([], "count_all")]
        groups = table.group_by(_KEY, use_threads=False).aggregate(sums)
        for row in groups.to_pylist():
            reason, counted = row["dlh_reason"], self._queues.setdefault(row["queue"], _Counted())
            origin = (row["dlh_dest_q"] or "", row["dlh_dest_q_mgr"] or "", row["put_appl_name"])
            key = (Group(NO_DLH if reason is None else reason_symbol(reason), *origin), row["age"])
            counted.messages[key] += row["count_all"]
            counted.bytes[key] += row["body_length_sum"]
            counted.aged_by_md += row["by_md_sum"] or 0
            counted.oldest = _earlier(row["put_min"], counted.oldest)
            counted.oldest_put = _earlier(row["md_put_min"], counted.oldest_put)

    def _age(self, put: pa.Array) -> pa.Array:
        age: pa.Array = pa.array([OLDER] * len(put), pa.string())
        for name, limit in reversed(self._limits.items()):
            age = pc.if_else(pc.greater_equal(put, limit), name, age)
        return pc.if_else(pc.is_null(put), UNKNOWN, age)

    def observed(self) -> Iterator[QueueObserved]:
        """Each queue as a snapshot has it."""
        for queue, counted in self._queues.items():
            messages = counted.messages.total()
            without = sum(number for (group, _age), number in counted.messages.items() if group.reason == NO_DLH)
            yield QueueObserved(
                queue=queue,
                messages=messages,
                bytes=counted.bytes.total(),
                with_dlh=messages - without,
                without_dlh=without,
                oldest=counted.oldest_put,
            )

    def queues(self) -> list[QueueAnatomy]:
        """The counts of each queue, without growth."""
        return [
            replace(
                self._empty,
                queue=queue,
                oldest=counted.oldest,
                cells=folded(counted.cells()),
                aged_by_md=counted.aged_by_md,
            )
            for queue, counted in self._queues.items()
        ]


@dataclass(slots=True)
class _Counted:
    messages: Counter[tuple[Group, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[Group, str]] = field(default_factory=Counter)
    oldest: str = ""
    oldest_put: str = ""
    aged_by_md: int = 0

    def cells(self) -> Iterator[Cell]:
        for (group, age), number in self.messages.items():
            yield Cell(group, age, number, self.bytes[group, age])


def _earlier(one: str | None, other: str) -> str:
    return min(one, other) if one and other else one or other


def _put(batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    """When each message was dead-lettered, without a time in an MQDLH when it was put: 16 digits, or null; and 1 where
    the MQMD says it for an MQDLH that does not (`mqops.observe.core.put_time`)."""
    has_dlh = pc.is_valid(batch.column("dlh_reason"))
    dead_lettered, put = _instant(batch, "dlh_put_date", "dlh_put_time"), _instant(batch, "put_date", "put_time")
    of_dlh = pc.if_else(has_dlh, dead_lettered, pa.scalar(None, pa.string()))
    by_md = pc.and_(has_dlh, pc.and_(pc.is_null(of_dlh), pc.is_valid(put)))
    return pc.coalesce(of_dlh, put), by_md.cast(pa.int64())


def _instant(batch: pa.RecordBatch, date: str, time: str) -> pa.Array:
    """16 digits, or null if they are not a valid time: there are days such as 00000000 and 20260231."""
    text = pc.binary_join_element_wise(batch.column(date), batch.column(time), "")
    second = pc.utf8_slice_codeunits(text, 0, 14)
    digits = pc.and_(pc.equal(pc.utf8_length(batch.column(date)), 8), pc.match_substring_regex(text, DIGITS))
    parsed = pc.strptime(second, format=_SECOND, unit="s", error_is_null=True)  # 0231 becomes 0303, year 0 is one
    real = pc.and_(pc.equal(pc.strftime(parsed, format=_SECOND), second), pc.greater_equal(second, "0001"))
    whole = pc.utf8_rpad(text, 16, "0")
    return pc.if_else(pc.and_(digits, real), whole, pa.scalar(None, pa.string()))


def with_growth(lake_folder: Path, queue: QueueAnatomy) -> QueueAnatomy:
    """The same with growth since the last record in `lake_folder`, LAKE/<queue manager>. Raises `LakeError`.

    Where that is of the very same run, which looks again after a crash, since the record before it.
    """
    before = _before(lake_folder, queue.queue)
    if before is None:
        return queue
    growth = grown(queue, before)
    if not before.run or before.run != queue.run:
        return replace(queue, since=Since(before.run, before.observed_at), growth=growth)
    if not before.since.observed_at:
        return queue
    total = {group: growth.get(group, 0) + before.growth.get(group, 0) for group in {**growth, **before.growth}}
    return replace(queue, since=before.since, growth={group: number for group, number in total.items() if number})


def write(run: RunFolder, counter: AnatomyCounter) -> None:
    """Write RUN/anatomy.json and RUN/anatomy.prom, and make them the last record, of the queues that have dead letters.

    Any other queue is of interest only if it had dead letters before. Raises `LakeError`.
    """
    queues = [
        with_growth(run.lake_folder, queue)
        for queue in counter.queues()
        if _last(run.lake_folder, queue.queue).exists() or any(cell.group.reason != NO_DLH for cell in queue.cells)
    ]
    if not queues:
        return
    ANATOMY.write(run, {"queues": [queue.to_json() for queue in queues]})
    write_bytes(run.path / "anatomy.prom", openmetrics(queues).encode())
    for queue in queues:
        _keep(run.lake_folder, queue)


def note_empty(lake_folder: Path, queue_manager: str, queue: str, observed_at: str) -> None:
    """A look that found a queue empty, and made no run, is the last record of it, unless that says so already.

    Parameters: `lake_folder` LAKE/<queue manager>; `observed_at` ISO 8601. Raises `LakeError`.
    """
    before = _before(lake_folder, queue)
    if before is not None and (before.messages or before.run):
        _keep(lake_folder, QueueAnatomy(queue_manager=queue_manager, queue=queue, observed_at=observed_at))


def read_anatomy(run: RunFolder) -> list[QueueAnatomy]:
    """The anatomy that a run has kept; none where its queues have no dead letters. Raises `LakeError`."""
    found = ANATOMY.find(run)
    return [QueueAnatomy.from_json(queue) for queue in found["queues"]] if found else []


def of_snapshot(run: RunFolder | None, folder: Path) -> list[QueueAnatomy]:
    """The anatomy of a recorded snapshot: as it was written, else counted now, and then without growth.

    Parameters: `run` the snapshot is of, None if not known; `folder` of its Parquet files. Raises `LakeError`.
    """
    if run is not None and ANATOMY.exists(run):
        return read_anatomy(run)
    counter: AnatomyCounter | None = None
    for batch in read_parquet(folder, (*COLUMNS, "queue_manager", "observed_at")):
        if counter is None and batch.num_rows:
            at = batch.column("observed_at")[0].as_py().isoformat()
            counter = AnatomyCounter(batch.column("queue_manager")[0].as_py(), (), at, run.run if run else "")
        if counter is not None:
            counter.add(batch)
    return counter.queues() if counter else []


def _before(lake_folder: Path, queue: str) -> QueueAnatomy | None:
    """The last record of a queue, if there is one."""
    path = _last(lake_folder, queue)
    return read_last(path) if path.exists() else None


def read_last(path: Path) -> QueueAnatomy:
    """A queue's last record. Raises `LakeError`."""
    return QueueAnatomy.from_json(_LAST.read(path))


def _keep(lake_folder: Path, queue: QueueAnatomy) -> None:
    last = _last(lake_folder, queue.queue)
    make_folder(last.parent)
    write_json(last, queue.to_json())


def _last(lake_folder: Path, queue: str) -> Path:
    return lake_folder / ANATOMY_FOLDER / f"{quote(queue, safe='')}.json"
