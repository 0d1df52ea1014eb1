"""What a rules table decides for the messages of a recorded snapshot, by the same code as in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from mqops.actions import Action
from mqops.backout.core.decision import with_origin
from mqops.decide import backout_setting as backout
from mqops.decide.in_process import Past, read_messages
from mqops.expect.check import Seen
from mqops.lake.parquet import rows_with
from mqops.model import Destination
from mqops.observe import snapshot
from mqops.observe.core.answers import answers
from mqops.observe.core.columns import NAME_COLUMNS, PATTERN_COLUMNS, SnapshotRow, pattern_values
from mqops.rules import Table
from mqops.rules.conditions import Question
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import PATTERN_KEYWORDS

MOST_IDS = 3
"""Message ids that stand for a group."""


class SnapshotDecision(NamedTuple):
    """What is done with a message now: the action, its destination, and how it is put. A tuple, to group by.

    `action` is that of the rule, or ERROR for a message without an MQDLH, AMBIGUOUS for one whose origin is not known.
    """

    action: Action
    dest_q: str = ""
    dest_q_mgr: str = ""
    header: bool = False
    putaut: str = ""

    @property
    def target(self) -> str:
        """`QUEUE@QMGR`; without `@` where the queue manager is blank, empty where nothing is put."""
        return str(Destination(self.dest_q, self.dest_q_mgr))

    def __str__(self) -> str:
        if not self.target:
            return self.action
        header = " HEADER(NO)" if self.action is Action.FWD and not self.header else ""
        putaut = " PUTAUT(CTX)" if self.putaut == "CTX" else ""
        return f"{self.action} to {self.target}{header}{putaut}"


@dataclass(slots=True)
class Tally:
    """Messages that have something in common; `ids` are the MsgIds (hex) of the first few."""

    messages: int = 0
    bytes: int = 0
    ids: list[str] = field(default_factory=list)

    def add(self, message: SnapshotRow) -> None:
        """Count a message of the snapshot."""
        self.messages += 1
        self.bytes += message["body_length"]
        if len(self.ids) < MOST_IDS:
            self.ids.append(message["msg_id"].hex())


class Alike(NamedTuple):
    """Messages that look the same to a table: the first of them (column → value), their number, the bytes of all."""

    message: SnapshotRow
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded snapshot, and what else the decisions depend on: earlier tries, origins, replays.

    Parameters: `without` identities (msg_key) of messages that are passed over, None for none.
    """

    folder: Path
    past: Past
    without: pa.Array | None = None

    @classmethod
    def of(cls, path: Path) -> Recorded:
        """The snapshot in a run's folder, in the snapshot folder of a run, or in any folder of its Parquet files.

        Raises:
            SettingsError: There is no snapshot.
            LakeError: the run's files cannot be read.
        """
        run, folder = snapshot.find(path)
        return cls(folder, Past.of(run, backout.read_setting(run)) if run else Past())

    @property
    def of_backout_queues(self) -> bool:
        """Whether the run was one over backout queues, whose tables may name &ORIGQ."""
        return self.past.where is not None

    def messages(self, *questions: Question) -> Iterator[SnapshotRow]:
        """The messages in the order of the snapshot, column → value, those that questions need among them.

        Raises `LakeError`.
        """
        for batch in self._batches(questions):
            yield from batch.to_pylist()

    def _batches(self, questions: Iterable[Question]) -> Iterator[pa.RecordBatch]:
        questions = (*questions, *self.past.questions)
        if self.without is None:
            yield from read_messages(self.folder, questions)
            return
        keep, first = pc.invert(rows_with(self.folder, "msg_key", self.without)), 0
        for batch in read_messages(self.folder, questions):
            yield batch.filter(keep.slice(first, batch.num_rows))
            first += batch.num_rows

    def alike(self, *questions: Question, most: int) -> Iterator[Alike]:
        """The messages, those together that look the same to a table with these questions, batch by batch.

        Without questions Arrow counts, however many messages there are. What answers a question is read message by
        message, and of no more than the first `most`.

        Raises `LakeError`.
        """
        if questions or self.past.questions:
            for message in islice(self.messages(*questions), most):
                yield Alike(message, 1, message["body_length"])
            return
        own = pa.array(sorted({*self.past.tries, *self.past.replays}), pa.string())
        for batch in self._batches(()):
            yield from _alike(batch, own)

    def seen(self, table: Table) -> Iterator[Seen]:
        """Every message with its decision, to compare with expectations. Raises `LakeError`."""
        decide = self.decision_by(table)
        for message in self.messages(*table.questions):
            decision, line = decide(message)
            fields = pattern_fields(message if self.past.where is None else with_origin(message, self.past.where))
            yield Seen(msg_id=message["msg_id"].hex(), fields=fields, decision=decision, line=line)

    def matchable(self, *questions: Question) -> Iterator[SnapshotRow]:
        """The messages that rules can match: those with an MQDLH or an origin in its place. Raises `LakeError`."""
        for message in self.messages(*questions):
            found = message if self.past.where is None else with_origin(message, self.past.where)
            if found["dlh_error"] is None:
                yield found

    def decision_by(self, table: Table) -> DecisionOf:
        """A function: the decision of a table for a message, and the line of the rule (None: no rule).

        Messages that look the same to every table are decided once; those with tries or replays one by one.
        """
        known: dict[tuple[Any, ...], tuple[SnapshotDecision, int | None]] = {}
        questions = (*table.questions, *self.past.questions)

        def decided(message: SnapshotRow) -> tuple[SnapshotDecision, int | None]:
            row = self.past.row(0, message, table).row
            return SnapshotDecision(*(getattr(row, name) for name in SnapshotDecision._fields)), row.rule_line

        def remembered(message: SnapshotRow) -> tuple[SnapshotDecision, int | None]:
            if message["msg_key"] in self.past.tries or message["msg_key"] in self.past.replays:
                return decided(message)
            look = (*_look(message), *answers(questions, message).values())
            if look not in known:
                if len(known) >= _MOST_KNOWN:
                    known.clear()
                known[look] = decided(message)
            return known[look]

        return remembered


