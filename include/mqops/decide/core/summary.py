"""What people and the next steps see of a plan: one frozen object, stored as RUN/plan.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqops.actions import Action
from mqops.as_json import JsonObject, json_object
from mqops.decide.core.gate import GateCheck
from mqops.decide.core.pacing import Pacing
from mqops.workflow import Workflow

MOST_GROUPS = 1000
"""Groups in a summary, the largest, those that are ignored last; with &REPLYQ there may be one a message."""
SAMPLES = 3
"""Samples a group: its first messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One message of a group, masked. `shape` is its text with letters as `x` and digits as `9`; `bytes` its length."""

    row: int
    msg_id: str
    put_at: str
    put_appl_name: str
    bytes: int
    shape: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCount:
    """Messages with the same rule, action, reason, origin and destination.

    Parameters: `rule_line` and `rule_key` None if no rule matches; `reason` the Reason of the MQDLH and its `symbol`;
    origin is the queue that the message was first sent to, destination the queue that the plan puts it on; `oldest` the
    earliest put date and time (ISO 8601, UTC).
    """

    rule_line: int | None
    rule_key: str | None
    action: Action
    reason: int | None
    symbol: str
    origin_q: str | None
    origin_q_mgr: str | None
    dest_q: str
    dest_q_mgr: str
    messages: int
    bytes: int
    oldest: str
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCount:
    """Everything one rule was chosen for; complete, however many groups there are."""

    rule_line: int | None
    rule_key: str | None
    action: Action
    messages: int
    bytes: int
    oldest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """A plan.

    Parameters: `table_text` as it was, but for bytes in comments that are not UTF-8; `table_digest` of its true bytes;
    `observed` messages in the snapshot and `rows` of them in the plan; `rules` one count a rule; `counts`
    the largest groups, what is ignored last,
    `counts_left_off` how many more there are; `limit` and `message_ids` what narrowed the set;
    `remarks` what else the approver should know; `handling` how it is carried out (`mqops.decide.core.pacing`);
    `digest` of the plan's rows (`mqops.decide.core.canonical`) and of its handling, which an approval is bound to;
    `requested_by` who asked for it on the command line, blank for other plans; `used_up` messages that are
    ignored since no try of a rule that fits them is left; `unseen` queues that are meant and could not be looked at;
    `gate` the checks of its gate that are not met.
    """

    run: str
    workflow: str = Workflow.DLQ_RULES  # the plan of an earlier version does not say it
    queue_manager: str
    queue: str
    table_source: str
    table_digest: str
    table_text: str
    digest: str
    observed: int
    rows: int
    bytes: int
    rules: tuple[RuleCount, ...] = ()
    counts: tuple[PlanCount, ...] = ()
    counts_left_off: int = 0
    limit: int | None = None
    message_ids: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    handling: Mapping[str, object] = field(default_factory=dict)
    requested_by: str = ""
    used_up: int = 0
    unseen: tuple[str, ...] = ()
    gate: tuple[GateCheck, ...] = ()

    @property
    def pacing(self) -> Pacing:
        """`handling` as a value."""
        return Pacing.from_json(self.handling)

    @property
    def actions(self) -> dict[Action, int]:
        """Action → messages."""
        totals: dict[Action, int] = {}
        for rule in self.rules:
            totals[rule.action] = totals.get(rule.action, 0) + rule.messages
        return totals

    def to_json(self) -> JsonObject:
        """A JSON object; `actions` is added for readers. Bytes of `table_text` that are not UTF-8 become U+FFFD."""
        text = self.table_text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return {**json_object(self), "table_text": text, "actions": json_object(self.actions)}
