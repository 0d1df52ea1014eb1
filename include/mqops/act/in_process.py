"""Act in one process: the lanes of the approved plan one after the other, without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from mqops.act.approved_plan import ApprovedPlan, acted_rows, read_approved_plan
from mqops.act.beginning import begin
from mqops.act.canary import CanaryDecision, decided, watch
from mqops.act.core.deal import by_lanes, canary_lanes, with_canaries
from mqops.act.core.lanes import DEFAULT_UNIT_SIZE, Row
from mqops.act.core.mover import LaneResult, Mover
from mqops.act.core.port import Port
from mqops.act.core.progress import UnitDone
from mqops.act.lane_tokens import unfinished_lanes
from mqops.act.mover_port import MoverPort
from mqops.act.progress import Progress
from mqops.act.rate_limiter import RunRateLimiter
from mqops.actions import moved_word
from mqops.clock import utc_now
from mqops.counted import counted
from mqops.errors import InProgress, MQError
from mqops.lake.run import RunFolder
from mqops.lake.stop import refuse_if_stopped
from mqops.ledger.core.marker import About
from mqops.ledger.core.seal import Seal
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.noted import ACTED
from mqops.ledger.opened import OpenLedger
from mqops.ledger.stop_message import StopWatch, refuse_if_stopped_for_all
from mqops.model import ActSummary
from mqops.mq.connection import OneSession, Reach, connect, one_session
from mqops.mq.session import Session

PATIENCE = 10
"""Rounds without progress, each with half a second's wait for a lane token, before `rounds` raises `InProgress`."""
PortMaker: TypeAlias = Callable[[Session, Sequence[str], Seal], Port]
Visit: TypeAlias = Callable[[Sequence[int], CanaryDecision], list[LaneResult]]
"""Visits lanes once. Parameters: which lanes; what was decided about the canaries before them."""


class LaneWorker:
    """Does lanes on one session. It connects when it is first needed, and again after the connection is lost.

    Parameters: `port` makes the port of a session for the queues that the plan takes from; `shares` workers that may be
    at work side by side; `decision` about the canaries that went before; `reached` lane → its position in the ledger;
    `report` gets each unit of work once it is committed; `keys` of the ledger.
    """

    def __init__(
        self,
        connection: Reach,
        approved_plan: ApprovedPlan,
        unit_size: int,
        port: PortMaker = MoverPort,
        *,
        shares: int = 1,
        decision: CanaryDecision | None = None,
        reached: Mapping[int, int] = MappingProxyType({}),
        report: Callable[[UnitDone], None] | None = None,
        keys: KeyRing,
    ) -> None:
        self._step = connection if isinstance(connection, OneSession) else OneSession(connection)
        self._own = self._step is not connection
        self._approved_plan = approved_plan
        self._unit_size = unit_size
        self._make = port
        self._limiter = RunRateLimiter(
            approved_plan.folder, approved_plan.pacing, shares=shares, stopped_for_all=self._stopped_for_all
        )
        self._watch = StopWatch()
        self._decision = decision or CanaryDecision()
        self._reached = reached
        self._report = report
        self._seal = keys
        self._session: Session | None = None
        self._port: Port | None = None

    def __enter__(self) -> LaneWorker:
        return self

    def __exit__(self, *error: object) -> None:
        self._drop()
        if self._own:
            self._step.__exit__(*error)

    def run(self, lane: int, length: int, rows: Iterable[Row]) -> LaneResult:
        """Act on a lane (see `Mover.run`), unless another process does."""
        with self._approved_plan.folder.lane_lock(lane) as is_ours:
            return self._run(lane, length, rows) if is_ours else LaneResult(lane=lane)

    def _run(self, lane: int, length: int, rows: Iterable[Row]) -> LaneResult:
        ports = self._ports()
        mover = Mover(
            lambda: next(ports),
            self._approved_plan.identity,
            lane=lane,
            length=length,
            unit_size=self._unit_size,
            now=utc_now,
            clock=time.monotonic,
            limiter=self._limiter,
            left_groups=self._decision.left_groups,
            behind=self._decision.behind,
            reached=self._reached.get(lane, 0),
            report=self._report,
        )
        return mover.run(rows)

    def _ports(self) -> Iterator[Port]:
        if self._port is None:
            self._port = self._connect()
        yield self._port
        while True:
            self._drop()
            self._port = self._connect()
            yield self._port

    def _stopped_for_all(self) -> bool:
        try:
            return self._session is not None and self._watch.stopped(self._session, self._seal)
        except MQError:
            return False  # the unit of work that follows meets the same error, and deals with it

    def _connect(self) -> Port:
        self._session = self._step.take()
        return self._make(self._session, self._approved_plan.queues, self._seal)

    def _drop(self) -> None:
        if self._session is not None:
            self._step.give_back(self._session)
        self._session = self._port = None


