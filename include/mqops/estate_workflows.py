"""The sections of the workflows in the estate file as types, and the blocks of these. Nothing is read here.

A new workflow is one more model and one more field of `QueueManager`. If it moves messages, its model is a
`MovingWorkflow`; if it has a rules table, a `RulesWorkflow`; if trigger messages start it and it moves none, a
`TriggeredWorkflow`. Four eyes, triggering, missing files and forms follow from that.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, ClassVar, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mqops.estate_block import Block, Section
from mqops.estate_values import (
    MAX_UNIT_OF_WORK,
    Action,
    DagId,
    Duration,
    InsideFile,
    MqName,
    QueuePattern,
    Schedule,
    TriggerType,
    not_empty,
    some,
)
from mqops.rules import parse_conditions


class AutoApprove(Section):
    """Plans that need no person: only these actions, at most so many messages, no doubts about their destinations."""

    actions: Annotated[tuple[Action, ...], Field(strict=False), AfterValidator(not_empty)]
    max_messages: Annotated[int, Field(ge=1)]


class Approval(Section):
    """Who must say yes before messages are moved.

    Attributes:
        required: False lets every plan of a scheduled run through. A run by hand always asks.
        timeout: how long a plan waits for an answer; no answer is a rejection.
        four_eyes: the person who started the run may not approve it.
        auto_approve: plans let through although approval is required.
    """

    required: bool = True
    timeout: Duration = timedelta(hours=8)
    four_eyes: bool = False
    auto_approve: AutoApprove | None = None

    @model_validator(mode="after")
    def _auto_approve_needs_required(self) -> Approval:
        if not self.required and self.auto_approve:
            raise ValueError("auto_approve has no effect where required is false; remove one of them")
        return self


class PacingSection(Section):
    """How plans are carried out, unless a run's form says otherwise (`mqops.decide.core.pacing`).

    Attributes:
        canary: messages of each destination and rule that go first; 0: none.
        canary_wait: time until it is decided whether they came back.
        pace: most messages a second; 0: no limit.
        in_flight: most messages that may stand on a destination; 0: no limit.
        patience: time to wait for a destination to have room.
    """

    canary: Annotated[int, Field(ge=0)] = 0
    canary_wait: Duration = timedelta(seconds=30)
    pace: Annotated[int, Field(ge=0)] = 0
    in_flight: Annotated[int, Field(ge=0)] = 0
    patience: Duration = timedelta(minutes=1)


class TriggeredWorkflow(Section):
    """A workflow that trigger messages can start.

    Attributes:
        trigger: FIRST, EVERY or DEPTH(n): its queues start it by trigger messages, too.
    """

    trigger: TriggerType | None = None

    def trigger_queues(self, dead_letter_queue: str) -> tuple[str, ...]:
        """The queues whose trigger messages start it: those of its field `queues` that are named whole.

        Parameters: `dead_letter_queue` the DEADQ of the queue manager, "" if it is not known.
        """
        named: tuple[str, ...] | None = getattr(self, "queues", None)
        return tuple(queue for queue in named or () if "*" not in queue)


class Gate(Section):
    """What a message must satisfy before a workflow puts it on a queue (`mqops.decide.core.gate`).

    Attributes:
        suites: suites of expectations, relative to the estate file; `on_failure` of each check says what is done.
        quarantine: the queue for messages that fail a check with `on_failure: quarantine`.
    """

    suites: Annotated[tuple[InsideFile, ...], Field(strict=False), AfterValidator(some)]
    quarantine: MqName | None = None


class MovingWorkflow(TriggeredWorkflow):
    """What every workflow that moves messages by an approved plan has.

    Attributes:
        schedule: cron fields in UTC; absent, the workflow has no schedule.
        unit_of_work: messages moved per unit of work.
        handling: canaries, pace and the like.
        gate: checks of each message before it is put on a queue; absent, that of the queue manager holds.
    """

    schedule: Schedule | None = None
    approval: Approval = Approval()
    unit_of_work: Annotated[int, Field(ge=1, le=MAX_UNIT_OF_WORK)] = 200
    handling: PacingSection = PacingSection()
    gate: Gate | None = None

    @property
    def own_quarantine(self) -> str:
        """The queue for messages that its gate holds back, where the gate names none; "" for none."""
        return ""


class RulesWorkflow(MovingWorkflow):
    """A workflow that decides by a rules table.

    Attributes:
        rules: the rules table, relative to the estate file.
    """

    names_origins: ClassVar[bool] = False
    """Whether the table may name the origin of a message (&ORIGQ)."""

    rules: InsideFile


class DlqRules(RulesWorkflow):
    """The dead-letter queue workflow of one queue manager.

    Attributes:
        queue: the queue to work on; absent, the queue manager's DEADQ.
        also: further dead-letter queues that its runs work on by the same table, such as
            SYSTEM.PROTECTION.ERROR.QUEUE.
    """

    queue: MqName | None = None
    also: Annotated[tuple[MqName, ...], Field(strict=False)] = ()

    def trigger_queues(self, dead_letter_queue: str) -> tuple[str, ...]:
        """Its queue, or the DEADQ, and the further ones."""
        return (self.queue or dead_letter_queue, *self.also)


class SnapshotQuality(Section):
    """The data quality workflow of one queue manager.

    Attributes:
        queues: names, or beginnings and `*`; `SYSTEM.` and `MQOPS.` queues are looked at only if named so.
        suites: suites of expectations, relative to the estate file.
        schedule: cron fields in UTC; absent, the workflow runs by hand only.
        limit: most messages of each queue; absent, all.
    """

    queues: Annotated[tuple[QueuePattern, ...], Field(strict=False), AfterValidator(some)] = ("*",)
    suites: Annotated[tuple[InsideFile, ...], Field(strict=False), AfterValidator(some)]
    schedule: Schedule | None = None
    limit: Annotated[int, Field(ge=1)] | None = None


class Snapshots(Section):
    """The workflow of one queue manager that copies queues, and does no more.

    Attributes:
        queues: names, or beginnings and `*`; `SYSTEM.` and `MQOPS.` queues are looked at only if named so.
        schedule: cron fields in UTC; absent, the workflow runs by hand only.
        limit: most messages of each queue; absent, all.
    """

    queues: Annotated[tuple[QueuePattern, ...], Field(strict=False), AfterValidator(some)] = ("*",)
    schedule: Schedule | None = None
    limit: Annotated[int, Field(ge=1)] | None = None


def conditions(value: object) -> str:
    """Conditions on a message, as in a rules table (`mqops.rules.parse_conditions`)."""
    if not isinstance(value, str):
        raise ValueError(f"must be text (found {value!r}); put it in quotes")
    _rule, problems = parse_conditions(value)
    if problems:
        raise ValueError("; ".join(f"at character {one.column}: {one.message}" for one in problems))
    return value.strip()


Conditions = Annotated[str, BeforeValidator(conditions)]


class OriginOfMessages(Block):
    """A row of the table that says where messages on a shared backout queue came from
    (`mqops.backout.core.origin_table`).

    Attributes:
        when: conditions on the message, as in a rules table.
        queue: the queue that a message came from for which they hold.
        backout_queue: the only backout queue that the row is for; absent, that which `queue` names as BOQNAME.
    """

    when: Conditions
    queue: MqName
    backout_queue: MqName | None = None


class BackoutReprocess(RulesWorkflow):
    """The workflow that deals with the backout queues of one queue manager.

    Attributes:
        queues: the backout queues; absent, every queue that another one names as its BOQNAME.
        replay_cap: how often a message is put back; beyond that it goes to `quarantine`.
        quarantine: the queue for messages that were put back so often.
        backoff: how long a message waits that was put back and came again: after its first replay, its second, and so
            on; the last time holds for all further ones. A rule's BACKOFF counts before it.
        origins: where messages came from that are on a backout queue of several queues; the first row that fits
            decides.
    """

    names_origins: ClassVar[bool] = True

    queues: Annotated[tuple[MqName, ...], Field(strict=False), AfterValidator(some)] | None = None
    replay_cap: Annotated[int, Field(ge=1)] = 3
    quarantine: MqName
    backoff: Annotated[tuple[Duration, ...], Field(strict=False)] = ()
    origins: Annotated[tuple[OriginOfMessages, ...], Field(strict=False)] = ()

    @property
    def own_quarantine(self) -> str:
        """The workflow's own."""
        return self.quarantine


