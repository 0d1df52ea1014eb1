"""The forms of runs as values: what a person gave, else the defaults of `forms.params`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from mqops.errors import SettingsError
from mqops.estate_workflows import PacingSection
from mqops.type_adapter import refused

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.decide.core.pacing import Pacing

PACING = {*PacingSection.model_fields}


class Form(BaseModel):
    """The fields of a form that a task reads."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def of(cls, context: Context) -> Self:
        """The form of the run. Raises `SettingsError`: a value does not fit. Airflow checks that before."""
        try:
            return cls.model_validate(dict(context["params"]))
        except ValidationError as error:
            place, _kind, text = refused(error)
            raise SettingsError(f"the form's field {place}: {text}. Start a new run") from error


class OfManager(Form):
    """A DAG for all queue managers."""

    queue_manager: str


class Browses(Form):
    """A workflow that browses queues. Parameters: `first_tell` as of `forms.params.first_tell`."""

    first_tell: bool = False


class ToAct(OfManager):
    """mq_undo, mq_recover and poison_guard, for the task that acts."""

    unit_of_work: int


class PlansInTask(OfManager, Browses):
    """A DAG for all queue managers whose first task plans."""


class Undo(PlansInTask):
    """mq_undo."""

    run: str


class Refresh(OfManager, Browses):
    """mq_refresh_expiry."""

    name: str


class Explain(OfManager):
    """mq_trigger_explain."""

    queue: str


class Stop(OfManager):
    """mq_stop. Parameters: `run` None for all runs of the queue manager."""

    do: Literal["stop", "resume"]
    run: str | None
    why: str | None


class Guard(ToAct, Browses):
    """poison_guard. Parameters: `queues` none for all input queues; `limit` None for all messages."""

    queues: tuple[str, ...] | None
    limit: int | None


class CarriedOut(Form):
    """How a plan is carried out. Parameters: `unit_of_work` messages; the others as of `Pacing`."""

    unit_of_work: int
    canary: int
    canary_wait: int
    pace: int
    in_flight: int
    patience: int

    def pacing(self) -> Pacing:
        """The same for a plan."""
        from mqops.decide.core.pacing import Pacing  # noqa: PLC0415

        return Pacing(**self.model_dump(include=PACING))


class ByRules(CarriedOut, Browses):
    """A workflow that decides by a rules table. Parameters: `message_ids` none for all messages."""

    rules_file: str
    limit: int | None
    message_ids: tuple[str, ...] | None

    def arguments(self) -> dict[str, object]:
        """What the form asks for, as the Spark jobs take it.

        A limit with chosen messages limits the plan, not the snapshot: the chosen ones may stand behind it.
        """
        limit, chosen = self.limit or 0, self.message_ids or ()
        found = {"limit": limit, "observe_limit": 0 if chosen else limit, "message_ids": ",".join(chosen).upper()}
        return {**found, "unit_size": self.unit_of_work, **self.model_dump(include=PACING)}


class DeadLetters(ByRules):
    """dlq_rules."""

    queue: str | None


class Backout(ByRules):
    """backout_reprocess. Parameters: `queues` none for all backout queues that are found."""

    queues: tuple[str, ...] | None
    replay_cap: int


class Expiry(Browses):
    """expiry_scan."""

    queues: tuple[str, ...]
    all_filled: bool


class Snapshot(Browses):
    """snapshot."""

    queues: tuple[str, ...]
    limit: int | None


class Quality(Browses):
    """snapshot_quality."""

    queues: tuple[str, ...]
    suites: tuple[str, ...]
    limit: int | None


class Recover(PlansInTask, CarriedOut):
    """mq_recover."""

    action: str
    run: str | None
    queue: str | None
    message_ids: tuple[str, ...] | None
    where: str | None
    failed: str | None
    since: datetime | None
    until: datetime | None
    all_messages: bool
    destination: str | None
    destination_queue_manager: str | None
    header: str
