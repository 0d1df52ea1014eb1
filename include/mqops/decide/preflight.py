"""Look at the destinations of a run's plan before anybody approves it: the same for the command line and Airflow.

Nothing that is found fails a run: it is told, and `mqops_airflow.policy` lets no plan with doubts pass by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mqops.clock import utc_now
from mqops.decide import preflight_record as store
from mqops.decide.core import PlanSummary
from mqops.decide.core.preflight import Demand, Destination, Finding, Preflight, judge, worst_first
from mqops.decide.destination import Lookout
from mqops.errors import MQError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection, connect
from mqops.mq.session import PASS_CONTEXT_OPTIONS

MOST_DESTINATIONS = 500
"""Destinations that are looked at, those with most messages first; with &REPLYQ there may be one a message."""


def preflight(
    connection: MqConnection,
    run: RunFolder,
    *,
    taken_from: Collection[str] | None = None,
    target_options: int = PASS_CONTEXT_OPTIONS,
    remarks: bool = True,
) -> Preflight:
    """Look at the destinations of RUN/plan and write RUN/preflight.json. Nothing is put and no definition changed.

    Parameters: `taken_from` the queues that lose messages, the plan's unless they are given; `target_options` MQOO_*
    that the mover opens a destination with; `remarks` whether to tell of messages that are there twice or were put
    before, as all those of an undo were.

    Raises:
        LakeError, LedgerBroken: plan or ledger cannot be read. What the queue manager refuses is a finding.
    """
    plan = PlanSummary.from_json(read_json(run.plan_json))
    queues = plan.queue.split(",") if taken_from is None else taken_from
    puts = store.puts_of(run)
    found = Preflight(
        plan=plan.digest,
        checked_at=utc_now(),
        destinations=len(puts.demands),
        findings=_findings(connection, plan, puts.demands, queues, target_options),
        remarks=_remarks(run, puts) if remarks else (),
    )
    store.keep(run, found)
    return found


def _findings(
    connection: MqConnection,
    plan: PlanSummary,
    demands: Sequence[Demand],
    taken_from: Collection[str],
    target_options: int,
) -> tuple[Finding, ...]:
    try:
        looked, sources = _look(connection, demands[:MOST_DESTINATIONS], taken_from, target_options)
    except MQError as error:
        return (_unknown(plan.queue_manager, f"no destination could be looked at: {error}"),)
    left_off = len(demands) - len(looked)
    more = (_unknown(plan.queue_manager, f"{left_off} more destinations were not looked at"),) if left_off else ()
    return worst_first((*judge(looked, sources), *more))


def _look(
    connection: MqConnection, demands: Sequence[Demand], taken_from: Collection[str], target_options: int
) -> tuple[list[tuple[Demand, Destination]], set[str]]:
    """Each demand with its destination, and the local queues that messages are taken from."""
    if not demands:
        return [], set()
    with connect(connection) as session:
        lookout = Lookout(session, target_options)
        return [(demand, lookout.look(demand)) for demand in demands], lookout.taken_from(taken_from)


def _unknown(queue_manager: str, what: str) -> Finding:
    return Finding(severity="unknown", destination=queue_manager, what=what)


def _remarks(run: RunFolder, puts: store.Puts) -> tuple[str, ...]:
    """Messages that are there twice, and those that earlier runs put on a queue."""
    remarks = []
    shared = {msg_id for msg_id, rows in puts.ids.items() if rows > 1}
    if shared:
        rows = sum(puts.ids[msg_id] for msg_id in shared)
        remarks.append(
            f"duplicates: {rows} messages share their MsgId with another of the plan, "
            f"{store.alike(run, shared)} of them are the same to the last byte"
        )
    before = store.put_before(run.lake_folder, puts.ids)
    if before:
        rows = sum(puts.ids[msg_id] for msg_id in before)
        remarks.append(
            f"replayed before: earlier runs put messages with the MsgIds of {rows} of these on a queue; "
            "they came back, or are copies"
        )
    return tuple(remarks)
