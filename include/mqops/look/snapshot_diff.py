"""What two snapshots differ in: messages that arrived, left, stayed, and those whose BackoutCount is another one.

1. A message is told by its queue and its frozen identity, `msg_key` (`mqops.ledger.core.identity`). One that went to
   another queue has left the first and arrived on the second.
2. Messages that are equal in everything are counted, not told apart. If A has 3 of them and B has 2, 2 stayed and 1
   left. Of those that stayed, as many as possible are taken to have the BackoutCount that they had.
3. Only a queue that both snapshots have looked at is compared: what a snapshot did not look at has not left. A folder
   without a run does not say what it looked at; then all queues of the other one are compared.
4. Arrow counts, column by column. Identities are SHA-256 digests, so they fall evenly into parts by their first digits:
   no more rows than `MOST_AT_ONCE` (about) are in memory together, however large the snapshots are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.errors import SettingsError
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.core.snapshot_diff import Change, Example, Group, Looked, SnapshotDiff
from mqops.observe.core.reasons import reason_symbol
from mqops.observe.recorded import OBSERVED
from mqops.observe.snapshot import find

MOST_AT_ONCE = 1_000_000
"""Rows of both snapshots that are compared together: about 600 MB at the most."""
MOST_EXAMPLES = 10
"""Messages that are named of each kind of change."""
_PARTS = 256  # two hexadecimal digits
_KEY = ["queue", "msg_key"]
_COLUMNS = [*_KEY, "backout_count", "dlh_reason", "put_appl_name", "msg_id"]
_GROUP = ["queue", "dlh_reason", "put_appl_name", "rule_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A snapshot. Parameters: `folder` of its Parquet files; `run` None where it is of no run; `queue_manager` "" where
    it does not say."""

    folder: Path
    run: RunFolder | None
    queue_manager: str
    looked: Looked

    @classmethod
    def of(cls, path: Path) -> Side:
        """Parameters: `path` as `mqops.observe.snapshot.find` takes it. Raises `SettingsError`, `LakeError`."""
        run, folder = _empty_or_found(path)
        if run is None:
            looked = Looked(named=str(path), observed_at="", whole=True, queues=None)
            return cls(folder=folder, run=None, queue_manager="", looked=looked)
        seen = OBSERVED.read(run)
        queues = frozenset([*(one.queue for one in seen.queues if not one.unseen), *seen.gone])
        found = HANDED_ON.find(run) or NO_DAG_RUN
        hidden = (one.queue for one in seen.queues if one.unseen)
        unseen = frozenset([*hidden, *found.names("unseen"), *found.names("inhibited")])
        looked = Looked(run.run, seen.observed_at, whole=seen.whole is not False, queues=queues, unseen=unseen)
        return cls(folder=folder, run=run, queue_manager=seen.queue_manager, looked=looked)


def _empty_or_found(path: Path) -> tuple[RunFolder | None, Path]:
    """As `find`; a run's snapshot that has no message is one, too."""
    run = RunFolder(path.parent if path.name == "snapshot" else path)
    if OBSERVED.exists(run) and run.snapshot.is_dir():
        return run, run.snapshot
    return find(path)


def compared(a: Path, b: Path) -> SnapshotDiff:
    """What B has otherwise than A.

    Parameters: `a`, `b` folders, as `mqops.observe.snapshot.find` takes them.

    Raises:
        LakeError: a snapshot or a plan cannot be read.
        SettingsError: a folder has no snapshot; the snapshots are of two queue managers; no queue is in both.
    """
    old, new = Side.of(a), Side.of(b)
    if old.queue_manager and new.queue_manager and old.queue_manager != new.queue_manager:
        raise SettingsError(
            f"{old.looked.named} is a snapshot of {old.queue_manager}, {new.looked.named} one of {new.queue_manager}: "
            "name two of one queue manager"
        )
    queues = _in_both(old, new)
    groups: dict[Group, list[int]] = {}
    examples: dict[Change, list[Example]] = {change: [] for change in Change}
    for part in _parts(old, new):
        cells = _cells(part, old, new, queues)
        for kind, found in examples.items():
            found.extend(_examples(cells, kind, MOST_EXAMPLES - len(found)))
        for row in _grouped(_with_rules(cells, old, new)).to_pylist():
            group = Group(
                row["queue"], reason_symbol(row["dlh_reason"]), row["put_appl_name"] or "", row["rule_key"] or ""
            )
            sums = groups.setdefault(group, [0] * len(_COUNTED))
            for number, name in enumerate(_COUNTED):
                sums[number] += row[f"{name}_sum"]
    return SnapshotDiff.of(old.looked, new.looked, groups, examples)


_COUNTED = tuple(change.value for change in Change)


def _in_both(old: Side, new: Side) -> frozenset[str] | None:
    """The queues that are compared, None for all."""
    if old.looked.queues is None or new.looked.queues is None:
        return old.looked.queues if new.looked.queues is None else new.looked.queues
    both = old.looked.queues & new.looked.queues
    if not both:
        raise SettingsError(
            f"{old.looked.named} and {new.looked.named} have looked at no queue in common: name two that have"
        )
    return both


class _Part(NamedTuple):
    """Identities whose first two digits are at least `low` and less than `high`; "" for no bound."""

    low: str
    high: str


