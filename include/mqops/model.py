"""What the workflows report: frozen values that are logged, stored as JSON, put in XCom and shown on pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import NamedTuple, NotRequired

from typing_extensions import TypedDict

from mqops.as_json import JsonObject, json_object


class AsJson:
    """Base of a dataclass whose JSON object is its fields."""

    __slots__ = ()

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return json_object(self)


class Destination(NamedTuple):
    """A queue that messages are put on. Parameters: `queue_manager` blank for the one that puts them."""

    queue: str
    queue_manager: str = ""

    def __str__(self) -> str:
        """`queue@queue manager`; the queue alone where no queue manager is named."""
        return f"{self.queue}@{self.queue_manager}" if self.queue_manager else self.queue


class Account(StrEnum):
    """Which kind of account a person has where he asks. The same name may be another person's in the other kind."""

    AIRFLOW = "airflow"
    SYSTEM = "system"


EVERYBODY = "*"
"""Instead of the names of system accounts: the queue manager's own authority decides, as without an estate."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What became of messages, as the proof counts it.

    Parameters: `planned` = `moved` + `discarded` + `left` + `gone`, else the run does not balance; `unexplained` are
    the messages without evidence of what became of them (`mqops.prove.core.balance`); `failed` counts the tries of this
    run that failed; all in messages.
    """

    planned: int = 0
    moved: int = 0
    discarded: int = 0
    left: int = 0
    gone: int = 0
    unexplained: int = 0
    failed: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether every planned message is moved, discarded, left or gone."""
        return self.planned == self.moved + self.discarded + self.left + self.gone


def total_of(counts: Iterable[Counts]) -> Counts:
    """The sums of all of them."""
    ones = list(counts)
    return Counts(**{count.name: sum(getattr(one, count.name) for one in ones) for count in fields(Counts)})


@dataclass(frozen=True, kw_only=True)
class RuleOnQueue:
    """A rule and a queue. `rule_line` is None, and `rule_key` blank, for messages without a matching rule."""

    queue: str
    rule_line: int | None
    rule_key: str
    action: str


@dataclass(frozen=True, kw_only=True)
class RuleBalance(Counts, RuleOnQueue):
    """What became of the messages of one rule. In JSON the fields of `RuleOnQueue` stand before those of `Counts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryResult:
    """What became of the canaries of a destination and rule.

    Parameters: counts in messages; `unread` were moved, and no application has read them yet (0 on a queue that is
    storage); `why` the other messages of the destination and rule are left, "" where they follow.
    """

    unit_group: str
    rule_key: str
    canaries: int
    moved: int = 0
    back: int = 0
    failed: int = 0
    unread: int = 0
    why: str = ""


class GroupBrief(TypedDict):
    """A group of messages of a dead-letter queue (`mqops.observe.core.anatomy.Group`), their number, and its growth."""

    reason: str
    origin_q: str
    origin_q_mgr: str
    application: str
    messages: int
    growth: int


class QueueBrief(TypedDict):
    """What a dead-letter queue was made of, as `mqops.observe.core.anatomy.brief` says it."""

    queue: str
    messages: int
    growth: int
    since: str
    since_at: NotRequired[str]
    groups: int
    top: list[GroupBrief]


@dataclass(frozen=True, kw_only=True)
class PlanOfRun:
    """A run, and the plan that it carries out. `queue` names its queues, with commas between them."""

    run: str
    workflow: str
    queue_manager: str
    queue: str
    plan: str


@dataclass(frozen=True, kw_only=True)
class RunSummary(Counts, PlanOfRun, AsJson):
    """The outcome of a run, proved by the ledger and a look at the queue. In JSON the last base stands first.

    Parameters: counts in messages, those of `Counts` for all rules together; `returned` were moved and are on the
    queue again; `arrived` came after the snapshot; `finished` whether every row with an action was dealt with;
    `reasons` MQRC name → failed tries; `left_because` why → messages that were not tried (a canary came back ...);
    `gone_because` evidence → messages that are gone; `remarks` what the workflow found besides (misconfigured
    queues ...); `unseen` queues that are meant and could not be looked at; `canaries` of each destination and rule;
    `anatomy` what its dead-letter queues were made of;
    `ledger_seq` and `ledger_head` number and hash of the ledger's last line when the run was proved, 0 and blank if
    the ledger had no line, or an earlier version proved it.
    """

    returned: int = 0
    arrived: int = 0
    finished: bool = True
    balanced: bool = True
    problems: tuple[str, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    left_because: Mapping[str, int] = field(default_factory=dict)
    gone_because: Mapping[str, int] = field(default_factory=dict)
    canaries: tuple[CanaryResult, ...] = ()
    rules: tuple[RuleBalance, ...] = ()
    remarks: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    anatomy: tuple[QueueBrief, ...] = ()
    ledger_seq: int = 0
    ledger_head: str = ""
    proved_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueObserved:
    """One queue as the snapshot has it: messages and their bytes (MQMD not counted).

    Parameters: `expired` messages that the queue manager discarded when it was browsed; `expired_exact` as in
    `mqops.observe.expired.Expired`; `unseen` why a browse got nothing from a queue that has a depth, "" elsewhere;
    `base` the queue that an alias stands for, "" for another name.
    """

    queue: str
    messages: int
    bytes: int
    with_dlh: int = 0
    without_dlh: int = 0
    oldest: str = ""
    expired: int = 0
    expired_exact: bool = True
    unseen: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveSummary(AsJson):
    """What a snapshot holds. `files` are the snapshot's files and their sizes in bytes, all of them on disk; `whole`
    whether it has every message of its queues; `ended_at` when the last message had been browsed, at the latest. The
    file of an earlier version says neither (None, ""); `gone` queues that ended before they were looked at, or
    meanwhile; `settled` queues that had no uncommitted messages before and behind it, so that no unit of work hid
    one."""

    run: str
    queue_manager: str
    observed_at: str
    ended_at: str = ""
    messages: int
    bytes: int
    queues: tuple[QueueObserved, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    whole: bool | None = None
    gone: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ActSummary(AsJson):
    """What one execution of act did. A report: the run's proof is `RunSummary`."""

    run: str
    plan: str
    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    left: int = 0
    units: int = 0
    backouts: int = 0
    lanes_finished: int = 0
    lanes_held: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What went through a queue since its statistics were reset before (IBM MQ, "Reset Queue Statistics (Response)").

    Parameters: `puts` and `gets` messages, those of units of work that have not ended or were backed out included;
    `high` the most messages that were there at a time; `seconds` since that reset.
    """

    puts: int
    gets: int
    high: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDefinition:
    """What the definition of a queue says. `kind` is MQQT_* in words, or "topic" for an alias of a topic; `base`
    an alias's target; `max_depth` in messages and `max_length` in bytes, 0 where not known; blanks where unset."""

    name: str
    kind: str = "local"
    base: str = ""
    threshold: int = 0
    backout_queue: str = ""
    put_allowed: bool = True
    depth: int = 0
    transmission: bool = False
    max_depth: int = 0
    max_length: int = 0