class PoisonGuard(MovingWorkflow):
    """The workflow that takes messages that loop from the input queues of one queue manager. Absent: off.

    Attributes:
        queues: the input queues; absent, every queue with BOTHRESH that no other one names as its BOQNAME.
        limit: most messages of each queue; absent, all that loop.
        watch: how long the queues are looked at in each run.
    """

    queues: Annotated[tuple[MqName, ...], Field(strict=False), AfterValidator(some)] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    watch: Duration = timedelta(seconds=2)

    @model_validator(mode="after")
    def _acts_at_once(self) -> PoisonGuard:
        if self.trigger:
            raise ValueError("trigger has no effect here: a message that is backed out makes no trigger message")
        if self.handling != PacingSection():
            raise ValueError("handling has no effect here: what loops is taken at once")
        return self


class ExpiryScan(TriggeredWorkflow):
    """The periodic scan for expired messages of one queue manager (what EXPRYINT is on z/OS).

    Attributes:
        interval: time between two scans; absent, there is no schedule.
        queues: names, or beginnings and `*`; `SYSTEM.` and `MQOPS.` queues are looked at only if named so.
        recheck: after this time a queue with messages is looked at, whatever the last scan taught.
        tell_from: people are told (`notify`) when so many messages of a dead-letter, backout or storage queue expire
            before work begins again (`calendar`); absent, nobody is.
    """

    interval: Duration | None = None
    queues: Annotated[tuple[QueuePattern, ...], Field(strict=False), AfterValidator(some)] = ("*",)
    recheck: Duration = timedelta(hours=1)
    tell_from: Annotated[int, Field(ge=1)] | None = None


class TriggerMonitor(Section):
    """The trigger monitor of one queue manager (`mqops.trigger.monitor`).

    Attributes:
        queues: the initiation queues. Workflows with `trigger` use the first.
        dags: the DAGs that trigger messages may start (APPLICID), besides the workflows with `trigger`.
        unchanged_runs: after so many runs in a row that left a queue as it was, its trigger messages start no more runs
            until the queue changes (T12b).
        queued_runs: so many runs of a DAG may be queued for one queue; further trigger messages of the queue wait.
    """

    queues: Annotated[tuple[MqName, ...], Field(strict=False), AfterValidator(some)]
    dags: Annotated[tuple[DagId, ...], Field(strict=False)] = ()
    unchanged_runs: Annotated[int, Field(ge=1)] = 5
    queued_runs: Annotated[int, Field(ge=1, le=1000)] = 25


Workflow = TypeVar("Workflow", bound=Section)
