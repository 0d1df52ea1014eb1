"""Decide in one process, without Spark: the plain matcher on a run's snapshot gives the same plan and digest.

`mqops.decide.spark.decide` is the same for many messages; a test holds the two equal, digest included.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from mqops.actions import OF_NOBODY
from mqops.backout.core.decision import settled, with_origin
from mqops.backout.core.origin import Setting
from mqops.decide import backout_setting as backout
from mqops.decide import retry_not_due as later
from mqops.decide.arrow import PLAN
from mqops.decide.core import PlanSummary, message_groups, plan_digest
from mqops.decide.core.answers import answers, columns_for
from mqops.decide.core.pacing import Handling, covered
from mqops.decide.core.summary import MOST_GROUPS
from mqops.decide.counts import Books
from mqops.decide.message_groups import bound
from mqops.errors import PlanChanged
from mqops.lake.files import make_durable, make_folder, read_json, write_json
from mqops.lake.parquet import read_parquet, write_parquet
from mqops.lake.run import RunFolder
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.columns import NAME_COLUMNS, PATTERN_COLUMNS
from mqops.observe.replays import read as read_replays
from mqops.rules import Rule, Table, choose
from mqops.rules.conditions import Question

COPIED = (
    *("queue", "msg_key", "msg_id", "correl_id", "put_date", "put_time", "body_sha256", "body_length"),
    *("dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "put_appl_name"),
)
READ = sorted({*COPIED, *PATTERN_COLUMNS.values(), *NAME_COLUMNS.values(), "dlh_error", "format", "jms_destination"})
"""The columns of a snapshot that deciding reads; for extended rules see `read_messages`."""
_BATCH, _NARROW_BATCH = 2000, 65_536


def decide(
    run: RunFolder,
    table: Table,
    *,
    text: str,
    source: str,
    workflow: str = "dlq",
    handling: Handling | None = None,
    requested_by: str = "",
    not_due: Mapping[str, str] = MappingProxyType({}),
) -> PlanSummary:
    """Write RUN/plan and RUN/plan.json.

    Parameters: `table` that was made of `text`, which came from `source`; `handling` what the run asks for, to which
    that of the rules comes; `requested_by` who may have it carried out as it stands; `not_due` msg_key → when its next
    try is (`mqops.decide.retry_not_due`).

    Raises:
        PlanChanged: this run's plan is being acted on already.
        LakeError: the snapshot is missing or the disk refused.
    """
    where = backout.kept(run)
    return write_plan(
        run,
        bound(run, table, later.left_for_later(run, _plan_rows(run, table, where), not_due)),
        workflow=workflow,
        table=(source, table.digest, text),
        remarks=(*(where.remarks() if where else ()), *later.remarks(not_due)),
        handling=(handling or Handling()).of_table(table.rules),
        requested_by=requested_by,
    )


def write_plan(
    run: RunFolder,
    rows: Iterable[dict[str, Any]],
    *,
    workflow: str,
    table: tuple[str, str, str],
    queues: Sequence[str] = (),
    remarks: tuple[str, ...] = (),
    handling: Handling | None = None,
    requested_by: str = "",
) -> PlanSummary:
    """Write a plan and its summary into a run's folder, which has its snapshot.

    Parameters: `rows` of `PLAN`, in order; `table` source, digest and text of what decided; `queues` that messages are
    taken from, none for those of the snapshot; `handling` how it is carried out. The rest, and errors, as of `decide`.
    """
    if run.issued_json.exists():
        raise PlanChanged(f"The plan of run {run.run} is being acted on; make a new run for a new plan")
    observed = read_json(run.observe_json)
    run.plan_json.unlink(missing_ok=True)
    books = Books()
    make_folder(run.plan)
    write_parquet(run.plan, PLAN, _batches(books.noting(rows)))
    make_durable(run.plan)
    how = (handling or Handling()).to_json()
    rules = books.rule_counts()
    actions: Counter[str] = Counter()
    for rule in rules:
        actions[rule.action] += rule.messages
    summary = PlanSummary(
        run=run.run,
        workflow=workflow,
        queue_manager=observed["queue_manager"],
        queue=",".join(queues or (queue["queue"] for queue in observed["queues"])),
        table_source=table[0],
        table_digest=table[1],
        table_text=table[2],
        digest=covered(plan_digest(books.digests), how),
        observed=observed["messages"],
        rows=len(books.digests),
        bytes=sum(tally.bytes for tally in books.rules.values()),
        rules=rules,
        counts=books.counts(run.snapshot),
        counts_left_off=max(0, len(books.groups) - MOST_GROUPS),
        remarks=(*remarks, *message_groups.remarks(actions, books.used_up), *(handling.remarks() if handling else ())),
        handling=how,
        requested_by=requested_by,
    )
    write_json(run.plan_json, summary.to_json())
    return summary


def _plan_rows(run: RunFolder, table: Table, where: Setting | None) -> Iterator[dict[str, Any]]:
    past = Past.of(run, where)
    number = 0
    for batch in read_messages(run.snapshot, table.questions):
        for message in batch.to_pylist():
            yield past.row(number, message, table)
            number += 1


@dataclass(frozen=True, slots=True)
class Past:
    """What decides about a message besides the message and the table.

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

    def row(self, number: int, message: Mapping[str, Any], table: Table) -> dict[str, Any]:
        """The plan's row number `number` for a message of the snapshot (column → value)."""
        key = message["msg_key"]
        tries = self.tries.get(key, {})
        if self.where is None:
            return plan_row(number, message, table, tries)
        row = plan_row(number, with_origin(message, self.where), table, tries)
        return settled(row, self.where, self.replays.get(key, 0))


