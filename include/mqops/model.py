"""What the workflows report: frozen values that are logged, stored as JSON, put in XCom and shown on pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


def with_lists(value: dict[str, Any]) -> dict[str, Any]:
    """The same with lists for tuples, as JSON has them; Airflow would mark tuples as such in an XCom."""
    return {name: list(content) if isinstance(content, tuple) else content for name, content in value.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBalance:
    """What became of the messages one rule was chosen for.

    Parameters: `rule_line` None for messages without a matching rule; `planned` = `moved` + `discarded` + `left` +
    `gone`, else the run does not balance; `unexplained` are the messages without evidence of what became of them
    (`mqops.prove.core.balance`); `failed` counts the tries of this run that failed; all in messages.
    """

    queue: str
    rule_line: int | None
    rule_key: str
    action: str
    planned: int = 0
    moved: int = 0
    discarded: int = 0
    left: int = 0
    gone: int = 0
    unexplained: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The outcome of a run, proved by the ledger and a look at the queue.

    Parameters: counts in messages; `returned` were moved and are on the queue again; `arrived` came after the
    snapshot; `finished` whether every row with an action was dealt with; `reasons` MQRC name → failed tries;
    `left_because` why → messages that were not tried (a canary came back ...); `gone_because` evidence → messages that
    are gone; `unexplained` as in `RuleBalance`; `remarks` what the workflow found
    besides (misconfigured queues ...); `canaries` what became of those of each destination and rule
    (`mqops.act.canary.Fate`); `anatomy` what its dead-letter queues were made of (`mqops.observe.core.anatomy.brief`);
    `ledger_seq` and `ledger_head` number and hash of the ledger's last line when the run was proved, 0 and blank where
    it had none, or an earlier version proved it.
    """

    run: str
    workflow: str
    queue_manager: str
    queue: str
    plan: str
    planned: int = 0
    moved: int = 0
    discarded: int = 0
    left: int = 0
    gone: int = 0
    unexplained: int = 0
    failed: int = 0
    returned: int = 0
    arrived: int = 0
    finished: bool = True
    balanced: bool = True
    problems: tuple[str, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    left_because: Mapping[str, int] = field(default_factory=dict)
    gone_because: Mapping[str, int] = field(default_factory=dict)
    canaries: tuple[Mapping[str, Any], ...] = ()
    rules: tuple[RuleBalance, ...] = ()
    remarks: tuple[str, ...] = ()
    anatomy: tuple[Mapping[str, Any], ...] = ()
    ledger_seq: int = 0
    ledger_head: str = ""
    proved_at: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return with_lists(asdict(self))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunSummary:
        """The summary that `to_json` made."""
        rules = tuple(RuleBalance(**rule) for rule in value["rules"])
        texts = {name: tuple(value.get(name, ())) for name in ("problems", "remarks", "canaries", "anatomy")}
        return cls(**{**value, "rules": rules, **texts})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueObserved:
    """One queue as the snapshot has it: messages and their bytes (MQMD not counted)."""

    queue: str
    messages: int
    bytes: int
    with_dlh: int = 0
    without_dlh: int = 0
    oldest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveSummary:
    """What a snapshot holds. `files` are the snapshot's files and their sizes in bytes, all of them on disk."""

    run: str
    queue_manager: str
    observed_at: str
    messages: int
    bytes: int
    queues: tuple[QueueObserved, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActSummary:
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

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDefinition:
    """What the definition of a queue says. `kind` is MQQT_* in words; `base` an alias's target; blanks where unset."""

    name: str
    kind: str = "local"
    base: str = ""
    threshold: int = 0
    backout_queue: str = ""
    put_allowed: bool = True
    depth: int = 0
