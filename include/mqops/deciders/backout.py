"""One pass over the backout queues in one process: observe, decide, act, prove (`mqops backout run`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.act.sources import check_source
from mqops.backout.core.origin import Setting, backout_queues, setting
from mqops.decide import backout_setting as backout
from mqops.decide.core import PlanSummary
from mqops.decide.core.pacing import AS_EVER, Handling
from mqops.decide.in_process import decide
from mqops.decide.preflight import preflight
from mqops.deciders.dead_letters import new_run_key
from mqops.deciders.stop import acted_and_proved
from mqops.errors import SettingsError, mq_error
from mqops.lake.run import RunFolder
from mqops.ledger.core.replays import WORKFLOW
from mqops.ledger.queue import NAME as LEDGER
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import dead_letter_queue, queue_definitions, queue_manager_name
from mqops.mq.session import Session
from mqops.observe.in_process import observe
from mqops.prove.outcomes import look_back
from mqops.prove.recovery import settle_leftovers
from mqops.rules import Table
from mqwire import constants as c

_log = logging.getLogger(__name__)

DEFAULT_CAP = 3
DEFAULT_QUARANTINE = "MQOPS.QUARANTINE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """The backout queues of a queue manager: what decides about their messages, and name → depth of each."""

    setting: Setting
    depths: dict[str, int]

    @property
    def filled(self) -> tuple[str, ...]:
        """The queues that have messages."""
        return tuple(queue for queue, depth in self.depths.items() if depth)


def survey(session: Session, *, queues: Sequence[str] = (), replay_cap: int, quarantine: str) -> Surveyed:
    """Find the backout queues by PCF inquiry and what their definitions say.

    A dead-letter queue that somebody names as BOQNAME is left to the workflow for dead-letter queues.

    Parameters: `queues` these instead of all; `replay_cap` and `quarantine` as in `Setting`.

    Raises:
        MQError: the queue manager cannot be inquired, or a queue is not a local queue of it (2085).
        SettingsError: there is no quarantine queue.
    """
    name = queue_manager_name(session)
    definitions = queue_definitions(session)
    local = {one.name: one.depth for one in definitions if one.kind == "local"}
    if quarantine not in {one.name for one in definitions}:
        raise SettingsError(f"{name} has no queue {quarantine} for what was put back too often: define it")
    for queue in queues:
        if queue not in local:
            raise mq_error(
                c.MQCC_FAILED, c.MQRC_UNKNOWN_OBJECT_NAME, verb="MQCMD_INQUIRE_Q", object_name=f"{queue} of {name}"
            )
    for queue in queues:
        check_source(session, queue)
    dead_letters = _dead_letter_queue(session)
    apart = {dead_letters, quarantine, LEDGER}
    chosen = tuple(queues) or tuple(queue for queue in backout_queues(definitions) if queue not in apart)
    where = setting(
        definitions,
        queue_manager=name,
        queues=chosen,
        replay_cap=replay_cap,
        quarantine=quarantine,
        dead_letter_queue=dead_letters,
    )
    return Surveyed(setting=where, depths={queue: local[queue] for queue in chosen})


def _dead_letter_queue(session: Session) -> str:
    try:
        return dead_letter_queue(session)
    except SettingsError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoutPass:
    """What to do in a pass.

    Parameters: `queues` none for all that are named as BOQNAME; `text` and `source` of the table; `unit_size` most
    messages a unit of work; `requested_by` who asked, for the ledger; `tell` gets a line for each earlier run that was
    begun and is not finished.
    """

    connection: MqConnection
    lake: Path
    table: Table
    text: str
    source: str = "<standard input>"
    queues: tuple[str, ...] = ()
    replay_cap: int = DEFAULT_CAP
    quarantine: str = DEFAULT_QUARANTINE
    unit_size: int = DEFAULT_UNIT_SIZE
    handling: Handling = AS_EVER
    requested_by: str = ""
    tell: Callable[[str], None] = _log.warning


def plan_pass(what: BackoutPass) -> tuple[Surveyed, RunFolder | None, PlanSummary | None]:
    """Survey, observe, decide, look at the destinations; nothing is moved. No run where all backout queues are empty.

    Raises:
        MqopsError: nothing was moved.
    """
    with connect(what.connection) as session:
        found = survey(session, queues=what.queues, replay_cap=what.replay_cap, quarantine=what.quarantine)
    if not found.filled:
        return found, None, None
    with connect(what.connection) as session:
        settle_leftovers(session, what.lake, found.setting.queue_manager, what.tell)
    run = RunFolder.at(what.lake, found.setting.queue_manager, new_run_key())
    backout.keep(run, found.setting)
    observe(what.connection, run, found.filled)
    plan = decide(run, what.table, text=what.text, source=what.source, workflow=WORKFLOW, handling=what.handling)
    preflight(what.connection, run)
    return found, run, plan


def carry_out(what: BackoutPass, run: RunFolder, plan: PlanSummary) -> RunSummary:
    """Act on a plan, prove what came of it, and look what became of the messages of earlier runs.

    Raises:
        MqopsError: what was committed is in the ledger or on the ledger queue; nothing is lost.
    """
    about = {"requested_by": what.requested_by}
    summary = acted_and_proved(what.connection, run, unit_size=what.unit_size, approved=plan.digest, about=about)
    look_back(what.connection, run)
    return summary
