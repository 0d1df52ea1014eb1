"""A run in one process, whatever decides: plan it, carry it out, prove it, go on with it. Without Spark and a JVM."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.clock import utc_now
from mqops.counted import counted
from mqops.decide.core import PlanSummary
from mqops.decide.core.gate import GateSetting
from mqops.decide.gate import write_setting
from mqops.decide.preflight import preflight
from mqops.decide.recorded import PLAN
from mqops.deciders.decider import Decider, NothingToDo, R, RunRequest, Selection
from mqops.deciders.gate import gate_of
from mqops.deciders.registry import decider_named
from mqops.errors import NotLookedAt, PlanChanged, SettingsError, Stopped
from mqops.expiry.before_look import told_before_look
from mqops.expiry.first_tell import left_by
from mqops.lake.run import RunFolder, find_run
from mqops.ledger.core.marker import About
from mqops.ledger.file import LedgerFile
from mqops.ledger.noted import ISSUED
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection, Reach, connect, one_session
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import Session
from mqops.observe import anatomy
from mqops.observe.core.unseen import unseen_queues
from mqops.observe.in_process import observe
from mqops.observe.recorded import OBSERVED
from mqops.prove.records import UNDO_RECORD
from mqops.prove.recovery import record_earlier_runs
from mqops.storage import estate_here


class PlannedRun(NamedTuple):
    """The folder of a run, and its plan. Nothing was moved yet."""

    run: RunFolder
    plan: PlanSummary


def plan_run(decider: Decider[R], request: R) -> PlannedRun:
    """Select the queues, take their snapshot, decide, look at the destinations. Nothing is moved.

    First the markers that killed runs left are brought into the ledger: the failed tries that they record count.

    Raises:
        NothingToDo: the decider selected no queue.
        NotLookedAt: all of them are left (`mqops.expiry.first_tell`).
        GateStopped: a check of the gate that the estate has for the workflow stops the run.
        MqopsError: the queue manager, the lake or the request is at fault. Nothing was moved.
    """
    with one_session(request.connection) as step:
        with connect(step) as session:
            queue_manager = queue_manager_name(session)
            selection = decider.select(session, request)
            if not selection.queues:
                raise NothingToDo(selection)
            if decider.reads_queues and not selection.told_first:
                selection = _without_left(session, request, selection)
            gate = gate_of(estate_here() if selection.gated else None, queue_manager, decider, session, selection)
            record_earlier_runs(session, request.lake, queue_manager, request.warn)
        if decider.reads_queues:
            for line in told_before_look(request.lake, queue_manager, selection.queues):
                request.warn(line)
        run = RunFolder.at(request.lake, queue_manager, new_run_key(decider.key_prefix))
        try:
            plan = plan_selected(decider, replace(request, connection=step), run, selection, gate)
        except BaseException:
            run.discard()  # a plan that is not whole is of no use to anybody
            raise
    return PlannedRun(run, plan)


def _without_left(session: Session, request: RunRequest, selection: Selection) -> Selection:
    """The selection without the queues that are left because of what a look would do. Raises as `plan_run`."""
    left = left_by(request.first_tell, session, request.lake, selection.queues)
    queues = tuple(queue for queue in selection.queues if queue not in left)
    if not queues:
        raise NotLookedAt(*left.values())
    return replace(selection, queues=queues)


def plan_selected(
    decider: Decider[R], request: R, run: RunFolder, selection: Selection, gate: GateSetting | None
) -> PlanSummary:
    """Take the snapshot of what is selected, decide, look at the destinations. Nothing is moved.

    Parameters: `request` with the session of the step; `gate` as `gate_of` gives it. Raises as `plan_run`.
    """
    ledger = LedgerFile(run.lake_folder)  # a report: act opens one of its own, and reads it anew
    selection.prepare(run)
    write_setting(run, gate)
    if decider.reads_queues:
        ends, chosen = selection.some_may_end, selection.messages
        before = None if gate and gate.changes else selection.before  # what is kept has its age of then
        observe(
            request.connection, run, selection.queues, some_may_end=ends, ledger=ledger, chosen=chosen, before=before
        )
    plan = decider.decide(request, run)
    if decider.reads_queues:
        preflight(request.connection, run, file=ledger)
    return plan


def discard_if_empty(run: RunFolder, plan: PlanSummary) -> bool:
    """Remove a run whose queues had no message; whether that was so. Raises `LakeError`."""
    if plan.rows:
        return False
    observed = OBSERVED.read(run)
    unseen = unseen_queues(observed)
    for queue in plan.queue.split(","):
        if queue in unseen or observed.whole is False:
            continue
        anatomy.note_empty(run.lake_folder, plan.queue_manager, queue, observed.observed_at)
    run.discard()
    return True


def carry_out(
    decider: Decider[R], request: R, run: RunFolder, plan: PlanSummary, *, file: LedgerFile | None = None
) -> RunSummary:
    """Act on a plan, prove it, and look what became of the messages that earlier runs moved.

    Parameters: `file` the ledger, if the caller has opened it for this: nothing was read of it yet.

    Raises:
        Stopped: somebody stopped the run; what was done until then is proved.
        MqopsError: what was committed is in the ledger or on the ledger queue; nothing is lost.
    """
    people = {"requested_by": request.requested_by, "approved_by": request.approved_by}
    about = {name: who for name, who in people.items() if who or name == "requested_by"}
    file, approved = file or LedgerFile(run.lake_folder), plan.digest
    return act_and_prove(
        decider, request.connection, run, file=file, unit_size=request.unit_size, approved=approved, about=about
    )


def load_approved_plan(connection: MqConnection, lake: Path, *, key: str, digest: str) -> PlannedRun:
    """The plan of a dry run, if it has the digest that was approved. Its destinations are looked at again.

    A digest covers the plan's rows and how they are carried out, not the time when it was made. The messages are those
    of the dry run's snapshot: later ones are left, and those that are gone by now are counted (laws 2 and 3).

    Parameters: `key` of the run; `digest` of the approved plan.

    Raises:
        SettingsError: the lake has no such run of the queue manager, or it was not a dry run.
        PlanChanged: its plan has another digest.
        MqopsError: the queue manager or the lake failed. Nothing was moved.
    """
    with one_session(connection) as step:
        with connect(step) as session:
            name = queue_manager_name(session)
        found = _approved(find_run(lake, key=key, queue_manager=name, planned=True), digest)
        preflight(step, found.run)
    return found


def _approved(run: RunFolder, digest: str) -> PlannedRun:
    """A run with its plan. Raises as `load_approved_plan`."""
    plan = PLAN.read(run)
    if not (plan.requested_by and decider_named(plan.workflow).dry_run_is_approvable):
        raise SettingsError(f"Run {run.run} is not a dry run that can be carried out: make one with --dry-run")
    if plan.digest != digest:
        actions = ", ".join(f"{count:,} {action}" for action, count in plan.actions.items())
        raise PlanChanged(
            f"Run {run.run} has another plan: digest {plan.digest}, {counted(plan.rows, 'message')} ({actions}). "
            "Look at that plan and approve its digest, or make a new plan with --dry-run"
        )
    return PlannedRun(run, plan)


def carry_out_approved(
    connection: MqConnection, run: RunFolder, plan: PlanSummary, *, unit_size: int, approved_by: str
) -> RunSummary:
    """Carry out what `load_approved_plan` gave.

    Parameters: `approved_by` user@host, for the ledger.

    Raises:
        PlanChanged: the plan's files are not those that the digest was made of.
        MqopsError: as `carry_out`.
    """
    about = {"requested_by": plan.requested_by, "approved_by": approved_by}
    decider, file = decider_named(plan.workflow), LedgerFile(run.lake_folder)
    return act_and_prove(decider, connection, run, file=file, unit_size=unit_size, approved=plan.digest, about=about)


def finish_run(
    connection: MqConnection, run: RunFolder, *, unit_size: int = DEFAULT_UNIT_SIZE, who: str = ""
) -> RunSummary:
    """Go on with a run that was begun and did not end. It was approved when it began.

    Parameters: `who` finishes it (user@host), for the ledger.

    Raises:
        SettingsError: nothing of it was begun, so it may not be approved; or it is an undo.
        MqopsError: as `carry_out`.
    """
    plan = PLAN.read(run)
    if UNDO_RECORD.find(run) is not None:
        raise SettingsError(f"Run {run.run} is an undo. To finish it, enter `mqops undo` with the run that it undoes")
    if (issued := ISSUED.find(run)) is None or issued.plan != plan.digest:
        raise SettingsError(f"Run {run.run} was not begun, so there is nothing to finish: start a new run")
    decider, about, file = decider_named(plan.workflow), {"finished_by": who}, LedgerFile(run.lake_folder)
    return act_and_prove(decider, connection, run, file=file, unit_size=unit_size, approved=plan.digest, about=about)


def act_and_prove(
    decider: Decider[Any],
    connection: Reach,
    run: RunFolder,
    *,
    file: LedgerFile,
    unit_size: int,
    approved: str,
    about: About,
) -> RunSummary:
    """Act on a plan and prove it by one session and one ledger, also if somebody stopped it (`prove_and_look_back`).

    Parameters: `file` the ledger, opened for this: act verifies what stands in it, and the proof reads what was added.

    Raises:
        Stopped: somebody stopped it; RUN/summary.json has the proof of what was done until then.
        MqopsError: as `mqops.act.in_process.act` and `prove`.
    """
    with one_session(connection) as step:
        try:
            decider.act(step, run, file=file, unit_size=unit_size, approved=approved, about=about)
        except Stopped:
            prove_and_look_back(step, run, file)
            raise
        return prove_and_look_back(step, run, file)


def prove_and_look_back(connection: Reach, run: RunFolder, file: LedgerFile) -> RunSummary:
    """Prove a run, then look what became of the messages that earlier runs moved. Raises as `prove`."""
    from mqops.deciders.look_back import look_back  # noqa: PLC0415 - a dry run does without what acts and proves
    from mqops.prove.prove import prove  # noqa: PLC0415

    with one_session(connection) as step:
        summary = prove(step, run, file=file)
        look_back(step, run, file=file)
    return summary


def new_run_key(prefix: str = "cli") -> str:
    """A key for a run that a command starts: the time, and random digits, since two runs may start at one moment."""
    return f"{prefix}-{utc_now().replace(':', '').replace('.', '-')}-{secrets.token_hex(3)}"
