"""Expiry by age: messages that are older than a limit are discarded (`mqops expiry age-out`).

The rules stand in `mqops.expiry.core.age_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mqops.actions import Action
from mqops.backout.core.origin import backout_queues
from mqops.deciders.choice import LEAVE, Choice, choose_each, named_queues
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.errors import SettingsError
from mqops.expiry.core.age_out import too_old
from mqops.lake.run_file import RunFile
from mqops.observe.core.columns import SnapshotRow
from mqops.queue_names import not_seen, selected
from mqops.workflow import Workflow
from mqwire import constants as c

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.mq.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSeen:
    """Parameters: `unseen` as of `Meant`."""

    unseen: tuple[str, ...]


NOT_SEEN = RunFile("age_out.json", NotSeen)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeOutRequest(RunRequest):
    """What a run is asked for. Parameters: `queues` names of local queues, or beginnings with `*`; `limit` the age of
    what is discarded."""

    queues: tuple[str, ...]
    limit: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant(Selection):
    """The queues that are looked at. Parameters: `unseen` those that a pattern means and that the connection's user may
    not inquire: the plan names them."""

    unseen: tuple[str, ...] = ()

    def prepare(self, run: RunFolder) -> None:
        """Write RUN/age_out.json. Raises `LakeError`."""
        if self.unseen:
            run.create()
            NOT_SEEN.write(run, NotSeen(unseen=self.unseen))


def select(session: Session, request: AgeOutRequest) -> Meant:
    """The queues that were named, and those with messages that a pattern means.

    A pattern never means the dead-letter queue, a backout queue, or a queue with GET(DISABLED): their messages wait for
    a person, who names the queue itself.

    Raises:
        SettingsError: the limit is not above zero; or programs must not discard from a queue: a transmission queue, or
            one of `SYSTEM.` or `MQOPS.`.
        MQError: the queue manager cannot be inquired.
    """
    from mqops.mq.inquire import unseen_queues  # noqa: PLC0415 - loads the MQ library

    if request.limit <= timedelta(0):
        raise SettingsError("The age must be greater than zero")
    for name in request.queues:
        if name.startswith(("SYSTEM.", "MQOPS.")):
            raise SettingsError(f"{name}: messages of SYSTEM.* and MQOPS.* queues are not discarded by age")
    patterns = [name for name in request.queues if name.endswith("*")]
    if not patterns:
        return Meant(queues=named_queues(session, request.queues).queues, gated=False)
    named = named_queues(session, (name for name in request.queues if name not in patterns)).queues
    meant = [name for name in _meant(session, patterns, request.warn) if name not in named]
    return Meant(queues=(*named, *meant), some_may_end=True, unseen=unseen_queues(session, patterns), gated=False)


def _meant(session: Session, patterns: Sequence[str], warn: Callable[[str], None]) -> list[str]:
    """The queues with messages that patterns mean; those that a person has to name are told."""
    from mqops.mq.inquire import (  # noqa: PLC0415 - loads the MQ library
        inquire_queues,
        queue_definitions,
        queue_manager_attribute,
    )

    kept = {
        *backout_queues(queue_definitions(session)),
        str(queue_manager_attribute(session, c.MQCA_DEAD_LETTER_Q_NAME)),
    }
    rows = inquire_queues(session, "*", (c.MQIA_CURRENT_Q_DEPTH, c.MQIA_USAGE, c.MQIA_INHIBIT_GET))
    found: list[str] = []
    left: list[str] = []
    for row in sorted(rows, key=lambda one: str(one[c.MQCA_Q_NAME])):
        name = str(row[c.MQCA_Q_NAME])
        if not row[c.MQIA_CURRENT_Q_DEPTH] or not selected(name, patterns):
            continue
        if row[c.MQIA_USAGE] == c.MQUS_TRANSMISSION:
            continue
        (left if name in kept or row[c.MQIA_INHIBIT_GET] else found).append(name)
    if left:
        warn(f"not looked at, because messages wait there for a person: {', '.join(left)}. To age them out, name them")
    return found


def decide(request: AgeOutRequest, run: RunFolder) -> PlanSummary:
    """Plan to discard the messages that are too old at the time of the snapshot. Raises `MqopsError`."""

    def choose(message: SnapshotRow, now: datetime) -> Choice:
        old = too_old(message["put_date"], message["put_time"], now=now, limit=request.limit)
        return Choice(action=Action.EXPIRE) if old else LEAVE

    unseen = noted.unseen if (noted := NOT_SEEN.find(run)) else ()
    text = f"older than {request.limit}"
    remarks = tuple(filter(None, (not_seen(unseen),)))
    return choose_each(
        request, run, choose, workflow=Workflow.AGE_OUT, text=text, by_group=False, remarks=remarks, unseen=unseen
    )


AGE_OUT = Decider(
    name=Workflow.AGE_OUT,
    request=AgeOutRequest,
    select=select,
    decide=decide,
    command="mqops.cli.expiry:age_out",
    form=("queues", "limit", "dry_run", "unit_of_work"),
)