def act(
    connection: Reach,
    run: RunFolder,
    *,
    file: LedgerFile,
    unit_size: int = DEFAULT_UNIT_SIZE,
    approved: str = "",
    about: About | None = None,
    port: PortMaker = MoverPort,
    needs: Sequence[str] | None = None,
) -> ActSummary:
    """Act on a run's plan, or finish what an earlier execution began.

    Parameters: `file` the ledger, opened for this execution: nothing was read of it yet (`refuse_broken`); `unit_size`
    the largest number of messages in a unit of work; `approved` the digest of the approved plan, "" if no approval was
    needed; `about` who asked, who approved, and who goes on with a run that was interrupted (`finished_by`), for the
    ledger; `port` as for `LaneWorker`; `needs` the queues that must exist before anything is moved, by default the
    plan's.

    Raises:
        PlanChanged: the plan is not the approved one, or its rows were changed.
        Stopped: the run or its queue manager is stopped (`mqops stop`).
        InProgress: another process acts on the run.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    started = time.monotonic()
    approved_plan = read_approved_plan(run, approved)
    ledger = OpenLedger(file, approved_plan.identity, run)
    with run.lock(), one_session(connection) as step:
        refuse_if_stopped(run)
        rows = acted_rows(approved_plan)
        by_lane = by_lanes(rows, with_canaries(1, approved_plan.pacing), approved_plan.pacing)
        lanes, about_run, reached = begin(
            step, approved_plan, ledger, lambda: [len(lane) for lane in by_lane], about, needs=needs
        )
        if len(lanes) != len(by_lane):  # an execution by Spark has begun
            by_lane = by_lanes(rows, len(lanes), approved_plan.pacing)

        def visit(unfinished: Sequence[int], decision: CanaryDecision) -> list[LaneResult]:
            with LaneWorker(
                step,
                approved_plan,
                unit_size,
                port,
                decision=decision,
                reached=reached,
                report=progress.add,
                keys=ledger.keys,
            ) as worker:
                return [worker.run(lane, lanes[lane], by_lane[lane]) for lane in unfinished]

        def ahead() -> list[Row]:
            return [row for lane in canary_lanes(lanes, approved_plan.pacing) for row in by_lane[lane]]

        with Progress(run, lanes, about_run, reached, put=moved_word(approved_plan.summary.actions)) as progress:
            results = phases(step, approved_plan, ledger, visit, ahead, progress=progress)
            summary = summarise(approved_plan, results, time.monotonic() - started)
            ACTED.write(run, summary)
    return summary


def phases(
    step: OneSession,
    approved_plan: ApprovedPlan,
    ledger: OpenLedger,
    visit: Visit,
    ahead: Callable[[], Sequence[Row]],
    *,
    progress: Progress,
) -> list[LaneResult]:
    """The lanes of the canaries, the decision that they are for, then the others (see `mqops.act.canary`).

    Parameters: `ahead` gives the canaries; `progress` has the rows of each lane. Raises as `rounds` does.
    """
    lanes = progress.lengths
    first = canary_lanes(lanes, approved_plan.pacing)
    if not any(lanes[lane] for lane in first):
        return rounds(step, approved_plan, ledger, lanes, visit, progress=progress)
    record = watch(step, approved_plan, ahead)
    canaries = [length * (lane in first) for lane, length in enumerate(lanes)]
    results = rounds(step, approved_plan, ledger, canaries, visit, progress=progress)
    decision = decided(step, approved_plan, ledger, record)
    others = [length * (lane not in first) for lane, length in enumerate(lanes)]
    return results + rounds(
        step, approved_plan, ledger, others, lambda unfinished, _none: visit(unfinished, decision), progress=progress
    )


def rounds(
    step: OneSession,
    approved_plan: ApprovedPlan,
    ledger: OpenLedger,
    lanes: Sequence[int],
    visit: Visit,
    *,
    progress: Progress,
) -> list[LaneResult]:
    """Visit the unfinished lanes until there are none; again those that somebody else held, for a while.

    Raises:
        Stopped: somebody stopped the run.
        InProgress: another process still holds lanes, or died and the queue manager has not backed out its work.
        MQError: as `visit`.
    """
    results: list[LaneResult] = []
    held = 0
    while unfinished := _unfinished(step, ledger, lanes, progress):
        if held == PATIENCE:
            raise InProgress(
                f"Another process is at work on {counted(len(unfinished), 'lane')} "
                f"of run {approved_plan.identity.run}. Wait for it to end, then act again"
            )
        visits = visit(unfinished, CanaryDecision())
        if any(result.state == "stopped" for result in visits):
            refuse_if_stopped(approved_plan.folder)  # unless somebody took it back meanwhile
            with connect(step) as session:
                refuse_if_stopped_for_all(session, ledger.keys, approved_plan.queue_manager)
        results += visits
        held = 0 if any(result.units for result in visits) else held + 1
    return results


def _unfinished(step: OneSession, ledger: OpenLedger, lanes: Sequence[int], progress: Progress) -> list[int]:
    """Asked anew in each round: other processes work on lanes, too."""
    with connect(step) as session:
        unfinished = unfinished_lanes(session, ledger, lanes)
    progress.finished([lane for lane, rows in enumerate(lanes) if rows and lane not in unfinished])
    return unfinished


def summarise(approved_plan: ApprovedPlan, results: Iterable[LaneResult], seconds: float) -> ActSummary:
    """The summary of an execution from the reports of its lanes."""
    reports = list(results)
    finished = {report.lane for report in reports if report.state == "finished"}
    held = {report.lane for report in reports} - finished
    return ActSummary(
        run=approved_plan.identity.run,
        plan=approved_plan.identity.digest,
        moved=sum(report.moved for report in reports),
        discarded=sum(report.discarded for report in reports),
        failed=sum(report.failed for report in reports),
        absent=sum(report.absent for report in reports),
        left=sum(report.left for report in reports),
        units=sum(report.units for report in reports),
        backouts=sum(report.backouts for report in reports),
        lanes_finished=len(finished),
        lanes_held=len(held),
        seconds=round(seconds, 3),
    )
