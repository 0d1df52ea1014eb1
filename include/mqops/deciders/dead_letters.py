"""One pass over a dead-letter queue in one process: observe, decide, act, prove (`mqops dlq run`)."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.act.sources import check_source
from mqops.clock import utc_now
from mqops.decide.core import PlanSummary
from mqops.decide.core.pacing import AS_EVER, Handling
from mqops.decide.in_process import decide
from mqops.decide.preflight import preflight
from mqops.deciders.stop import acted_and_proved
from mqops.lake.run import RunFolder
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import dead_letter_queue, queue_manager_name
from mqops.observe.in_process import observe
from mqops.prove.outcomes import look_back
from mqops.prove.recovery import settle_leftovers
from mqops.rules import Table

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What to do in a pass.

    Parameters: `queue` blank for the queue manager's DEADQ; `text` and `source` of the table; `unit_size` most messages
    a unit of work; `handling` canaries, pace and the like; `requested_by` who asked, for the ledger; `tell` gets a line
    for each earlier run that was begun and is not finished.
    """

    connection: MqConnection
    lake: Path
    table: Table
    text: str
    source: str = "<standard input>"
    queue: str = ""
    unit_size: int = DEFAULT_UNIT_SIZE
    handling: Handling = AS_EVER
    requested_by: str = ""
    tell: Callable[[str], None] = _log.warning


def plan_pass(what: Pass, not_due: Mapping[str, str] = MappingProxyType({})) -> tuple[RunFolder, PlanSummary]:
    """Observe, decide and look at the destinations; nothing is moved. Returns the run's folder and its plan.

    The markers that killed runs left are brought into the ledger first: the tries that they record count.

    Parameters: `not_due` msg_key → when the next try of a message is, which is left until then.

    Raises:
        MqopsError: nothing was moved.
    """
    with connect(what.connection) as session:
        name = queue_manager_name(session)
        queue = what.queue or dead_letter_queue(session)
        check_source(session, queue)
        settle_leftovers(session, what.lake, name, what.tell)
    run = RunFolder.at(what.lake, name, new_run_key())
    observe(what.connection, run, [queue])
    plan = decide(
        run,
        what.table,
        text=what.text,
        source=what.source,
        handling=what.handling,
        requested_by=what.requested_by,
        not_due=not_due,
    )
    preflight(what.connection, run)
    return run, plan


def carry_out(what: Pass, run: RunFolder, plan: PlanSummary) -> RunSummary:
    """Act on a plan, prove what came of it, and look what became of the messages of earlier runs.

    Raises:
        MqopsError: what was committed is in the ledger or on the ledger queue; nothing is lost.
    """
    about = {"requested_by": what.requested_by}
    summary = acted_and_proved(what.connection, run, unit_size=what.unit_size, approved=plan.digest, about=about)
    look_back(what.connection, run)
    return summary


def new_run_key() -> str:
    """A key for a run started by hand: the time, and something that tells it from another of the same moment."""
    return f"cli-{utc_now().replace(':', '').replace('.', '-')}-{secrets.token_hex(3)}"
