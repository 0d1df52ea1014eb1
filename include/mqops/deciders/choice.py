"""Deciding message by message, without a rules table: what a decider chooses for each becomes a row of the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from mqops.actions import Action
from mqops.deciders.decider import RunRequest, Selection
from mqops.deciders.gate import ask_gate
from mqops.observe.core.columns import SnapshotRow
from mqops.plan_row import RuleDecision, without_rule

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.decide.core.decided import DecidedRow
    from mqops.lake.run import RunFolder
    from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is to be done with a message.

    Parameters: `action` one that a plan can have; `queue` and `queue_manager` where it is put; `header` whether its
    MQDLH goes along; `key` what stands in the plan as its rule, "" for none.
    """

    action: Action
    queue: str = ""
    queue_manager: str = ""
    header: bool = True
    key: str = ""


LEAVE = Choice(action=Action.IGNORE)
DISCARD = Choice(action=Action.DISCARD)


def put_on(queue: str, queue_manager: str = "") -> Choice:
    """The message is moved there unchanged."""
    return Choice(action=Action.FWD, queue=queue, queue_manager=queue_manager)


Choose: TypeAlias = Callable[[SnapshotRow, datetime], Choice]
"""Chooses for a message (column of the snapshot → value), at the time of the snapshot."""


def named_queues(session: Session, names: Iterable[str]) -> Selection:
    """The queues that were named, each once.

    Raises:
        SettingsError: programs must not take messages from one of them.
        MQError: the queue manager cannot be inquired.
    """
    from mqops.act.sources import check_source  # noqa: PLC0415 - loads the MQ library

    queues = tuple(dict.fromkeys(names))
    for name in queues:
        check_source(session, name)
    return Selection(queues=queues)


def choose_each(
    request: RunRequest,
    run: RunFolder,
    choose: Choose,
    *,
    workflow: str,
    text: str,
    columns: Iterable[str] = (),
    by_group: bool = True,
    only: Collection[int] | None = None,
    remarks: tuple[str, ...] = (),
    unseen: tuple[str, ...] = (),
) -> PlanSummary:
    """Write the plan of a run whose folder has the snapshot.

    Parameters: `workflow` the decider's name; `text` what decides, in words, for the approver: plans that are decided
    otherwise have another one; `columns` of the snapshot that `choose` needs besides those of a plan; `by_group`
    whether messages in an MQ group are left if not all of them have the same choice; `only` the numbers, in the order
    of the snapshot, of the messages that `choose` is asked about, None for all: the others are left; `remarks` for the
    approver; `unseen` queues that are meant and could not be looked at.

    Raises:
        PlanChanged: the run's plan is being acted on already.
        GateStopped: a check of the run's gate stops it.
        LakeError: the snapshot is missing or the disk refused.
    """
    from mqops.decide.in_process import DecidedBy, write_plan  # noqa: PLC0415 - loads pyarrow
    from mqops.decide.message_groups import bound  # noqa: PLC0415
    from mqops.rules import Control, Table  # noqa: PLC0415

    ask_gate(run, only)
    digest = hashlib.sha256(text.encode()).hexdigest()
    rows = _rows(run, choose, columns, only)
    return write_plan(
        run,
        bound(run, Table(control=Control(), rules=(), digest=digest), rows, split_groups=not by_group),
        workflow=workflow,
        by=DecidedBy(source=text, digest=digest, text=text),
        remarks=remarks,
        unseen=unseen,
        pacing=request.pacing,
        requested_by=request.requested_by,
    )


def _rows(run: RunFolder, choose: Choose, columns: Iterable[str], only: Collection[int] | None) -> Iterator[DecidedRow]:
    from mqops.decide.core.decided import DecidedRow  # noqa: PLC0415
    from mqops.decide.in_process import COPIED, row_of  # noqa: PLC0415 - loads pyarrow
    from mqops.lake.parquet import read_parquet  # noqa: PLC0415
    from mqops.observe.recorded import OBSERVED  # noqa: PLC0415

    now = datetime.fromisoformat(OBSERVED.read(run).observed_at)
    number = 0
    for batch in read_parquet(run.snapshot, [*dict.fromkeys((*COPIED, *columns))]):
        for message in batch.to_pylist():
            choice = choose(message, now) if only is None or number in only else LEAVE
            yield DecidedRow(row_of(number, message, _decision(choice)))
            number += 1


def _decision(choice: Choice) -> RuleDecision:
    decision = without_rule(choice.action)
    decision["rule_key"] = choice.key or None
    if choice.queue:
        decision["dest_q"], decision["dest_q_mgr"] = choice.queue, choice.queue_manager
        decision["header"], decision["unit_group"] = choice.header, f"{choice.queue}@{choice.queue_manager}"
    return decision
