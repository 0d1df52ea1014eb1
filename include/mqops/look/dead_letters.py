"""What a dead-letter queue is made of and what the rules table would do with it: from the lake, nothing is browsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from mqops.as_json import JsonObject, as_json, json_object
from mqops.decide.on_snapshot import Recorded, SnapshotDecision
from mqops.kept import kept
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder, folder_of
from mqops.look.core.run_state import RunLine
from mqops.look.history import with_runs
from mqops.look.message import TableFrom
from mqops.look.runs import Runs
from mqops.look.taken_since import PUTS_BACK, TAKES, Proved, Taker, acted, taken, takers, without
from mqops.observe.anatomy import COLUMNS, AnatomyCounter, read_last
from mqops.observe.core.anatomy import NO_DLH, OTHERS, Group, QueueAnatomy
from mqops.observe.core.reasons import reason_symbol
from mqops.prove.records import SUMMARY, UNDO_RECORD
from mqops.rules import Table
from mqops.workflow import Workflow

MOST_JUDGED = 50_000
"""Messages that are read one by one where a table asks for what is in them (AGE, PROP, BODY ...)."""
TREND = 30
"""Runs that the trend has."""


class Decided(NamedTuple):
    """What a table does with messages of a group: the decision, the line of the rule (None: no rule), how many."""

    decision: SnapshotDecision
    line: int | None
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterGroup:
    """Messages of one reason, destination and application. Parameters: `growth` since the record before; `ages` name →
    messages; `decided` the largest first, empty where no table judges them."""

    group: Group
    messages: int
    bytes: int
    growth: int
    ages: Mapping[str, int]
    decided: tuple[Decided, ...] = ()

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return {
            **json_object(self.group),
            **{"messages": self.messages, "bytes": self.bytes, "growth": self.growth, "ages": as_json(self.ages)},
            "decided": [
                {"what": str(one.decision), "line": one.line, "messages": one.messages} for one in self.decided
            ],
        }


class Count(NamedTuple):
    """How many messages a run found. Parameters: `at` ISO 8601 UTC."""

    at: str
    messages: int
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a run has done to a queue since its record, in messages of this queue.

    Parameters: `moved` and `discarded` from the queue (an undo has taken them back), `put_back` on it by an undo;
    `whole` whether the run has several queues and is not proved yet: then the counts are of all of them.
    """

    run: str
    undo: bool = False
    moved: int = 0
    discarded: int = 0
    left: int = 0
    gone: int = 0
    put_back: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters:
    """A queue by its last record, without what runs have taken since (`mqops.look.taken_since`).

    Parameters: `groups` the largest first; `trend` the last runs, oldest first; `acted` what runs have taken
    from the queue since the record, and undos have put back, oldest first; `left` messages of the
    record that they have left, None where they have taken none or it cannot be said; `rules_source` the table that
    judged, "" for none; `judged` messages that it judged; `problem` why it judged none, in words.
    """

    anatomy: QueueAnatomy
    groups: tuple[DeadLetterGroup, ...]
    trend: tuple[Count, ...] = ()
    acted: tuple[Change, ...] = ()
    left: int | None = None
    rules_source: str = ""
    judged: int = 0
    problem: str = ""

    def to_json(self) -> JsonObject:
        """A JSON object."""
        queue = self.anatomy
        return {
            **{"queue_manager": queue.queue_manager, "queue": queue.queue, "run": queue.run},
            **{"observed_at": queue.observed_at, "messages": queue.messages, "oldest": queue.oldest},
            "since": as_json(queue.since),
            "growth": sum(queue.growth.values()),
            "groups": [one.to_json() for one in self.groups],
            "trend": as_json(self.trend),
            **{"rules_source": self.rules_source, "judged": self.judged, "problem": self.problem},
        }


def dead_letter_queues(lake: Path, queue_manager: str = "") -> list[QueueAnatomy]:
    """The last record of each queue that has had dead letters, the fullest first.

    Parameters: `queue_manager` "" for all.

    Raises:
        LakeError: a record cannot be read.
    """
    names = [queue_manager] if queue_manager else with_runs(lake)
    return sorted(
        (record for name in names for record in _records(folder_of(lake, name))),
        key=lambda one: (-one.messages, one.queue_manager, one.queue),
    )


