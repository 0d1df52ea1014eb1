"""Decide in one process, without Spark: the plain matcher on a run's snapshot gives the same plan and digest.

`mqops.decide.spark.decide` is the same for many messages; a test holds the two equal, digest included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from mqops.actions import OF_NOBODY, Action
from mqops.backout.core.decision import settled, with_origin
from mqops.backout.core.origin import Setting
from mqops.backout.core.origin_table import questions_of
from mqops.decide import ambiguous, no_text, retry_not_due
from mqops.decide import backout_setting as backout
from mqops.decide.arrow import PLAN, batch_of
from mqops.decide.core import PlanSummary, backoff, message_groups
from mqops.decide.core.decided import DecidedRow, OrderWait
from mqops.decide.core.pacing import Pacing, covered
from mqops.decide.counts import PlanTotals
from mqops.decide.gate import found_by, remarks_of
from mqops.decide.message_groups import bound
from mqops.decide.recorded import PLAN as PLAN_SUMMARY
from mqops.decide.recorded import refuse_begun
from mqops.lake.files import make_durable, read_json_lines
from mqops.lake.parquet import number_of_rows, read_parquet, write_parquet
from mqops.lake.run import RunFolder
from mqops.lake.step import Step
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core import expired
from mqops.observe.core.answers import answers, columns_for
from mqops.observe.core.columns import NAME_COLUMNS, PATTERN_COLUMNS, SnapshotRow, pattern_values
from mqops.observe.recorded import OBSERVED
from mqops.observe.replays import read as read_replays
from mqops.plan_row import COLUMNS, PlanRow, RuleDecision, without_rule
from mqops.rules import Rule, Table, choose
from mqops.rules.conditions import Question
from mqops.workflow import Workflow

COPIED = tuple(name for name in COLUMNS if name in SNAPSHOT.names)
"""The columns of a snapshot that a plan repeats."""
_copied = itemgetter(*COPIED)
READ = sorted({*COPIED, *PATTERN_COLUMNS.values(), *NAME_COLUMNS.values(), "dlh_error", "format", "jms_destination"})
"""The columns of a snapshot that deciding reads; for extended rules see `read_messages`."""
_NAMED = {name: itemgetter(column) for name, column in NAME_COLUMNS.items()}
_BATCH, _NARROW_BATCH = 2000, 65_536


def decide(
    run: RunFolder,
    table: Table,
    *,
    text: str,
    source: str,
    workflow: str = Workflow.DLQ_RULES,
    pacing: Pacing | None = None,
    requested_by: str = "",
    not_due: Mapping[str, str] = MappingProxyType({}),
    split_groups: bool = False,
) -> PlanSummary:
    """Write RUN/plan and RUN/plan.json.

    Parameters: `table` that was made of `text`, which came from `source`; `pacing` what the run asks for, to which
    that of the rules comes; `requested_by` who may have it carried out as it stands; `not_due` msg_key → when its next
    try is (`mqops.decide.retry_not_due`); `split_groups` whether messages of an MQ group may go to different queues.

    Raises:
        PlanChanged: this run's plan is being acted on already.
        LakeError: the snapshot is missing or the disk refused.
    """
    where = backout.read_setting(run)
    return write_plan(
        run,
        bound(
            run,
            table,
            retry_not_due.leave_not_due(run, _plan_rows(run, table, where), not_due),
            backoff=backout.backoff(where),
            split_groups=split_groups,
        ),
        workflow=workflow,
        by=DecidedBy(source=source, digest=table.digest, text=text),
        remarks=(
            *(where.remarks() if where else ()),
            *no_text.remarks(run, table),
            *retry_not_due.remarks(not_due),
        ),
        pacing=(pacing or Pacing()).of_table(table.rules),
        requested_by=requested_by,
        unseen=where.unseen if where else (),
        where=where,
    )


class DecidedBy(NamedTuple):
    """What decided, for the approver: where it came from, its SHA-256, and the text of a rules table or the like."""

    source: str
    digest: str
    text: str = ""


def write_plan(
    run: RunFolder,
    rows: Iterable[DecidedRow],
    *,
    workflow: str,
    by: DecidedBy,
    queues: Sequence[str] = (),
    remarks: tuple[str, ...] = (),
    pacing: Pacing | None = None,
    requested_by: str = "",
    unseen: tuple[str, ...] = (),
    where: Setting | None = None,
) -> PlanSummary:
    """Write a plan and its summary into a run's folder, which has its snapshot.

    Parameters: `rows` in order; `by` what decided; `queues` that messages are taken from, none for those of the
    snapshot; `unseen` queues that could not be looked at; `pacing` how it is carried out; `where` the setting of
    a backout run. The rest, and errors, as of
    `decide`.
    """
    refuse_begun(run)
    observed = OBSERVED.read(run)
    PLAN_SUMMARY.path(run).unlink(missing_ok=True)
    totals = PlanTotals()
    write_parquet(run.plan, PLAN, totals.digested(_batches(totals.noting(rows))))
    make_durable(run.plan)
    how = (pacing or Pacing()).to_json()
    rules, gate = totals.rule_counts(), found_by(run)
    actions: Counter[Action] = Counter()
    for rule in rules:
        actions[rule.action] += rule.messages
    summary = PlanSummary(
        run=run.run,
        workflow=workflow,
        queue_manager=observed.queue_manager,
        queue=",".join(queues or (one.queue for one in observed.queues)),
        table_source=by.source,
        table_digest=by.digest,
        table_text=by.text,
        digest=covered(totals.digest(), how),
        observed=observed.messages,
        rows=len(totals.digests),
        bytes=sum(tally.bytes for tally in totals.rules.values()),
        rules=rules,
        counts=totals.counts(run.snapshot),
        counts_left_off=totals.groups_left_off(),
        remarks=(
            *expired.remarks(observed),
            *remarks_of(gate, rules),
            *remarks,
            *(ambiguous.remarks(run, where) if where else ()),
            *message_groups.remarks(actions, totals.used_up),
            *backoff.remarks(totals.due),
            *([message_groups.WAY_OUT] if totals.used_up else []),
            *(pacing.remarks() if pacing else ()),
        ),
        handling=how,
        requested_by=requested_by,
        used_up=totals.used_up.total(),
        unseen=unseen,
        gate=gate.checks if gate else (),
    )
    PLAN_SUMMARY.write(run, summary)
    return summary


def _plan_rows(run: RunFolder, table: Table, where: Setting | None) -> Iterator[DecidedRow]:
    past = Past.of(run, where)
    number = 0
    with Step(run, "decide", number_of_rows(run.snapshot)) as told:
        for batch in told.counted(read_messages(run.snapshot, (*table.questions, *past.questions))):
            for message in batch.to_pylist():
                yield past.row(number, message, table)
                number += 1


@dataclass(frozen=True, slots=True)
class Past:
    """What a decision depends on, apart from the message and the rules table.

    Attributes: `where` the setting of a backout run, else None; `tries` msg_key → rule key → failed tries; `replays`
    msg_key → how often it was put back.
    """

    where: Setting | None = None
    tries: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    replays: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, run: RunFolder, where: Setting | None) -> Past:
        """The past of a run's messages. Raises `LakeError`."""
        return cls(where, _tries(run), read_replays(run))

    @property
    def questions(self) -> tuple[Question, ...]:
        """What the table of origins asks of a message."""
        return questions_of(self.where.origins) if self.where else ()

    def row(self, number: int, message: SnapshotRow, table: Table) -> DecidedRow:
        """The plan's row number `number` for a message of the snapshot (column → value)."""
        key = message["msg_key"]
        tries = self.tries.get(key, {})
        if self.where is None:
            return plan_row(number, message, table, tries)
        decided = plan_row(number, with_origin(message, self.where), table, tries)
        return decided.changed_to(settled(decided.row, self.where, self.replays.get(key, 0)))


