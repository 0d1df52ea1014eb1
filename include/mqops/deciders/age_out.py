"""Expiry by age: messages that are older than a limit are discarded (`mqops expiry age-out`).

The rules stand in `mqops.expiry.core.age_out`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from mqops.actions import Action
from mqops.deciders.choice import LEAVE, Choice, choose_each, named_queues
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.errors import SettingsError
from mqops.expiry.core.age_out import WORKFLOW, too_old

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeOutRequest(RunRequest):
    """What a run is asked for. Parameters: `queues` names of local queues; `limit` the age of what is discarded."""

    queues: tuple[str, ...]
    limit: timedelta


def select(session: Session, request: AgeOutRequest) -> Selection:
    """The queues that were named.

    Raises:
        SettingsError: the limit is not above zero; or programs must not discard from a queue: a transmission queue, or
            one of `SYSTEM.` or `MQOPS.`.
        MQError: the queue manager cannot be inquired.
    """
    if request.limit <= timedelta(0):
        raise SettingsError("The age must be greater than zero")
    for name in request.queues:
        if name.startswith(("SYSTEM.", "MQOPS.")):
            raise SettingsError(f"{name}: messages of SYSTEM.* and MQOPS.* queues are not discarded by age")
    return named_queues(session, request.queues)


def decide(request: AgeOutRequest, run: RunFolder) -> PlanSummary:
    """Plan to discard the messages that are too old at the time of the snapshot. Raises `MqopsError`."""

    def choose(message: Mapping[str, Any], now: datetime) -> Choice:
        old = too_old(message["put_date"], message["put_time"], now=now, limit=request.limit)
        return Choice(action=Action.EXPIRE) if old else LEAVE

    return choose_each(request, run, choose, workflow=WORKFLOW, text=f"older than {request.limit}", by_group=False)


AGE_OUT = Decider(
    name=WORKFLOW,
    request=AgeOutRequest,
    select=select,
    decide=decide,
    command="mqops.cli.expiry:age_out",
    form=("queues", "limit", "dry_run", "unit_of_work"),
)
