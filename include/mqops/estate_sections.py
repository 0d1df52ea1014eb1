"""The sections of the estate file as types: queue managers, workflows, approvals. Nothing is read here.

A new workflow is one more model and one more field of `QueueManager`. If it moves messages, its model is a
`MovingWorkflow`; if it has a rules table, a `RulesWorkflow`; if trigger messages start it and it moves none, a
`TriggeredWorkflow`. Four eyes, triggering, missing files and forms follow from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mqops.estate_values import (
    MAX_UNIT_OF_WORK,
    Action,
    ConnectionId,
    DagId,
    Duration,
    EnvironmentName,
    InsideFile,
    MqName,
    QueuePattern,
    Schedule,
    Size,
    TriggerType,
    UserName,
    not_empty,
    some,
)
from mqops.formats import FIRST
from mqops.lake_place import why_no_lake
from mqops.model import EVERYBODY, Account
from mqops.rules import parse_conditions


def _can_be_a_lake(place: str) -> str:
    if why := why_no_lake(place):
        raise ValueError(why)
    return place


class Block(BaseModel):
    """Base of every block: exact types, no unknown keys, unchangeable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True, validate_default=True)


class Section(Block):
    """Base of what a workflow has in the estate, and of its blocks."""


class Reveal(Block):
    """Who may see the payload of messages. A plain list of names stands for both kinds of accounts.

    Attributes:
        airflow: logins of Airflow, whole, for the pages.
        system: accounts of the operating system, without the host, for the command line; or EVERYBODY alone.
    """

    airflow: Annotated[tuple[UserName, ...], Field(strict=False)] = ()
    system: Annotated[tuple[UserName, ...], Field(strict=False)] = ()

    @model_validator(mode="before")
    @classmethod
    def _list_is_of_both_kinds(cls, value: Any) -> Any:
        return dict.fromkeys(Account, value) if isinstance(value, (list, tuple)) else value

    @model_validator(mode="after")
    def _everybody_is_for_the_command_line(self) -> Reveal:
        if EVERYBODY in self.airflow:
            raise ValueError("airflow must name the logins: * is for system alone, where the queue manager decides")
        return self

    @property
    def names_somebody(self) -> bool:
        """Whether there is anybody, of either kind."""
        return bool(self.airflow or self.system)

    def of(self, kind: Account) -> tuple[str, ...]:
        """The names of one kind."""
        return self.airflow if kind is Account.AIRFLOW else self.system


class PartError(ValueError):
    """An error of a block that some of its parts have. Parameters: `parts` their places in the block."""

    def __init__(self, text: str, *parts: tuple[str, ...]) -> None:
        super().__init__(text)
        self.parts = parts


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


class Bodies(Section):
    """Where the keys are by which the bodies of messages in the lake are encrypted: one of the two. Absent: they are
    not encrypted.

    Attributes:
        keys: a private file, absolute or relative to the estate file, outside the lake (`mqops lake rekey` makes it).
        connection: an Airflow connection whose password is what such a file holds.
    """

    keys: Annotated[str, Field(min_length=1)] | None = None
    connection: ConnectionId | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Bodies:
        if (self.keys is None) == (self.connection is None):
            raise ValueError("name one of keys, a file, and connection, an Airflow connection")
        return self


