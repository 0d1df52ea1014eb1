"""Backout queues: a rules table decides what is put back where it came from (`mqops backout run`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mqops.backout.core.origin import Setting
from mqops.backout.core.origin_table import OriginRow
from mqops.deciders.decider import Decider, RunRequest, Selection
from mqops.deciders.gate import ask_gate
from mqops.errors import NotLookedAt, SettingsError, mq_error
from mqops.misnamed import is_alias, misnamed
from mqops.rules import Table
from mqops.workflow import Workflow
from mqwire import constants as c

if TYPE_CHECKING:
    from mqops.decide.core import PlanSummary
    from mqops.lake.run import RunFolder
    from mqops.model import QueueDefinition
    from mqops.mq.session import Session

DEFAULT_CAP = 3
DEFAULT_QUARANTINE = "MQOPS.QUARANTINE"
_LOCAL = "name a local queue"
Leaves: TypeAlias = Callable[[Iterable[str]], Mapping[str, str]]
"""Names of queues → those of them that are left, and why (`mqops.expiry.first_tell.left_by`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoutRequest(RunRequest):
    """What a pass over backout queues is asked for.

    Parameters: `table` made of `text`, which came from `source`; `queues` none for all that another queue names as
    BOQNAME; `replay_cap`, `quarantine` and `backoff` as in `Setting`; `origins` the table of origins, None for that of
    the estate.
    """

    table: Table
    text: str
    source: str = "<standard input>"
    queues: tuple[str, ...] = ()
    replay_cap: int = DEFAULT_CAP
    quarantine: str = DEFAULT_QUARANTINE
    backoff: tuple[int, ...] = ()
    origins: tuple[OriginRow, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoutQueues(Selection):
    """The backout queues of a queue manager.

    Parameters: `queues` those that have messages and are looked at; `setting` what decides about their messages;
    `depths` queue → its depth, of all of them; `left` those that are left (`mqops.expiry.first_tell`) → why.
    """

    setting: Setting
    depths: dict[str, int]
    left: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, run: RunFolder) -> None:
        """Write RUN/backout.json, so that replays are counted with the snapshot. Raises `LakeError`."""
        from mqops.decide import backout_setting  # noqa: PLC0415 - loads pyarrow

        backout_setting.write_setting(run, self.setting)


def select(session: Session, request: BackoutRequest) -> BackoutQueues:
    """The backout queues. Raises as `survey`; `NotLookedAt` where all that have messages are left."""
    from mqops.expiry.first_tell import left_by  # noqa: PLC0415 - loads the MQ library

    found = survey(
        session,
        queues=request.queues,
        replay_cap=request.replay_cap,
        quarantine=request.quarantine,
        backoff=request.backoff,
        origins=request.origins,
        leaves=partial(left_by, request.first_tell, session, request.lake),
    )
    if found.left and not found.queues:
        raise NotLookedAt(*found.left.values())
    return replace(found, told_first=True)


def survey(
    session: Session,
    *,
    queues: Sequence[str] = (),
    replay_cap: int,
    quarantine: str,
    backoff: tuple[int, ...] = (),
    origins: tuple[OriginRow, ...] | None = None,
    leaves: Leaves = lambda _queues: {},
) -> BackoutQueues:
    """Find the backout queues by PCF inquiry and what their definitions say.

    A dead-letter queue that a queue names as BOQNAME is not taken: it belongs to the workflow for dead-letter queues.
    Nor is the quarantine of a gate.

    Without `queues`, every queue is meant: one that this user may not inquire can be a backout queue, or name one.

    Parameters: `queues` these instead of all; `replay_cap`, `quarantine` and `backoff` as in `Setting`; `origins`
    as in `BackoutRequest`; `leaves` hears the queues that would be browsed, also those whose programs may loop.

    Raises:
        MQError: the queue manager cannot be inquired, or has no queue of a name (2085).
        SettingsError: there is no quarantine queue, or a queue is a remote or model queue; what the estate has for this
            workflow is not valid.
    """
    from mqops.act.sources import check_source  # noqa: PLC0415 - loads the MQ library
    from mqops.backout.core.origin import backout_queues, setting  # noqa: PLC0415
    from mqops.backout.core.poison import can_loop  # noqa: PLC0415
    from mqops.backout.of_estate import gate_quarantines_of, origins_of  # noqa: PLC0415
    from mqops.backout.poison import looping  # noqa: PLC0415
    from mqops.ledger.queue import NAME as LEDGER  # noqa: PLC0415
    from mqops.mq.inquire import deadq, queue_definitions, queue_manager_name, unseen_queues  # noqa: PLC0415

    name = queue_manager_name(session)
    definitions = queue_definitions(session)
    local = {one.name: one.depth for one in definitions if one.kind == "local"}
    bases = {one.name: one.base for one in definitions if one.kind == "alias"}
    _refuse_quarantine(quarantine, definitions, name)
    notes = [is_alias(queue, bases[queue]) for queue in queues if queue in bases]
    kinds = {one.name: one.kind for one in definitions if one.kind != "alias"}
    for queue in queues:
        base = bases.get(queue, queue)
        if base not in local and base in kinds:
            alias = "" if base == queue else f"an alias of {base}, "
            raise SettingsError(
                f"{queue} of {name} is {alias}a {kinds[base]} queue, which holds no messages: name a local queue"
            )
        if base not in local:
            raise mq_error(
                c.MQCC_FAILED, c.MQRC_UNKNOWN_OBJECT_NAME, verb="MQCMD_INQUIRE_Q", object_name=f"{queue} of {name}"
            )
    queues = tuple(dict.fromkeys(bases.get(queue, queue) for queue in queues))
    for queue in queues:
        check_source(session, queue)
    dead_letters = deadq(session)
    no_backout_queues = (dead_letters, quarantine, *gate_quarantines_of(name))
    apart = {*no_backout_queues, *(bases.get(one, "") for one in no_backout_queues), LEDGER}
    chosen = tuple(queues) or tuple(queue for queue in backout_queues(definitions) if queue not in apart)
    away = {*apart, *backout_queues(definitions)}
    filled = tuple(queue for queue in chosen if local[queue])
    inputs = [one.name for one in definitions if can_loop(one) and one.name not in away]
    left = leaves([*filled, *inputs])
    loops = looping(session, definitions, apart=away, queue_manager=name, left=left)
    notes += loops.remarks()
    where = setting(
        definitions,
        queue_manager=name,
        queues=chosen,
        replay_cap=replay_cap,
        quarantine=quarantine,
        dead_letter_queue=bases.get(dead_letters, dead_letters),
        unseen=() if queues else unseen_queues(session, ["*"]),
        notes=notes,
        backoff=backoff,
        origins=origins_of(name) if origins is None else origins,
    )
    return BackoutQueues(
        queues=tuple(queue for queue in filled if queue not in left),
        some_may_end=not queues,
        setting=where,
        depths={queue: local[queue] for queue in chosen},
        left={queue: left[queue] for queue in filled if queue in left},
    )


def _refuse_quarantine(quarantine: str, definitions: Sequence[QueueDefinition], queue_manager: str) -> None:
    """Raises `SettingsError`: the name leads to no queue that takes messages. A remote queue does."""
    known = {one.name: one for one in definitions}
    found = known.get(quarantine)
    behind = known.get(found.base) if found and found.kind == "alias" else found
    if behind and behind.kind in {"local", "remote"} and not behind.transmission:
        return
    what = "for messages that were replayed too often"
    if found is None:
        wrong = misnamed(quarantine, None, (one.name for one in definitions if one.kind == "local"))
        also = f", {wrong.instead} is there" if wrong and wrong.instead else ""
        raise SettingsError(f"{queue_manager} has no queue {quarantine} {what}{also}: define it, or correct the name")
    names = (quarantine, found.base) if found.base else (quarantine,)
    whys = [wrong.why for one in names if (wrong := misnamed(one, known.get(one)))]
    raise SettingsError(f"{what[0].upper()}{what[1:]} {queue_manager} has {', '.join((quarantine, *whys))}: {_LOCAL}")


def decide(request: BackoutRequest, run: RunFolder) -> PlanSummary:
    """Plan by the rules table. Raises `MqopsError`."""
    from mqops.decide.in_process import decide  # noqa: PLC0415 - loads pyarrow

    ask_gate(run)
    return decide(
        run,
        request.table,
        text=request.text,
        source=request.source,
        workflow=Workflow.BACKOUT_REPROCESS,
        pacing=request.pacing,
    )


BACKOUT = Decider(
    name=Workflow.BACKOUT_REPROCESS,
    request=BackoutRequest,
    select=select,
    decide=decide,
    command="mqops.cli.backout:run",
    section=Workflow.BACKOUT_REPROCESS,
    by_rules=True,
    form=(
        "dry_run",
        "rules_file",
        "queues",
        "first_tell",
        "replay_cap",
        "limit",
        "message_ids",
        "unit_of_work",
        "pacing",
    ),
    dag="each",
    dry_run_is_approvable=False,
)
