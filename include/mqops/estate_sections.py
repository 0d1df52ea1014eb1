"""The estate file as types: queue managers, each with its workflows, and what holds for all. Nothing is read here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from mqops.estate_block import Block, PartError, Section
from mqops.estate_values import (
    ConnectionId,
    Duration,
    EnvironmentName,
    InsideFile,
    MqName,
    QueuePattern,
    Schedule,
    Size,
    UserName,
)
from mqops.estate_workflows import (
    BackoutReprocess,
    DlqRules,
    ExpiryScan,
    Gate,
    MovingWorkflow,
    PoisonGuard,
    SnapshotQuality,
    Snapshots,
    TriggeredWorkflow,
    TriggerMonitor,
    Workflow,
)
from mqops.formats import FIRST
from mqops.lake_place import why_no_lake
from mqops.model import EVERYBODY, Account


def _can_be_a_lake(place: str) -> str:
    if why := why_no_lake(place):
        raise ValueError(why)
    return place


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
    arguments: dict[str, Any] = Field(default_factory=dict)
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
    workflows: dict[str, RetentionAges] = Field(default_factory=dict)
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