class QueueManager(Section):
    """One queue manager: the Airflow connection (type `mq`) that reaches it, and its workflows.

    Attributes:
        storage: queues (names, or beginnings and `*`) on which messages lie until a person looks at them
            (`mqops.storage`).
        reset_statistics: local queues (names, or beginnings and `*`) whose puts and gets mqops may count by Reset Queue
            Statistics, which sets the counts to 0 for everybody (`mqops.observe.statistics`); absent, it counts none.
        reveal: who may see the payload of a message (`mqops message show --reveal`); nobody else may.
        bodies: how the bodies of its messages are encrypted in the lake; absent, they are not.
        gate: that of every workflow that puts messages on a queue and has none of its own; absent, these have none.
    """

    connection: ConnectionId
    spark: ConnectionId | None = None
    storage: Annotated[tuple[QueuePattern, ...], Field(strict=False)] = ()
    reset_statistics: Annotated[tuple[QueuePattern, ...], Field(strict=False)] = ()
    reveal: Reveal = Reveal()
    bodies: Bodies | None = None
    gate: Gate | None = None
    dlq_rules: DlqRules | None = None
    snapshot: Snapshots | None = None
    snapshot_quality: SnapshotQuality | None = None
    backout_reprocess: BackoutReprocess | None = None
    poison_guard: PoisonGuard | None = None
    expiry_scan: ExpiryScan | None = None
    trigger_monitor: TriggerMonitor | None = None

    @model_validator(mode="after")
    def _triggered_queues_are_known(self) -> QueueManager:
        for name, workflow in self.triggered():
            if self.trigger_monitor is None:
                raise PartError(f"{name} has a trigger, and there is no trigger_monitor: add one with queues", (name,))
            if isinstance(workflow, DlqRules) and workflow.trigger == "EVERY":
                text = f"{name}.trigger must not be EVERY: a trigger message that goes there would trigger"
                raise PartError(text, (name,))
            if not workflow.trigger_queues(""):
                text = f"{name} has a trigger, so it must name its queues: at least one whole, without *"
                raise PartError(text, (name,))
        return self

    def triggered(self) -> Iterator[tuple[str, TriggeredWorkflow]]:
        """Name and settings of the workflows that trigger messages start."""
        return ((name, workflow) for name, workflow in self.workflows(TriggeredWorkflow) if workflow.trigger)

    def gate_of(self, workflow: str) -> Gate | None:
        """The gate of a workflow, with the queue for what it holds back: its own, else that of the queue manager."""
        section = dict(self.workflows(MovingWorkflow)).get(workflow)
        gate = (section.gate if section else None) or self.gate
        own = section.own_quarantine if section else ""
        return gate.model_copy(update={"quarantine": gate.quarantine or own or None}) if gate else None

    def gates(self) -> Iterator[tuple[tuple[str, ...], Gate]]:
        """Its gates as they stand in the file, each with its place there."""
        if self.gate:
            yield ("gate",), self.gate
        for name, section in self.workflows(MovingWorkflow):
            if section.gate:
                yield (name, "gate"), section.gate

    def gate_quarantines(self) -> tuple[str, ...]:
        """The queues that gates name for messages, each once, but for that of backout_reprocess itself."""
        own = self.backout_reprocess.quarantine if self.backout_reprocess else ""
        named = (gate.quarantine for _, gate in self.gates())
        return tuple(dict.fromkeys(one for one in named if one and one != own))

    def workflows(self, kind: type[Workflow]) -> Iterator[tuple[str, Workflow]]:
        """Name and settings of the workflows that it has, those of one kind."""
        for name in type(self).model_fields:
            if isinstance(settings := getattr(self, name), kind):
                yield name, settings


class DailyNotice(Section):
    """The list of what needs a person, sent by the notifier (DAG `mq_daily_notice`).

    Attributes:
        schedule: cron fields in UTC.
        most: lines of a message; of more it says how many they are.
        when_nothing: whether a message is sent, too, where nothing needs a person.
    """

    schedule: Schedule
    most: Annotated[int, Field(ge=1, le=1000)] = 30
    when_nothing: bool = False


class Notify(Section):
    """Which notifier of Airflow tells people what waits for them (`mqops_airflow.notices.notify.Notice`).

    Attributes:
        notifier: its class, such as `airflow.providers.smtp.notifications.smtp.SmtpNotifier`.
        arguments: what it is made with. Texts are templates of Airflow, with `mqops.subject`, `.text`, `.link`.
        before: how long before its time-out people are reminded of a question.
        daily: when people get the list of what needs one of them; absent, never.
    """

    notifier: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    arguments: dict[str, Any] = {}
    before: Duration = timedelta(hours=1)
    daily: DailyNotice | None = None