def _alike(batch: pa.RecordBatch, own: pa.Array) -> Iterator[Alike]:
    """The messages of a batch by what a decision depends on; each with a key in `own` is by itself."""
    key = batch.column("msg_key")
    table = pa.Table.from_batches([batch.select([*_LOOK, "body_length"])])
    table = table.append_column("own", pc.if_else(pc.is_in(key, own), key, pa.scalar("")))
    table = table.append_column("place", pa.array(range(batch.num_rows), pa.int64()))
    wanted = [("place", "min"), ("body_length", "sum"), ([], "count_all")]
    groups = table.group_by([*_LOOK, "own"]).aggregate(wanted).sort_by("place_min")
    first = batch.take(groups.column("place_min").combine_chunks()).to_pylist()
    counts = zip(
        first, groups.column("count_all").to_pylist(), groups.column("body_length_sum").to_pylist(), strict=True
    )
    yield from (Alike(*one) for one in counts)


DecisionOf: TypeAlias = Callable[[SnapshotRow], tuple[SnapshotDecision, int | None]]
_LOOK = sorted({*PATTERN_COLUMNS.values(), *NAME_COLUMNS.values(), "queue", "dlh_error", "format", "jms_destination"})
"""The columns that a decision depends on, for a message without tries and replays."""
_look = itemgetter(*_LOOK)
_MOST_KNOWN = 100_000


def pattern_fields(message: SnapshotRow) -> dict[str, str | int]:
    """Pattern keyword → the message's value; blank or 0 where the message has none."""
    return {
        keyword: value or ("" if PATTERN_KEYWORDS[keyword].kind is ValueKind.WILD else 0)
        for keyword, value in pattern_values(message).items()
    }
