"""Look at the destinations of a run's plan before it is approved: the same for the command line and Airflow.

A finding does not fail the run. It is reported, and `approval.policy` sends a plan to an approver if a problem was
found or something is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from mqops.actions import ACTED, Action
from mqops.clock import utc_now
from mqops.counted import counted
from mqops.decide import preflight_record as store
from mqops.decide.core import PlanSummary
from mqops.decide.core.preflight import Demand, Finding, Looked, Preflight, judge, worst_first
from mqops.decide.destination import DestinationInquiry
from mqops.decide.ledger_queue import ledger_findings
from mqops.decide.recorded import PLAN
from mqops.errors import MQError, PlanChanged
from mqops.lake.run import RunFolder
from mqops.lake.stop import stops_of
from mqops.ledger.file import LedgerFile
from mqops.mq.connection import Reach, connect
from mqops.mq.session import PASS_CONTEXT_OPTIONS, SET_CONTEXT_OPTIONS, Session
from mqops.printable import printable
from mqops.queue_names import MOST_NAMED
from mqops.workflow import Workflow

MOST_DESTINATIONS = 500
"""Destinations that are looked at, those with most messages first; with &REPLYQ there may be one a message."""


def preflight(
    connection: Reach,
    run: RunFolder,
    *,
    taken_from: Collection[str] | None = None,
    target_options: int = 0,
    remarks: bool = True,
    file: LedgerFile | None = None,
) -> Preflight:
    """Look at the destinations of RUN/plan and at the ledger queue, and write RUN/preflight.json.

    Nothing is put and no definition is changed.

    Parameters: `taken_from` the queues that messages are taken from, those of the plan by default; `target_options`
    MQOO_* that the mover opens a destination with, 0 for those of the plan's actions;
    `remarks` whether to report aliases, and messages that are there twice or were put before. All of an undo were put
    before; `file` the ledger, if the caller has it open.

    Raises:
        LakeError, LedgerBroken: plan or ledger cannot be read. What the queue manager refuses is a finding.
    """
    plan = PLAN.read(run)
    queues = plan.queue.split(",") if taken_from is None else taken_from
    puts = store.puts_of(run)
    options = target_options or (SET_CONTEXT_OPTIONS if Action.COPY in plan.actions else PASS_CONTEXT_OPTIONS)
    ledger = file or LedgerFile(run.lake_folder)
    seen = _look(connection, ledger, plan, puts.demands, queues, target_options=options)
    found = replace(
        seen,
        findings=worst_first((*_stopped(plan, run), *seen.findings)),
        remarks=(*_aliases(seen.looked), *_remarks(run, ledger, puts)) if remarks else (),
    )
    store.PREFLIGHT.write(run, found)
    return found


def _look(
    connection: Reach,
    file: LedgerFile,
    plan: PlanSummary,
    demands: Sequence[Demand],
    taken_from: Collection[str],
    *,
    target_options: int,
) -> Preflight:
    found = Preflight(plan=plan.digest, checked_at=utc_now(), destinations=len(demands))
    if not plan.actions.keys() & ACTED:
        return found
    try:
        with connect(connection) as session:
            ledger = tuple(ledger_findings(session, file))
            backed_out_of = taken_from if plan.workflow == Workflow.POISON_GUARD else ()
            inquiry = DestinationInquiry(session, target_options, backed_out_of=backed_out_of)
            looked = tuple(Looked(demand=one, there=inquiry.look(one)) for one in demands[:MOST_DESTINATIONS])
            sources = inquiry.taken_from(taken_from) if demands else set()
    except MQError as error:
        return replace(found, findings=(_unknown(plan.queue_manager, f"no destination could be looked at: {error}"),))
    left_off = len(demands) - len(looked)
    more = (
        (
            _unknown(
                plan.queue_manager,
                f"{counted(left_off, 'more destination was', 'more destinations were')} not looked at",
            ),
        )
        if left_off
        else ()
    )
    findings = worst_first((*ledger, *judge(looked, sources), *more))
    return replace(found, findings=findings, looked=looked, taken_from=tuple(sorted(sources)))


def refuse_led_elsewhere(session: Session, run: RunFolder, plan: str) -> None:
    """Refuse a plan of which a destination leads elsewhere by now: the definition of an alias or a remote queue was
    changed since. Who approves a plan approves names, and has seen where they lead (RUN/preflight.json). What was not
    known when the plan was made, and what is not known now, is not compared: the mover finds out.

    Parameters: `plan` its digest.

    Raises:
        PlanChanged: the text names the destination, where it led and where it leads.
        MQError: the connection is lost.
    """
    found = store.PREFLIGHT.find(run)
    if found is None or found.plan != plan:
        return
    inquiry = DestinationInquiry(session)
    for one in found.looked:
        before = one.there.leads_to
        now = inquiry.followed(one.demand).leads_to if before else ""
        if before and now and before != now:
            raise PlanChanged(
                f"{printable(one.demand.name)} led to {printable(before)} when the plan was made, and leads to "
                f"{printable(now)} now: its definition was changed. Nothing was moved. Look at it, and make a new run, "
                "or change the definition back"
            )


NOT_DONE = "nothing of an approved plan is done before it is resumed"
"""What is wrong with a plan while a stop is in force."""


def _stopped(plan: PlanSummary, run: RunFolder) -> list[Finding]:
    """The kill switch, where it is on: whoever approves now approves what will not be done."""
    return [
        Finding(
            severity="problem",
            destination=plan.queue_manager,
            what=f"{stop}: {NOT_DONE}",
            remedy="Resume first: in Airflow run mq_stop with Do = resume, else `mqops resume`",
        )
        for stop in (stops_of(run) if plan.actions.keys() & ACTED else ())
    ]


def _unknown(queue_manager: str, what: str) -> Finding:
    return Finding(severity="unknown", destination=queue_manager, what=what)


def _aliases(looked: Iterable[Looked]) -> tuple[str, ...]:
    """Destinations that are aliases of local queues, with the queues; the first of many."""
    found = [
        f"{one.demand.name} is an alias of {one.there.queue.name}, where its messages go"
        for one in looked
        if one.there.queue and not one.there.remote and one.there.queue.name != one.demand.queue
    ]
    more = len(found) - MOST_NAMED
    return (*found[:MOST_NAMED], *([f"{counted(more, 'more alias', 'more aliases')}"] if more > 0 else []))


def _remarks(run: RunFolder, ledger: LedgerFile, puts: store.Puts) -> tuple[str, ...]:
    """Messages that are there twice, and those that earlier runs put on a queue."""
    remarks = []
    shared = {msg_id for msg_id, rows in puts.ids.items() if rows > 1}
    if shared:
        rows = sum(puts.ids[msg_id] for msg_id in shared)
        remarks.append(
            f"duplicates: {counted(rows, 'message')} with the MsgId of another message of the plan; "
            f"equal in every byte: {store.alike(run, shared)}"
        )
    before = store.put_before(ledger, puts.ids)
    if before:
        rows = sum(puts.ids[msg_id] for msg_id in before)
        remarks.append(
            f"replayed before: {counted(rows, 'message')} with a MsgId that earlier runs put on a queue: "
            "they came back, are copies, or are still where a run put them"
        )
    return tuple(remarks)
