"""Dead letters: a rules table decides about the messages of a dead-letter queue (`mqops dlq run`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.deciders.gate import ask_gate
from mqops.rules import Table
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRequest(RunRequest):
    """What a pass over a dead-letter queue is asked for.

    Parameters: `table` made of `text`, which came from `source`; `queue` "" for the queue manager's DEADQ; `not_due`
    msg_key → when the next try of a message is (UTC, ISO 8601): it is left until then; `split_groups` whether messages
    of an MQ group may go to different queues; `before` the last pass, if what it has copied need not be copied again.
    """

    table: Table
    text: str
    source: str = "<standard input>"
    queue: str = ""
    not_due: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    split_groups: bool = False
    before: RunFolder | None = None


def source_queue(session: Session, name: str = "") -> str:
    """The queue that messages are taken from: the one named, else the queue manager's DEADQ.

    Raises:
        SettingsError: none is named and the queue manager has no DEADQ; or programs must not take messages from it.
        MQError: the queue manager cannot be inquired.
    """
    from mqops.act.sources import check_source  # noqa: PLC0415 - loads the MQ library
    from mqops.mq.named_queue import usable_dead_letter_queue  # noqa: PLC0415

    queue = name or usable_dead_letter_queue(session)
    check_source(session, queue)
    return queue


def select(session: Session, request: DeadLetterRequest) -> Selection:
    """The dead-letter queue, also if it is empty. Raises as `source_queue`."""
    from mqops.mq.named_queue import said_with_base  # noqa: PLC0415 - loads the MQ library

    queue = source_queue(session, request.queue)
    if (said := said_with_base(session, queue)) != queue:
        request.warn(f"the messages are those of {said}")
    return Selection(queues=(queue,), before=request.before)


def decide(request: DeadLetterRequest, run: RunFolder) -> PlanSummary:
    """Plan by the rules table. Raises `MqopsError`."""
    from mqops.decide.in_process import decide  # noqa: PLC0415 - loads pyarrow

    ask_gate(run)
    return decide(
        run,
        request.table,
        text=request.text,
        source=request.source,
        workflow=DEAD_LETTERS.name,
        pacing=request.pacing,
        requested_by=request.requested_by,
        not_due=request.not_due,
        split_groups=request.split_groups,
    )


DEAD_LETTERS = Decider(
    name=Workflow.DLQ_RULES,
    request=DeadLetterRequest,
    select=select,
    decide=decide,
    command="mqops.cli.dlq:run",
    section=Workflow.DLQ_RULES,
    by_rules=True,
    form=("dry_run", "rules_file", "queue", "first_tell", "limit", "message_ids", "unit_of_work", "pacing"),
    dag="each",
)
