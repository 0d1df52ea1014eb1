"""The approved plan of a run: read, and checked before anything is moved (its digest, its rows, its snapshot)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mqops.act.core.lanes import Row
from mqops.actions import Action
from mqops.decide.arrow import row_digests, rows_in
from mqops.decide.core import PlanSummary, plan_digest
from mqops.decide.core.pacing import Pacing, covered
from mqops.decide.recorded import PLAN
from mqops.errors import LakeError, PlanChanged, SettingsError
from mqops.lake.files import missing_files
from mqops.lake.parquet import read_parquet
from mqops.lake.pruned import removed
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.noted import ISSUED
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import Session
from mqops.observe.recorded import OBSERVED
from mqops.plan_row import COLUMNS, PlanRow

ROW_COLUMNS = tuple(name for name in COLUMNS if name in {field.name for field in fields(Row)})
"""What acting reads of a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedPlan:
    """The plan that a run carries out; `act` carries out no other.

    Attributes: `identity` the run's key and the plan's digest; `queues` the names of the queues that messages are taken
    from; `summary` of the plan, without its table and groups in a Spark task; `pacing` how the plan is carried out,
    perhaps more carefully than was planned (`carry_out_carefully`); `folder` of the run.
    """

    identity: PlanIdentity
    queues: tuple[str, ...]
    queue_manager: str
    summary: PlanSummary
    pacing: Pacing
    folder: RunFolder


def read_approved_plan(run: RunFolder, approved: str = "") -> ApprovedPlan:
    """Read the plan of a run and check that its snapshot is complete.

    Parameters: `approved` the digest that was approved, "" if no approval was needed.

    Raises:
        PlanChanged: the plan has another digest than the approved one.
        LakeError: the plan or a file of the snapshot is missing or was changed (law 4).
    """
    plan = PLAN.read(run)
    if approved and plan.digest != approved:
        raise PlanChanged(
            f"The plan has digest {plan.digest}, but digest {approved} was approved. Look at the plan again, "
            "and give its digest to `mqops dlq act`; in Airflow start a new run"
        )
    approved_plan = ApprovedPlan(
        identity=PlanIdentity(run=plan.run, digest=plan.digest),
        queues=tuple(plan.queue.split(",")),
        queue_manager=plan.queue_manager,
        summary=plan,
        pacing=_pacing(run, plan),
        folder=run,
    )
    missing = missing_files(run.snapshot, OBSERVED.read(run).files)
    if missing:
        pruned = removed(run.snapshot)
        lost = pruned or f"The snapshot of run {run.run} has lost {missing[0]}: restore it"
        raise LakeError(f"{lost}. Nothing is moved without a copy")
    return approved_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What whoever carried a plan out asked for besides the plan. Parameters: `plan` its digest."""

    plan: str
    handling: Pacing


HANDLING = RunFile("handling.json", Handling)


def _pacing(run: RunFolder, plan: PlanSummary) -> Pacing:
    planned, more = plan.pacing, HANDLING.find(run)
    return planned.stricter(more.handling) if more and more.plan == plan.digest else planned


def carry_out_carefully(run: RunFolder, plan: str, more: Pacing) -> None:
    """Ask for more care than was planned, before anything is begun. Who approved the plan approved less care.

    Parameters: `plan` its digest.

    Raises:
        SettingsError: the run was begun; how it is carried out stands.
        LakeError: it cannot be written.
    """
    if not more.to_json():
        return
    if ISSUED.exists(run):
        raise SettingsError(
            f"Run {run.run} was begun: how it is carried out cannot be changed any more. Leave out --canary, --pace "
            "and --in-flight"
        )
    HANDLING.write(run, Handling(plan=plan, handling=more))


def refuse_other_queue_manager(session: Session, approved_plan: ApprovedPlan) -> None:
    """Refuse a session with another queue manager than that of the plan, before any queue is opened.

    Raises:
        SettingsError: the session is connected to another queue manager.
    """
    if (name := queue_manager_name(session)) != approved_plan.queue_manager:
        raise SettingsError(
            f"Run {approved_plan.identity.run} is one of {approved_plan.queue_manager}, this is {name}: "
            f"connect to {approved_plan.queue_manager}"
        )


def check_rows(approved_plan: ApprovedPlan, digest: str) -> None:
    """Refuse a plan if its rows are not the rows that were approved.

    Parameters: `digest` (SHA-256, hex) computed again from the rows of RUN/plan.

    Raises:
        PlanChanged: rows were changed, added or removed since the plan was made; nothing was moved.
    """
    digest = covered(digest, approved_plan.summary.handling)
    if digest != approved_plan.identity.digest:
        raise PlanChanged(
            f"The rows of the plan of run {approved_plan.identity.run} have digest {digest}, the plan was made with "
            f"{approved_plan.identity.digest}: its files were changed; make a new run for a new plan"
        )


def plan_rows(approved_plan: ApprovedPlan) -> Iterator[PlanRow]:
    """The rows of RUN/plan. Read them to the end: after the last row the digest of all rows is checked.

    Raises:
        PlanChanged: as `check_rows`, and where a column has another type than in a plan.
        LakeError: a file of the plan cannot be read.
    """
    digests: list[str] = []
    for batch in read_parquet(approved_plan.folder.plan, COLUMNS):
        digests += row_digests(batch)
        yield from rows_in(batch, PlanRow)
    check_rows(approved_plan, plan_digest(digests))


def acted_rows(approved_plan: ApprovedPlan) -> list[Row]:
    """The plan's rows with an action, not yet dealt to lanes. Each says whether another row has its identifiers.

    Raises PlanChanged where the rows are not those the plan was made with.
    """
    same: Counter[tuple[bytes, bytes]] = Counter()
    rows = []
    for one in plan_rows(approved_plan):
        same[one.msg_id, one.correl_id] += 1
        if one.action.acts:
            rows.append(_row(one))
    twice = {identifiers for identifiers, number in same.items() if number > 1}
    for row in rows if twice else ():
        row.duplicate_id = (row.msg_id, row.correl_id) in twice
    return rows


def make_row(position: int, row: Mapping[str, Any]) -> Row:
    """A row for the mover from what Spark gives: `ROW_COLUMNS` and `duplicate_id` by name."""
    values = {name: row[name] for name in ROW_COLUMNS}
    values |= {"rule_key": row["rule_key"] or "", "action": Action(row["action"])}
    return Row(
        position=position, duplicate_id=row["duplicate_id"], **(values | {"body_sha256": bytes(row["body_sha256"])})
    )


def _row(row: PlanRow) -> Row:
    """A row for the mover, without its place in a lane."""
    return Row(
        row=row.row,
        position=-1,
        queue=row.queue,
        msg_key=row.msg_key,
        msg_id=row.msg_id,
        correl_id=row.correl_id,
        body_length=row.body_length,
        action=row.action,
        rule_key=row.rule_key or "",
        dest_q=row.dest_q,
        dest_q_mgr=row.dest_q_mgr,
        header=row.header,
        alternate_user=row.alternate_user,
        tries=row.tries,
        body_sha256=row.body_sha256,
        unit_group=row.unit_group,
        order_key=row.order_key,
        together=row.together,
    )
