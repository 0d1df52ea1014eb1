"""The forms of runs as values: what a person gave, else the defaults of `forms.params`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from mqops.decide.core.pacing import Pacing
from mqops.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

Form = TypeVar("Form")
PACING = ("canary", "canary_wait", "pace", "in_flight", "patience")


def given(params: Mapping[str, object], form: type[Form]) -> Form:
    """The form of a run. Parameters: `params` as Airflow's context has them; `form` the fields that are read.

    Raises:
        SettingsError: a value does not fit, which Airflow checks before it queues a run.
    """
    try:
        return TypeAdapter(form).validate_python(dict(params))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise SettingsError(f"the form's field {first['loc'][0]}: {first['msg']}. Start a new run") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerForm:
    """The form of a DAG for all queue managers."""

    queue_manager: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshForm(ManagerForm):
    """The form of mq_refresh_expiry."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainForm(ManagerForm):
    """The form of mq_trigger_explain."""

    queue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopForm(ManagerForm):
    """The form of mq_stop. Parameters: `run` None for all runs of the queue manager."""

    do: Literal["stop", "resume"]
    run: str | None
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoForm(ManagerForm):
    """The form of mq_undo."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActForm(ManagerForm):
    """What acting in a task needs of the forms of mq_undo and mq_recover."""

    unit_of_work: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedOut:
    """How a plan is carried out. Parameters: `unit_of_work` messages in one; the others as of `Pacing`."""

    unit_of_work: int
    canary: int
    canary_wait: int
    pace: int
    in_flight: int
    patience: int

    def pacing(self) -> Pacing:
        """The same for a plan."""
        return Pacing(**{name: getattr(self, name) for name in PACING})


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesForm(CarriedOut):
    """The form of a workflow that decides by a rules table. Parameters: `message_ids` None for all messages."""

    rules_file: str
    limit: int | None
    message_ids: tuple[str, ...] | None

    def arguments(self) -> dict[str, object]:
        """What the form asks for, as the Spark jobs take it.

        A limit with chosen messages limits the plan, not the snapshot: the chosen ones may stand behind it.
        """
        limit, chosen = self.limit or 0, self.message_ids or ()
        return {
            "limit": limit,
            "observe_limit": 0 if chosen else limit,
            "message_ids": ",".join(chosen).upper(),
            "unit_size": self.unit_of_work,
            **{name: getattr(self, name) for name in PACING},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLettersForm(RulesForm):
    """The form of dlq_rules."""

    queue: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoutForm(RulesForm):
    """The form of backout_reprocess. Parameters: `queues` none for all backout queues that are found."""

    queues: tuple[str, ...] | None
    replay_cap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryForm:
    """The form of expiry_scan."""

    queues: tuple[str, ...]
    all_filled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityForm:
    """The form of snapshot_quality."""

    queues: tuple[str, ...]
    suites: tuple[str, ...]
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverForm(CarriedOut):
    """The form of mq_recover."""

    queue_manager: str
    action: str
    run: str | None
    queue: str | None
    message_ids: tuple[str, ...] | None
    where: str | None
    since: datetime | None
    until: datetime | None
    all_messages: bool
    destination: str | None
    destination_queue_manager: str | None
    header: str