def _tries(run: RunFolder) -> dict[str, dict[str, int]]:
    found = read_json_lines(run.tries) if run.tries.exists() else ()
    return {row["msg_key"]: row["tries"] for row in found}


def plan_row(number: int, message: SnapshotRow, table: Table, tries: Mapping[str, int]) -> DecidedRow:
    """The row of the plan for one message of the snapshot.

    Parameters: `number` of the row; `message` column → value; `tries` rule key → failed tries so far.
    """
    if message["dlh_error"] is not None:
        return DecidedRow(row_of(number, message, without_rule(Action.ERROR)))
    known = pattern_values(message) | answers(table.questions, message)
    rule = choose(table, known, tries)
    decision = without_rule(Action.IGNORE) if rule is None else _decision(rule, message, tries)
    row = row_of(number, message, decision)
    if not tries:
        return DecidedRow(row)
    first = choose(table, known, {}) if rule is None else None
    keeper = choose(message_groups.keepers(table), known, {})
    return DecidedRow(
        row,
        waits=OrderWait(keeper, _decision(keeper, message, tries)["unit_group"]) if keeper and keeper.order else None,
        used_up=None if first is None else first.line,
    )


def row_of(number: int, message: SnapshotRow, decision: RuleDecision) -> PlanRow:
    """A row from its number, the columns of a snapshot that a plan repeats, and the decision."""
    return PlanRow(row=number, **dict(zip(COPIED, _copied(message), strict=True)), **decision, together=number)


def read_messages(snapshot: Path, questions: Iterable[Question]) -> Iterator[pa.RecordBatch]:
    """What deciding by rules with these questions reads of a snapshot, also of one by Spark. Raises `LakeError`."""
    asked = columns_for(questions)
    for batch in read_parquet(snapshot, sorted({*READ, *asked}), rows=_BATCH if "body" in asked else _NARROW_BATCH):
        yield pa.RecordBatch.from_arrays(
            [column.cast(SNAPSHOT.field(name).type) for name, column in zip(batch.schema.names, batch, strict=True)],
            batch.schema.names,
        )


def _decision(rule: Rule, message: SnapshotRow, tries: Mapping[str, int]) -> RuleDecision:
    puts = rule.action.puts
    queue = _resolved("&DESTQ" if rule.action is Action.RETRY else rule.fwdq, message)
    queue_manager = _resolved("&DESTQM" if rule.action is Action.RETRY else rule.fwdqm, message)
    by_context = puts and rule.putaut == "CTX"
    alternate_user: str = (message["user_identifier"] or OF_NOBODY) if by_context else ""
    user = f"!{alternate_user.strip(' ')}" if alternate_user else ""
    return {
        "rule_line": rule.line,
        "rule_key": rule.key,
        "action": rule.action,
        "dest_q": queue,
        "dest_q_mgr": queue_manager,
        "header": rule.header,
        "putaut": rule.putaut if puts else "",
        "alternate_user": alternate_user,
        "tries": tries.get(rule.key, 0),
        "unit_group": f"{queue}@{queue_manager}{user}" if puts else rule.action.value,
        "order_key": "",
    }


def _resolved(name: str, message: SnapshotRow) -> str:
    """A name, or the field an &-name stands for (IBM MQ, "DLQ rules table patterns and actions")."""
    found: str | None = _NAMED[name](message) if name in _NAMED else name
    return found or ""


def _batches(rows: Iterable[PlanRow]) -> Iterator[pa.RecordBatch]:
    source = iter(rows)
    while chunk := list(islice(source, _BATCH)):
        yield batch_of(chunk)