def _tries(run: RunFolder) -> dict[str, dict[str, int]]:
    if not run.tries.exists():
        return {}
    return {row["msg_key"]: row["tries"] for row in map(json.loads, run.tries.read_text().splitlines())}


def plan_row(number: int, message: Mapping[str, Any], table: Table, tries: Mapping[str, int]) -> dict[str, Any]:
    """The row of the plan for one message of the snapshot.

    Parameters: `number` of the row; `message` column → value; `tries` rule key → failed tries so far. A message
    that has had some may have `waits` besides (see `mqops.decide.message_groups.bound`), and `used_up`: the line of the
    first rule that matches, where all that do have used up their tries.
    """
    copied = {name: message[name] for name in COPIED}
    if message["dlh_error"] is not None:
        return {"row": number, **copied, **NO_RULE, "action": "ERROR", "unit_group": "ERROR"}
    fields = {keyword: message[column] for keyword, column in PATTERN_COLUMNS.items()}
    known = fields | answers(table.questions, message)
    rule = choose(table, known, tries)
    ignored = {**NO_RULE, "action": "IGNORE", "unit_group": "IGNORE"}
    row = {"row": number, **copied, **(ignored if rule is None else _decision(rule, message, tries))}
    first = choose(table, known, {}) if tries and rule is None else None
    if first is not None:
        row["used_up"] = first.line
    waits = choose(message_groups.keepers(table), known, {}) if tries else None
    if waits is not None and waits.order:
        row["waits"] = (waits, _decision(waits, message, tries)["unit_group"])
    return row


def read_messages(snapshot: Path, questions: Iterable[Question]) -> Iterator[pa.RecordBatch]:
    """What deciding by rules with these questions reads of a snapshot, whoever wrote it. Raises `LakeError`."""
    asked = columns_for(questions)
    for batch in read_parquet(snapshot, sorted({*READ, *asked}), rows=_BATCH if "body" in asked else _NARROW_BATCH):
        yield pa.RecordBatch.from_arrays(
            [column.cast(SNAPSHOT.field(name).type) for name, column in zip(batch.schema.names, batch, strict=True)],
            batch.schema.names,
        )


NO_RULE: Mapping[str, Any] = {
    "rule_line": None,
    "rule_key": None,
    "dest_q": "",
    "dest_q_mgr": "",
    "header": False,
    "putaut": "",
    "alternate_user": "",
    "tries": 0,
}


def _decision(rule: Rule, message: Mapping[str, Any], tries: Mapping[str, int]) -> dict[str, Any]:
    puts = rule.action in {"RETRY", "FWD"}
    queue = "&DESTQ" if rule.action == "RETRY" else rule.fwdq
    queue_manager = "&DESTQM" if rule.action == "RETRY" else rule.fwdqm
    by_context = puts and rule.putaut == "CTX"
    alternate_user: str = (message["user_identifier"] or OF_NOBODY) if by_context else ""
    decision = {
        "rule_line": rule.line,
        "rule_key": rule.key,
        "action": rule.action,
        "dest_q": _resolved(queue, message),
        "dest_q_mgr": _resolved(queue_manager, message),
        "header": rule.header,
        "putaut": rule.putaut if puts else "",
        "alternate_user": alternate_user,
        "tries": tries.get(rule.key, 0),
    }
    user = f"!{alternate_user.strip(' ')}" if alternate_user else ""
    target = f"{decision['dest_q']}@{decision['dest_q_mgr']}{user}"
    return decision | {"unit_group": target if puts else rule.action}


def _resolved(name: str, message: Mapping[str, Any]) -> str:
    """A name, or the field an &-name stands for (`ibm_mq_facts` 1.6)."""
    return (message[NAME_COLUMNS[name]] or "") if name in NAME_COLUMNS else name


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    waiting: list[dict[str, Any]] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == _BATCH:
            yield pa.RecordBatch.from_pylist(waiting, schema=PLAN)
            waiting = []
    yield pa.RecordBatch.from_pylist(waiting, schema=PLAN)