def queue_of_last_run(lake: Path, queue_manager: str) -> str:
    """The queue of the newest run of the dead-letter workflow, "" where there is none. Raises `LakeError`."""
    return next((one.queue for one in Runs(lake, queue_manager).newest(1, workflow=Workflow.DLQ_RULES)), "")


def comes_back(decision: SnapshotDecision, anatomy: QueueAnatomy) -> bool:
    """Whether a decision puts a message on the queue that it is taken from. An alias is not followed: the pre-flight of
    a plan does."""
    return decision.dest_q == anatomy.queue and decision.dest_q_mgr in {"", anatomy.queue_manager}


def _records(folder: Path) -> Iterator[QueueAnatomy]:
    for path in sorted((folder / "anatomy").glob("*.json")):
        yield read_last(path)


def dead_letters(lake: Path, anatomy: QueueAnatomy, table: TableFrom | None, *, problem: str = "") -> DeadLetters:
    """What is known of a queue.

    Parameters: `anatomy` its last record; `table` that judges its messages, None for none; then `problem` says why.

    Raises:
        LakeError: a file of the lake cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    judged: Mapping[Group, tuple[Decided, ...]] = {}
    left, run = anatomy, RunFolder.at(lake, anatomy.queue_manager, anatomy.run) if anatomy.run else None
    recorded = run is not None and any(run.snapshot.glob("*.parquet"))
    known = Runs(lake, anatomy.queue_manager).caught_up()
    taken_by = takers(known, [anatomy.queue], since=anatomy.observed_at)
    unknown = [one.run.run.name for one in taken_by if one.plan_removed]
    if run is not None and recorded and taken_by and not unknown:
        left = _left(run.path, anatomy.queue, anatomy.observed_at, taken_by)
    if table is None:
        problem = problem or f"The estate names no rules table for {anatomy.queue_manager}"
    elif run is None:
        problem = "The last look at this queue made no run, so there is no snapshot to judge"
    elif recorded and unknown:
        problem = (
            f"The plan of {known.named(unknown[0])} was removed: which messages it has taken is not known any more"
        )
    elif recorded:
        judged = _judged(run.path, anatomy.queue, _Keyed(table.table), taken_by)
    else:
        problem = f"The snapshot of {known.named(anatomy.run)} was removed, so the table cannot judge it"
    groups = tuple(_groups(left, judged))
    of_queue = known.newest(10 * TREND, queue=anatomy.queue)
    return DeadLetters(
        anatomy=anatomy,
        groups=groups,
        trend=_trend(one for one in of_queue if one.queue == anatomy.queue and not one.is_undo),
        acted=tuple(_acted(known, anatomy, taken_by)),
        left=None if left is anatomy else left.messages,
        rules_source=table.source if table and judged else "",
        judged=sum(one.messages for decided in judged.values() for one in decided),
        problem=problem,
    )


def _trend(runs: Iterable[RunLine]) -> tuple[Count, ...]:
    """Parameters: `runs` on the queue, newest first."""
    found = [Count(one.at, one.messages, one.run) for one in runs]
    return tuple(reversed(found[:TREND]))


def _acted(runs: Runs, anatomy: QueueAnatomy, taken_by: Sequence[Taker]) -> Iterator[Change]:
    """The changes by runs since the queue was looked at. The run of the look counts also before it is proved."""
    lines = {one.run: one for one in runs.proved_since(anatomy.observed_at)}
    if anatomy.run and (own := runs.one(anatomy.run)):
        lines[own.run] = own
    known = {proved.run.name for one in taken_by for proved in (one.run, *one.undos)}
    known |= {one.run for one in lines.values() if one.is_undo and one.proved_at}
    for line in sorted(lines.values(), key=lambda one: (one.at, one.run)):
        if line.run not in known and line.run != anatomy.run:
            continue
        change = (
            _change(Proved(runs.folder / "runs" / line.run, line.proved_at), anatomy.queue)
            if line.proved_at
            else _so_far(line)
        )
        if change.moved or change.discarded or change.gone or change.put_back:
            yield change


def _so_far(line: RunLine) -> Change:
    """The changes by a run that is not proved yet."""
    counts = {name: getattr(line, name) for name in ("moved", "discarded", "left", "gone")}
    counts["moved"] = 0 if line.copies else line.moved
    return Change(run=line.run, whole="," in line.queue, **counts)


@kept(most=1024)
def _change(proved: Proved, queue: str) -> Change:
    """The changes of a queue by a proved run. Raises `LakeError`, `LedgerBroken`."""
    run = RunFolder(proved.run)
    rules = [one for one in SUMMARY.read(run).rules if one.queue == queue]
    takes = [one for one in rules if one.action in TAKES]
    change = Change(run=run.run, moved=sum(one.moved for one in takes), discarded=sum(one.discarded for one in takes))
    if UNDO_RECORD.exists(run):  # its balance is by the queues that it took messages from
        return replace(change, undo=True, put_back=sum(row.dest_q == queue for row in acted(run, PUTS_BACK)))
    return replace(change, left=sum(one.left for one in rules), gone=sum(one.gone for one in rules))


@kept(most=32)
def _left(run: Path, queue: str, observed_at: str, taken_by: tuple[Taker, ...]) -> QueueAnatomy:
    """A queue as a run saw it, without what was taken since. Neither a snapshot nor a proof changes. Raises as
    `mqops.look.taken_since.without`."""
    folder = RunFolder(run)
    counter = AnatomyCounter(folder.queue_manager, [queue], observed_at, folder.run)
    if batches := list(read_parquet(folder.snapshot, (*COLUMNS, "msg_key"))):
        for batch in without(pa.Table.from_batches(batches), taken_by).to_batches():
            counter.add(batch)
    return next(one for one in counter.queues() if one.queue == queue)


def _groups(anatomy: QueueAnatomy, judged: Mapping[Group, tuple[Decided, ...]]) -> Iterator[DeadLetterGroup]:
    ages: dict[Group, Counter[str]] = {}
    size: Counter[Group] = Counter()
    for cell in anatomy.cells:
        ages.setdefault(cell.group, Counter())[cell.age] += cell.messages
        size[cell.group] += cell.bytes
    numbers = anatomy.groups()
    for group in sorted({*numbers, *anatomy.growth}, key=lambda one: (-numbers[one], one)):
        yield DeadLetterGroup(
            group=group,
            messages=numbers[group],
            bytes=size[group],
            growth=anatomy.growth.get(group, 0),
            ages=dict(ages.get(group, {})),
            decided=judged.get(group, ()) if group != OTHERS else (),
        )


@dataclass(frozen=True, slots=True)
class _Keyed:
    """A rules table as the key of a cache: tables with the same text are the same."""

    table: Table = field(compare=False)
    digest: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", self.table.digest)


@kept(most=32)
def _judged(run: Path, queue: str, table: _Keyed, taken_by: tuple[Taker, ...]) -> dict[Group, tuple[Decided, ...]]:
    """Group → the decisions of the table for the messages that no run has taken since. Raises as `_left`."""
    recorded = replace(Recorded.of(run), without=taken(taken_by).get(queue))
    decide = recorded.decision_by(table.table)
    found: dict[Group, Counter[tuple[SnapshotDecision, int | None]]] = {}
    for one in recorded.alike(*table.table.questions, most=MOST_JUDGED):
        if one.message["queue"] == queue:
            names = (one.message[name] or "" for name in ("dlh_dest_q", "dlh_dest_q_mgr", "put_appl_name"))
            group = Group(_symbol(one.message["dlh_reason"]), *names)
            found.setdefault(group, Counter())[decide(one.message)] += one.messages
    return {
        group: tuple(Decided(*what, number) for what, number in decisions.most_common())
        for group, decisions in found.items()
    }


def _symbol(reason: int | None) -> str:
    return NO_DLH if reason is None else reason_symbol(reason)
