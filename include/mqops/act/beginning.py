"""How each execution of act begins, with Spark and without: lane tokens are issued once, a resume is recorded.

A lane token is the message of kind "ticket" on the ledger queue (rule 2 of `mqops.act`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mqops.act.approved_plan import ApprovedPlan, refuse_other_queue_manager
from mqops.act.core.port import Port
from mqops.act.mover_port import MoverPort
from mqops.act.sources import check_source
from mqops.clock import utc_now
from mqops.decide.preflight import refuse_led_elsewhere
from mqops.errors import MQError, OutcomeUnknown
from mqops.ledger.before_act import refuse_broken
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import About, LaneToken, Marker, MarkerKind
from mqops.ledger.drain import check_signer, drain
from mqops.ledger.keys import KeyRing
from mqops.ledger.opened import OpenLedger
from mqops.ledger.signing import make_key
from mqops.ledger.stop_message import refuse_if_stopped_for_all
from mqops.mq.connection import OneSession, connect
from mqops.mq.session import Session, has_ended


class Begun(NamedTuple):
    """What an execution knows when it begins: the rows of each lane; what the ledger says about the plan; lane → its
    position in the ledger."""

    lengths: Sequence[int]
    about: About
    reached: Mapping[int, int]


def begin(
    step: OneSession,
    approved_plan: ApprovedPlan,
    ledger: OpenLedger,
    lengths: Callable[[], Sequence[int]],
    about: About | None,
    *,
    needs: Sequence[str] | None = None,
) -> Begun:
    """Begin, or go on with a plan that was begun; the run's lock is held. The plan's lane tokens are issued, if that
    was not done before. Nothing is moved.

    Parameters: `ledger` that was opened for this execution, of which nothing was read before `refuse_broken`; `lengths`
    counts the rows of each lane, asked only when nothing was issued; `about` who and why, besides what the plan says;
    `needs` the queues that must be there to be taken from, the plan's unless they are given.

    Raises:
        SettingsError: the connection leads to another queue manager.
        Stopped: all acting on the queue manager is stopped, for every lake.
        LedgerBroken: the ledger was changed or damaged.
        PlanChanged: a destination leads elsewhere than when the plan was made.
        MqopsError: as `record_resume`.
    """
    queues = approved_plan.queues if needs is None else needs
    with connect(step) as session:
        refuse_other_queue_manager(session, approved_plan)
        refuse_if_stopped_for_all(session, ledger.keys, approved_plan.queue_manager)
        if ledger.noted is None:
            refuse_led_elsewhere(session, approved_plan.folder, approved_plan.identity.digest)
        make_key(ledger.file)
        refuse_broken(session, ledger.file)
        check_signer(ledger)
        if ledger.issued is not None:
            _port(session, queues, ledger.keys)  # here a missing queue is one error, later each task would fail
    about_run = _about_plan(approved_plan, about or {})
    lanes = ledger.issued.lanes if ledger.issued else tuple(lengths())
    if ledger.issued is None and any(lanes):  # else there is nothing to act on: nothing for the ledger
        lanes = _issue(step, ledger, queues, lanes, about_run)
        ledger.note_issued(lanes, ledger.keys.newest().id)
    record_resume(step, ledger, str(about_run.get("finished_by") or ""))
    return Begun(lanes, about_run, ledger.sums().done)


def _about_plan(approved_plan: ApprovedPlan, more: About) -> About:
    """What the "issued" marker says about a plan: workflow, queue, rules table, rows, who asked, who approved.

    Parameters: `more` further entries, which replace those of the plan.
    """
    names = ("workflow", "queue_manager", "queue", "table_digest", "rows", "requested_by")
    return {name: getattr(approved_plan.summary, name) for name in names} | dict(more)


def _port(session: Session, queues: Sequence[str], keys: KeyRing) -> MoverPort:
    """The port, opened on queues that messages may be taken from. Raises `SettingsError`, `MQError`."""
    for queue in queues:
        try:
            check_source(session, queue)
        except MQError as error:
            if not has_ended(error, queues):
                raise
    return MoverPort(session, queues, keys)


def _issue(
    step: OneSession, ledger: OpenLedger, queues: Sequence[str], lanes: tuple[int, ...], about: About
) -> tuple[int, ...]:
    def issued() -> tuple[int, ...]:
        with connect(step) as session:
            port = _port(session, queues, ledger.keys)
            return issue_tokens(port, ledger.plan, lanes, about=about, now=utc_now)

    try:
        return issued()
    except OutcomeUnknown:
        return issued()  # it looks for the marker, as the next execution does


def issue_tokens(
    port: Port, plan: PlanIdentity, lengths: tuple[int, ...], *, about: About, now: Callable[[], str]
) -> tuple[int, ...]:
    """Put one lane token for each lane that has rows, and the marker that they were issued, in one unit of work;
    returns the rows of each lane as they were issued.

    The caller holds the run's lock and knows of no earlier issue; an issue that was committed and not noted is found
    by its marker here: no process drains the marker before RUN/issued.json is written. It may have other lanes, if
    Spark began the run and died then.

    Parameters: `lengths` rows of each lane; `about` goes into the marker (who asked, who approved, which table).

    Raises:
        OutcomeUnknown: the commit may have been made: call again.
    """
    if (issued := port.marker(plan.issued_id())) is not None:
        return issued.lanes
    for lane, length in enumerate(lengths):
        if length:
            port.put_lane_token(
                plan.lane_token_id(lane), LaneToken(run=plan.run, plan=plan.digest, lane=lane, next=0).pack()
            )
    marker = Marker(
        unit=plan.issued_id().hex(),
        run=plan.run,
        plan=plan.digest,
        kind=MarkerKind.ISSUED,
        at=now(),
        lanes=lengths,
        about=about,
    )
    port.put_marker(plan.issued_id(), plan.markers(), marker.pack())
    port.commit()
    return lengths


def record_resume(step: OneSession, ledger: OpenLedger, who: str) -> None:
    """Record who goes on with a plan, unless the ledger says so already or the plan is finished; the run's lock is
    held. It is written before anything more is moved.

    The markers of earlier work are drained first. So the lines after this one are the work that `who` started.

    Parameters: `who` user@host; blank for the persons who asked for the run and approved it, as in a retry of its task.

    Raises:
        MqopsError: call again; nothing was moved.
    """
    noted = [marker.about["finished_by"] for marker in ledger.file.markers(plan=ledger.plan, kind=MarkerKind.RESUMED)]
    if who == (noted[-1] if noted else ""):
        return
    with connect(step) as session:
        drain(session, ledger)
    if not ledger.sums().open_lanes:
        return
    ledger.note_resumed({"finished_by": who})