def _parts(old: Side, new: Side) -> Iterator[_Part]:
    rows = sum(batch.num_rows for side in (old, new) for batch in read_parquet(side.folder, ["backout_count"]))
    number = min(_PARTS, max(1, -(-rows // MOST_AT_ONCE)))
    bounds = ["", *(f"{_PARTS * n // number:02x}" for n in range(1, number)), ""]
    yield from (_Part(low, high) for low, high in pairwise(bounds))


def _cells(part: _Part, old: Side, new: Side, queues: frozenset[str] | None) -> pa.Table:
    """A row for each queue and identity: how many arrived, left, stayed, changed."""
    sides = [_side(side.folder, part, queues, number) for number, side in enumerate((old, new))]
    same = ["dlh_reason", "put_appl_name", "msg_id"]  # of equal messages they are equal; the program nearly always
    both = (
        pa.concat_tables(sides)
        .group_by([*_KEY, "backout_count"])
        .aggregate([("a", "sum"), ("b", "sum"), *((name, "max") for name in same)])
    )
    unchanged = pc.min_element_wise(both["a_sum"], both["b_sum"])
    cells = (
        both.append_column("unchanged", unchanged)
        .group_by(_KEY)
        .aggregate([("a_sum", "sum"), ("b_sum", "sum"), ("unchanged", "sum"), *((f"{one}_max", "max") for one in same)])
    )
    a, b = cells["a_sum_sum"], cells["b_sum_sum"]
    stayed = pc.min_element_wise(a, b)
    counts = {
        Change.ARRIVED: pc.subtract(b, stayed),
        Change.LEFT: pc.subtract(a, stayed),
        Change.STAYED: stayed,
        Change.BACKOUT_COUNT: pc.subtract(stayed, cells["unchanged_sum"]),
    }
    columns = {**{name: cells[name] for name in _KEY}, **{one: cells[f"{one}_max_max"] for one in same}}
    return pa.table({**columns, **{change.value: values for change, values in counts.items()}})


def _side(folder: Path, part: _Part, queues: Collection[str] | None, number: int) -> pa.Table:
    """The columns of a snapshot's messages of a part; `a` is 1 and `b` 0 for A, and so on. Times and bodies are not
    read."""
    found = [_of_part(batch, part, queues) for batch in read_parquet(folder, _COLUMNS)]
    table = pa.Table.from_batches(found, schema=_SCHEMA)
    ones, zeros = (pa.repeat(pa.scalar(value, pa.int64()), table.num_rows) for value in (1, 0))
    first, second = (ones, zeros) if number == 0 else (zeros, ones)
    return table.append_column("a", first).append_column("b", second)


_SCHEMA = pa.schema(
    [
        ("queue", pa.string()),
        ("msg_key", pa.string()),
        ("backout_count", pa.int32()),
        ("dlh_reason", pa.int32()),
        ("put_appl_name", pa.string()),
        ("msg_id", pa.binary()),
    ]
)


def _of_part(batch: pa.RecordBatch, part: _Part, queues: Collection[str] | None) -> pa.RecordBatch:
    wanted = None if queues is None else pc.is_in(batch.column("queue"), pa.array(sorted(queues), pa.string()))
    keys = batch.column("msg_key")
    for bound, compare in ((part.low, pc.greater_equal), (part.high, pc.less)):
        if bound:
            inside = compare(keys, bound)
            wanted = inside if wanted is None else pc.and_(wanted, inside)
    return pa.RecordBatch.from_arrays(
        [batch.column(one.name).cast(one.type) for one in _SCHEMA], schema=_SCHEMA
    ).filter(wanted if wanted is not None else pa.repeat(pa.scalar(value=True), batch.num_rows))


def _with_rules(cells: pa.Table, old: Side, new: Side) -> pa.Table:
    """The same with the rule that a plan has for each message: the plan of B, for what B does not have that of A."""
    keys = pc.unique(cells["msg_key"])
    found = [_rules(side, keys) for side in (new, old)]
    for number, rules in enumerate(found):
        cells = cells.join(rules.rename_columns([*_KEY, f"rule_{number}"]), keys=_KEY, join_type="left outer")
    in_b = pc.greater(pc.add(cells[Change.ARRIVED.value], cells[Change.STAYED.value]), 0)
    rule = pc.if_else(in_b, pc.coalesce(cells["rule_0"], cells["rule_1"]), cells["rule_1"])
    return cells.append_column("rule_key", rule)


def _rules(side: Side, keys: pa.ChunkedArray | pa.Array) -> pa.Table:
    """Queue, identity, and the rule of the plan; nothing where the run has no plan."""
    schema = pa.schema([("queue", pa.string()), ("msg_key", pa.string()), ("rule_key", pa.string())])
    if side.run is None or not side.run.plan_json.exists() or not side.run.plan.is_dir():
        return schema.empty_table()
    there = [
        batch.filter(pc.is_in(batch.column("msg_key"), keys)).cast(schema)
        for batch in read_parquet(side.run.plan, schema.names)
    ]
    rules = pa.Table.from_batches(there, schema=schema).group_by(_KEY).aggregate([("rule_key", "max")])
    return rules.select([*_KEY, "rule_key_max"])


def _grouped(cells: pa.Table) -> pa.Table:
    return cells.group_by(_GROUP).aggregate([(name, "sum") for name in _COUNTED])


def _examples(cells: pa.Table, kind: Change, most: int) -> Sequence[Example]:
    if kind is Change.STAYED or most <= 0:
        return ()
    first = cells.filter(pc.greater(cells[kind.value], 0)).slice(0, most)
    return [Example(row["queue"], row["msg_id"].hex()) for row in first.select(["queue", "msg_id"]).to_pylist()]
