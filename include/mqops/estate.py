"""The estate (`include/estate.yaml`): which queue managers there are, how each is reached, which workflows it has.

A new workflow is one more model and one more field of `QueueManager`; where it moves messages its model is a
`MovingWorkflow`, where it has a rules table a `RulesWorkflow`: four eyes, missing files and forms then know it.

Unknown keys are refused, and every error names file, line and field. It knows neither Airflow nor Spark; connections
are names that Airflow resolves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from croniter import croniter  # type: ignore[import-untyped]
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mqops.errors import SettingsError
from mqops.settings_file import Document, FieldPath, Problem, read

QUEUE_PATTERN = re.compile(r"[A-Za-z0-9._/%]{1,48}|[A-Za-z0-9._/%]{0,47}\*")
MQ_NAME = re.compile(r"[A-Za-z0-9._/%]{1,48}")
CONNECTION_ID = re.compile(r"[\w.-]{1,200}")
DAG_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,249}")
"""Airflow's own grammar in ASCII, without a point or hyphen in front: no path and no option of a command."""
TRIGGER = re.compile(r"FIRST|EVERY|DEPTH\(([1-9][0-9]{0,8})\)")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
DURATION = re.compile(r"(\d{1,6})([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
CRON_PRESETS = ("@hourly", "@daily", "@weekly", "@monthly")
MAX_UNIT_OF_WORK = 4999  # MAXUMSGS is 10,000 by default, and each message is a get and a put, plus the marker


Action = Literal["RETRY", "FWD", "DISCARD"]


def mq_name(value: object) -> str:
    """An MQ object name (48 characters of A-Z a-z 0-9 . _ / %; IBM: "Rules for naming IBM MQ objects")."""
    if not isinstance(value, str):
        raise ValueError(f"must be text (found {value!r}); put it in quotes")
    if not MQ_NAME.fullmatch(value):
        raise ValueError(f"is not an MQ name: at most 48 of the characters A-Z a-z 0-9 . _ / % (found {value!r})")
    return value


def connection_id(value: object) -> str:
    """The id of an Airflow connection."""
    if not isinstance(value, str) or not CONNECTION_ID.fullmatch(value):
        raise ValueError(f"is not an Airflow connection id: letters, digits, _ . - only (found {value!r})")
    return value


def duration(value: object) -> timedelta:
    """A length of time such as 90s, 30m, 8h or 2d."""
    if isinstance(value, timedelta):
        return value
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match or not int(match[1]):
        raise ValueError(f"must be a time such as 90s, 30m, 8h or 2d (found {value!r})")
    return timedelta(seconds=int(match[1]) * SECONDS[match[2]])


def cron(value: object) -> str:
    """A schedule: five cron fields (UTC) or one of `CRON_PRESETS`."""
    if isinstance(value, str):
        fields = value.split()
        if value in CRON_PRESETS or (len(fields) == 5 and croniter.is_valid(value)):
            return value
    raise ValueError(f"must be five cron fields or one of {' '.join(CRON_PRESETS)} (found {value!r})")


def not_empty(value: tuple[Action, ...]) -> tuple[Action, ...]:
    """At least one action."""
    if not value:
        raise ValueError("must not be empty")
    return value


def inside_file(value: object) -> str:
    """A path below the estate file's own folder."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be the path of a file (found {value!r})")
    if Path(value).is_absolute() or ".." in Path(value).parts:
        raise ValueError(f"must be a path below the estate file's folder (found {value!r})")
    return value


def queue_pattern(value: object) -> str:
    """A queue's name, or its beginning and `*`, as PCF's generic names are."""
    if not isinstance(value, str) or not QUEUE_PATTERN.fullmatch(value):
        raise ValueError(f"must be a queue's name, or its beginning and * (found {value!r})")
    return value


def user_name(value: object) -> str:
    """A user of the operating system or of Airflow, as they name him."""
    if not isinstance(value, str) or not value.strip() or value != value.strip() or not value.isprintable():
        raise ValueError(f"must be the name of a user (found {value!r})")
    return value


def dag_id(value: object) -> str:
    """The id of a DAG, as APPLICID of a process can have it (`mqops.trigger.core.trigger_message`)."""
    if not isinstance(value, str) or not DAG_ID.fullmatch(value):
        raise ValueError(f"must be a DAG id: letters, digits, _ . - only, first no . or - (found {value!r})")
    return value


def trigger_type(value: object) -> str:
    """When a queue triggers: TRIGTYPE, with TRIGDPTH in parentheses."""
    if not isinstance(value, str) or not TRIGGER.fullmatch(value):
        raise ValueError(f"must be FIRST, EVERY or DEPTH(number) (found {value!r})")
    return value


def some(value: tuple[str, ...]) -> tuple[str, ...]:
    """At least one, each once."""
    if not value:
        raise ValueError("must not be empty")
    if twice := next((one for number, one in enumerate(value) if one in value[:number]), None):
        raise ValueError(f"names {twice} twice")
    return value


MqName = Annotated[str, BeforeValidator(mq_name)]
ConnectionId = Annotated[str, BeforeValidator(connection_id)]
Duration = Annotated[timedelta, BeforeValidator(duration)]
Schedule = Annotated[str, BeforeValidator(cron)]
InsideFile = Annotated[str, BeforeValidator(inside_file)]
UserName = Annotated[str, BeforeValidator(user_name)]
QueuePattern = Annotated[str, BeforeValidator(queue_pattern)]
DagId = Annotated[str, BeforeValidator(dag_id)]
TriggerType = Annotated[str, BeforeValidator(trigger_type)]


class Section(BaseModel):
    """Base of every block: exact types, no unknown keys, unchangeable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


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


class MovingWorkflow(Section):
    """What every workflow that moves messages by an approved plan has.

    Attributes:
        schedule: cron fields in UTC; absent, the workflow has no schedule.
        trigger: FIRST, EVERY or DEPTH(n): its queues start it by trigger messages, too.
        unit_of_work: messages moved per unit of work.
        handling: canaries, pace and the like.
    """

    schedule: Schedule | None = None
    trigger: TriggerType | None = None
    approval: Approval = Approval()
    unit_of_work: Annotated[int, Field(ge=1, le=MAX_UNIT_OF_WORK)] = 200
    handling: PacingSection = PacingSection()


class RulesWorkflow(MovingWorkflow):
    """A workflow that decides by a rules table.

    Attributes:
        rules: the rules table, relative to the estate file.
    """

    origins: ClassVar[bool] = False
    """Whether the table may name the origin of a message (&ORIGQ)."""

    rules: InsideFile


class DlqRules(RulesWorkflow):
    """The dead-letter queue workflow of one queue manager.

    Attributes:
        queue: the queue to work on; absent, the queue manager's DEADQ.
    """

    queue: MqName | None = None


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


class BackoutReprocess(RulesWorkflow):
    """The workflow that deals with the backout queues of one queue manager.

    Attributes:
        queues: the backout queues; absent, every queue that another one names as its BOQNAME.
        replay_cap: how often a message is put back; beyond that it goes to `quarantine`.
        quarantine: the queue for messages that were put back so often.
    """

    origins: ClassVar[bool] = True

    queues: Annotated[tuple[MqName, ...], Field(strict=False), AfterValidator(some)] | None = None
    replay_cap: Annotated[int, Field(ge=1)] = 3
    quarantine: MqName


class ExpiryScan(Section):
    """The periodic scan for expired messages of one queue manager (what EXPRYINT is on z/OS).

    Attributes:
        interval: time between two scans; absent, there is no schedule.
        trigger: FIRST, EVERY or DEPTH(n): the queues that are named whole start a scan by trigger messages, too.
        queues: names, or beginnings and `*`; `SYSTEM.` and `MQOPS.` queues are looked at only if named so.
        recheck: after this time a queue with messages is looked at, whatever the last scan taught.
    """

    interval: Duration | None = None
    trigger: TriggerType | None = None
    queues: Annotated[tuple[QueuePattern, ...], Field(strict=False), AfterValidator(some)] = ("*",)
    recheck: Duration = timedelta(hours=1)


class TriggerMonitor(Section):
    """The trigger monitor of one queue manager (`mqops.trigger.monitor`).

    Attributes:
        queues: the initiation queues. Workflows with `trigger` use the first.
        dags: the DAGs that trigger messages may start (APPLICID), besides the workflows with `trigger`.
        unchanged_runs: after so many runs in a row that left a queue as it was, its trigger messages start no more runs
            until the queue changes (T12b).
    """

    queues: Annotated[tuple[MqName, ...], Field(strict=False), AfterValidator(some)]
    dags: Annotated[tuple[DagId, ...], Field(strict=False)] = ()
    unchanged_runs: Annotated[int, Field(ge=1)] = 5


Workflow = TypeVar("Workflow", bound=Section)


class QueueManager(Section):
    """One queue manager: the Airflow connection (type `mq`) that reaches it, and its workflows.

    Attributes:
        storage: queues (names, or beginnings and `*`) on which messages lie until a person looks at them
            (`mqops.storage`).
        reveal: users who may see the payload of a message (`mqops message show --reveal`); nobody else may.
    """

    connection: ConnectionId
    spark: ConnectionId | None = None
    storage: Annotated[tuple[QueuePattern, ...], Field(strict=False)] = ()
    reveal: Annotated[tuple[UserName, ...], Field(strict=False)] = ()
    dlq_rules: DlqRules | None = None
    snapshot_quality: SnapshotQuality | None = None
    backout_reprocess: BackoutReprocess | None = None
    expiry_scan: ExpiryScan | None = None
    trigger_monitor: TriggerMonitor | None = None

    @model_validator(mode="after")
    def _triggered_queues_are_known(self) -> QueueManager:
        for name, workflow in self.triggered():
            if self.trigger_monitor is None:
                raise ValueError(f"{name} has a trigger, and there is no trigger_monitor: add one with queues")
            if isinstance(workflow, DlqRules) and workflow.trigger == "EVERY":
                raise ValueError(f"{name}.trigger must not be EVERY: a trigger message that goes there would trigger")
            if isinstance(workflow, BackoutReprocess) and workflow.queues is None:
                raise ValueError(f"{name} has a trigger, so it must name its queues")
            if isinstance(workflow, ExpiryScan) and all("*" in queue for queue in workflow.queues):
                raise ValueError(f"{name} has a trigger, so it must name a queue whole, without *")
        return self

    def triggered(self) -> Iterator[tuple[str, DlqRules | BackoutReprocess | ExpiryScan]]:
        """Name and settings of the workflows that trigger messages start."""
        for name, workflow in self.workflows(Section):
            if isinstance(workflow, DlqRules | BackoutReprocess | ExpiryScan) and workflow.trigger:
                yield name, workflow

    def workflows(self, kind: type[Workflow]) -> Iterator[tuple[str, Workflow]]:
        """Name and settings of the workflows that it has, those of one kind."""
        for name in type(self).model_fields:
            if isinstance(settings := getattr(self, name), kind):
                yield name, settings


def environment_name(value: object) -> str:
    """The name of an environment variable, or its beginning and `*`. Airflow's own hold secrets of other systems."""
    if not isinstance(value, str) or not ENVIRONMENT_NAME.fullmatch(value):
        raise ValueError(f"must be the name of an environment variable, or its beginning and * (found {value!r})")
    if value.startswith(("AIRFLOW", "_AIRFLOW", "MQOPS_")):
        raise ValueError(f"must not name a variable of Airflow or mqops: jobs do not get them (found {value!r})")
    return value


EnvironmentName = Annotated[str, BeforeValidator(environment_name)]


class Notify(Section):
    """Which notifier of Airflow tells people that a question waits, is about to time out, or a run does not balance.

    Attributes:
        notifier: its class, such as `airflow.providers.smtp.notifications.smtp.SmtpNotifier`.
        arguments: what it is made with. Texts are templates of Airflow, with `mqops.subject`, `.text`, `.link`.
        before: how long before its time-out people are reminded of a question.
    """

    notifier: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    arguments: dict[str, Any] = {}
    before: Duration = timedelta(hours=1)


class Estate(Section):
    """All of it.

    Attributes:
        lake: folder of snapshots, plans and ledgers, relative to the estate file.
        spark: Airflow connection that names the Spark master, where a queue manager names none of its own.
        job_environment: further environment variables that Spark jobs get (docs/spark_security.md).
        notify: who tells people what waits for them.
    """

    lake: Annotated[str, Field(min_length=1)]
    spark: ConnectionId = "spark_default"
    job_environment: Annotated[tuple[EnvironmentName, ...], Field(strict=False)] = ()
    notify: Notify | None = None
    queue_managers: Annotated[dict[MqName, QueueManager], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct_ids(self) -> Estate:
        seen: dict[str, str] = {}
        for name in self.queue_managers:
            other = seen.setdefault(dag_prefix(name), name)
            if other != name:
                raise ValueError(f"queue managers {other} and {name} would share the DAG ids {dag_prefix(name)}_...")
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


class EstateFile:
    """An estate and the file it stands in: resolves the paths that are relative to that file.

    Attributes:
        path: the estate file.
        estate: its content.
    """

    def __init__(self, path: Path, estate: Estate, document: Document) -> None:
        self.path = path
        self.estate = estate
        self._document = document

    def lake(self, environment: Mapping[str, str]) -> Path:
        """The lake's folder: MQOPS_LAKE where `environment` has it, else the estate's."""
        return Path(environment.get("MQOPS_LAKE") or self.path.parent / self.estate.lake).resolve()

    def rules(self, relative: str) -> Path:
        """A rules table's file.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(relative, "rules file")

    def suite(self, relative: str) -> Path:
        """The file of a suite of expectations.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(relative, "suite")

    def _below(self, relative: str, what: str) -> Path:
        folder = self.path.parent.resolve()
        path = (folder / relative).resolve()
        if not path.is_relative_to(folder):
            raise SettingsError(f"{what} {relative} is not below {folder}")
        return path

    def missing_files(self) -> Iterator[Problem]:
        """A problem for each file that the estate names and that is not there."""
        for name, queue_manager in self.estate.queue_managers.items():
            for workflow, settings in queue_manager.workflows(RulesWorkflow):
                if not self.rules(settings.rules).is_file():
                    path: FieldPath = ("queue_managers", name, workflow, "rules")
                    yield self._document.problem(path, f"there is no file {self.rules(settings.rules)}")
            quality = queue_manager.snapshot_quality
            for index, suite in enumerate(quality.suites if quality else ()):
                if not self.suite(suite).is_file():
                    path = ("queue_managers", name, "snapshot_quality", "suites", str(index))
                    yield self._document.problem(path, f"there is no file {self.suite(suite)}")


def parse(text: str, *, source: str = "estate.yaml") -> tuple[Estate | None, Document]:
    """The estate in `text`, or None with every problem in the document.

    Args:
        text: YAML.
        source: the file's name, for messages.
    """
    document = read(text, source=source)
    estate = document.check(Estate)
    return (estate if isinstance(estate, Estate) else None), document


def load(path: str | Path) -> EstateFile:
    """The estate that stands in `path`.

    Raises:
        SettingsError: the file cannot be read, or it has errors; the text holds one line `file:line: field: what` each.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"estate file {path} cannot be read: {error}") from error
    return _loaded(path, text)


@lru_cache(maxsize=8)
def _loaded(path: Path, text: str) -> EstateFile:
    """The same text is parsed once: each answer of a page asks for the estate, which nothing changes. Raises
    `SettingsError`."""
    estate, document = parse(text, source=str(path))
    if estate is None:
        raise SettingsError(*map(str, document.problems))
    return EstateFile(path, estate, document)


def as_plain(estate: Estate) -> dict[str, Any]:
    """The estate as JSON-like values, defaults filled in (`mqops estate check --json`)."""
    return estate.model_dump(mode="json")