class RetentionAges(Section):
    """How old runs are whose files `mq_lake_retention` removes; absent, never.

    Attributes:
        snapshots: of snapshots, which have the bodies of messages.
        plans: of plans; what is left of the snapshot goes with them.
        runs: of runs that moved and discarded nothing; they go whole.
    """

    snapshots: Duration | None = None
    plans: Duration | None = None
    runs: Duration | None = None

    @model_validator(mode="after")
    def _snapshots_go_first(self) -> RetentionAges:
        if self.plans and self.snapshots and self.plans < self.snapshots:
            raise ValueError("plans must not be shorter than snapshots: what is left of a snapshot goes with the plan")
        return self


class Retention(RetentionAges):
    """What is removed of old runs (`mqops lake prune`, DAG `mq_lake_retention`). The ledger stays.

    Attributes:
        undo: how long a run that moved messages can be undone; it keeps all of its files.
        newest: so many runs of each workflow and queue keep all of their files.
        most_runs: so many runs of each workflow and queue keep their messages, whatever their age.
        most_size: while snapshots and plans of a queue manager have more bytes, the oldest go.
        workflows: other ages for single workflows.
        schedule: cron fields in UTC of the DAG; absent, it runs by hand only.
    """

    undo: Duration = timedelta(days=7)
    newest: Annotated[int, Field(ge=1)] = 1
    most_runs: Annotated[int, Field(ge=1)] | None = None
    most_size: Size | None = None
    workflows: dict[str, RetentionAges] = {}
    schedule: Schedule | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Retention:
        ages = (self, *self.workflows.values())
        if not (self.most_runs or self.most_size or any(one.snapshots or one.plans or one.runs for one in ages)):
            raise ValueError("says nothing that is removed: name snapshots, plans, runs, most_runs or most_size")
        return self


class Estate(Section):
    """All of it.

    Attributes:
        format: the format version of the file (`mqops.formats`).
        lake: folder of snapshots, plans and ledgers, relative to the estate file.
        spark: Airflow connection that names the Spark master, where a queue manager names none of its own.
        job_environment: further environment variables that Spark jobs get (docs/spark_security.md).
        notify: who tells people what waits for them.
        retention: what is removed of old runs; absent, nothing is.
        calendar: when people are at work (`mqops.expiry.calendar_file`), relative to the estate file; absent, from
            08:00 UTC each day.
        checks: folder with the code of expectations of one's own (`mqops.quality.estate_checks`), relative to the
            estate file.
    """

    format: Annotated[int, Field(ge=FIRST)] = FIRST
    lake: Annotated[str, Field(min_length=1), AfterValidator(_can_be_a_lake)]
    spark: ConnectionId = "spark_default"
    job_environment: Annotated[tuple[EnvironmentName, ...], Field(strict=False)] = ()
    notify: Notify | None = None
    retention: Retention | None = None
    calendar: InsideFile | None = None
    checks: InsideFile | None = None
    queue_managers: Annotated[dict[MqName, QueueManager], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct_ids(self) -> Estate:
        seen: dict[str, str] = {}
        for name in self.queue_managers:
            other = seen.setdefault(dag_prefix(name), name)
            if other != name:
                text = f"queue managers {other} and {name} would share the DAG ids {dag_prefix(name)}_..."
                raise PartError(text, ("queue_managers", other), ("queue_managers", name))
        return self

    def spark_connection(self, queue_manager: str) -> str:
        """Airflow connection id of the Spark master for `queue_manager`."""
        return self.queue_managers[queue_manager].spark or self.spark


def startable(name: str, settings: QueueManager) -> tuple[str, ...]:
    """The ids of the DAGs that trigger messages of a queue manager may start."""
    named = settings.trigger_monitor.dags if settings.trigger_monitor else ()
    own = (f"{dag_prefix(name)}_{workflow}" for workflow, _ in settings.triggered())
    return tuple(sorted({*named, *own}))


def four_eyes(settings: Iterable[QueueManager]) -> bool:
    """Whether a workflow that moves messages on one of these queue managers asks for another person's approval."""
    return any(workflow.approval.four_eyes for each in settings for _, workflow in each.workflows(MovingWorkflow))


def dag_prefix(queue_manager: str) -> str:
    """How a queue manager's name begins a DAG id: lower case, `/` and `%` (not legal there) as `-`."""
    return re.sub(r"[/%]", "-", queue_manager.lower())
