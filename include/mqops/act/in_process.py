"""Act in one process: the lanes of the approved plan one after the other, without Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

from mqops.act.canary import Decision, decided, watch
from mqops.act.core.lanes import DEFAULT_UNIT_SIZE, Group, Row, lane_of
from mqops.act.core.mover import LaneResult, Mover
from mqops.act.core.port import Port
from mqops.act.mover_port import MoverPort
from mqops.act.rate_limiter import Throttle
from mqops.act.resume_record import note_finisher
from mqops.act.tickets import Order, about_plan, issue_once, plan_rows, reached_in_ledger, read_order, unfinished_lanes
from mqops.actions import ACTED, PUTS
from mqops.clock import utc_now
from mqops.decide.core.pacing import AS_EVER, Handling
from mqops.errors import InProgress
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import refuse_if_stopped
from mqops.ledger.core.seal import Seal
from mqops.ledger.keys import KeyRing
from mqops.model import ActSummary
from mqops.mq.connection import MqConnection, connect, open_session
from mqops.mq.session import Session

ROW_COLUMNS = (
    *("row", "queue", "msg_key", "msg_id", "correl_id", "body_length", "action", "rule_key"),
    *(
        "dest_q",
        "dest_q_mgr",
        "header",
        "alternate_user",
        "unit_group",
        "body_sha256",
        "tries",
        "order_key",
        "together",
    ),
)
"""What acting reads of a plan."""
PATIENCE = 10
"""Rounds without any progress, each with half a second's wait for a ticket, before somebody else's lanes are left."""
PortMaker: TypeAlias = Callable[[Session, Sequence[str], Seal], Port]
Visit: TypeAlias = Callable[[Sequence[int], Decision], list[LaneResult]]
"""Visits lanes once. Parameters: which lanes; what was decided about the canaries before them."""


class LaneWorker:
    """Does lanes on one connection, made when first needed and made anew when lost.

    Parameters: `port` makes the port of a session for the queues that the plan takes from; `shares` workers that may be
    at work side by side; `decision` about the canaries that went before; `reached` lane → its position in the ledger.
    """

    def __init__(
        self,
        connection: MqConnection,
        order: Order,
        unit_size: int,
        port: PortMaker = MoverPort,
        *,
        shares: int = 1,
        decision: Decision | None = None,
        reached: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self._connection = connection
        self._order = order
        self._unit_size = unit_size
        self._make = port
        self._gate = Throttle(order.folder, order.handling, shares=shares)
        self._decision = decision or Decision()
        self._reached = reached
        self._seal = KeyRing(order.folder.lake_folder)
        self._session: Session | None = None
        self._port: Port | None = None

    def __enter__(self) -> LaneWorker:
        return self

    def __exit__(self, *_error: object) -> None:
        self._drop()

    def run(self, lane: int, length: int, rows: Iterable[Row]) -> LaneResult:
        """Act on a lane (see `Mover.run`), unless another process does."""
        with self._order.folder.lane_lock(lane) as is_ours:
            return self._run(lane, length, rows) if is_ours else LaneResult(lane=lane)

    def _run(self, lane: int, length: int, rows: Iterable[Row]) -> LaneResult:
        ports = self._ports()
        mover = Mover(
            lambda: next(ports),
            self._order.plan,
            lane=lane,
            length=length,
            unit_size=self._unit_size,
            now=utc_now,
            clock=time.monotonic,
            gate=self._gate,
            stopped=self._decision.stopped,
            behind=self._decision.behind,
            reached=self._reached.get(lane, 0),
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

    def _connect(self) -> Port:
        self._session = open_session(self._connection)
        return self._make(self._session, self._order.queues, self._seal)

    def _drop(self) -> None:
        if self._session is not None:
            self._session.disconnect()
        self._session = self._port = None


def act(
    connection: MqConnection,
    run: RunFolder,
    *,
    unit_size: int = DEFAULT_UNIT_SIZE,
    approved: str = "",
    about: Mapping[str, Any] | None = None,
    port: PortMaker = MoverPort,
    needs: Sequence[str] | None = None,
) -> ActSummary:
    """Act on a run's plan, or finish what an earlier execution began.

    Parameters: `unit_size` most messages a unit of work; `approved` digest of the approved plan; `about` who asked and
    who approved, and who finishes (`finished_by`) what these began; `port` as for `LaneWorker`; `needs` the queues
    without which nothing is done, the plan's unless given.

    Raises:
        PlanChanged: the plan is not the approved one, or its rows are not those it was made with.
        Stopped: the run or its queue manager is stopped.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    started = time.monotonic()
    order = read_order(run, approved)
    with run.lock():
        refuse_if_stopped(run)
        rows = _rows(run, order)
        told = about_plan(order, **(about or {}))
        lanes = issue_once(connection, run, order, lambda: _lengths(rows, order.handling), told, needs=needs)
        note_finisher(connection, order, told.get("finished_by", ""))
        reached = reached_in_ledger(order)
        by_lane = _dealt(rows, len(lanes), order.handling)

        def visit(unfinished: Sequence[int], decision: Decision) -> list[LaneResult]:
            with LaneWorker(connection, order, unit_size, port, decision=decision, reached=reached) as worker:
                return [worker.run(lane, lanes[lane], by_lane[lane]) for lane in unfinished]

        def ahead() -> list[Row]:
            return [row for lane in canary_lanes(lanes, order.handling) for row in by_lane[lane]]

        results = phases(connection, order, lanes, visit, ahead)
        summary = summarise(order, results, time.monotonic() - started)
        write_json(run.act_json, summary.to_json())
    return summary


def phases(
    connection: MqConnection, order: Order, lanes: Sequence[int], visit: Visit, ahead: Callable[[], Sequence[Row]]
) -> list[LaneResult]:
    """The lanes of the canaries, the decision that they are for, then the others (see `mqops.act.canary`).

    Parameters: `lanes` rows of each; `ahead` gives the canaries. Raises as `rounds` does.
    """
    first = canary_lanes(lanes, order.handling)
    if not any(lanes[lane] for lane in first):
        return rounds(connection, order, lanes, visit)
    watch(connection, order, ahead)
    results = rounds(connection, order, [length * (lane in first) for lane, length in enumerate(lanes)], visit)
    decision = decided(connection, order)
    others = [length * (lane not in first) for lane, length in enumerate(lanes)]
    return results + rounds(connection, order, others, lambda unfinished, _none: visit(unfinished, decision))


def rounds(connection: MqConnection, order: Order, lanes: Sequence[int], visit: Visit) -> list[LaneResult]:
    """Visit the unfinished lanes until there are none; again those that somebody else held, for a while.

    Raises:
        Stopped: somebody stopped the run.
        InProgress: another process still holds lanes, or died and the queue manager has not backed out its work.
        MQError: as `visit`.
    """
    results: list[LaneResult] = []
    held = 0
    while unfinished := _unfinished(connection, order, lanes):
        if held == PATIENCE:
            raise InProgress(
                f"Another process is at work on {len(unfinished)} lanes of run {order.plan.run}; act again later"
            )
        visits = visit(unfinished, Decision())
        if any(result.state == "stopped" for result in visits):
            refuse_if_stopped(order.folder)  # unless somebody took it back meanwhile
        results += visits
        held = 0 if any(result.units for result in visits) else held + 1
    return results


def _unfinished(connection: MqConnection, order: Order, lanes: Sequence[int]) -> list[int]:
    with connect(connection) as session:
        return unfinished_lanes(session, order.folder, order.plan, lanes)


def _rows(run: RunFolder, order: Order) -> list[dict[str, Any]]:
    """The plan's rows with an action, each told whether another row of the plan has its identifiers.

    Raises PlanChanged where the rows are not those the plan was made with.
    """
    plan = [{name: row[name] for name in ROW_COLUMNS} for row in plan_rows(run, order)]
    same = Counter((row["msg_id"], row["correl_id"]) for row in plan)
    for row in plan:
        row["twin"] = same[row["msg_id"], row["correl_id"]] > 1
    return [row for row in plan if row["action"] in ACTED]


def canary_lanes(lanes: Sequence[int], handling: Handling) -> range:
    """The lanes of the messages that go first: the second half, where a plan has any."""
    return range(len(lanes) // 2, len(lanes)) if handling.has_canaries else range(0)


def _lengths(rows: list[dict[str, Any]], handling: Handling) -> list[int]:
    lanes = 2 if handling.has_canaries else 1
    counts = Counter(lane for lane, _ in _laid(rows, lanes, handling))
    return [counts[lane] for lane in range(lanes)]


def _dealt(rows: list[dict[str, Any]], lanes: int, handling: Handling = AS_EVER) -> list[list[Row]]:
    """The rows of each lane in order, as `mqops.act.spark.act` deals them.

    Parameters: `lanes` those of canaries included.
    """
    dealt: list[list[Row]] = [[] for _ in range(lanes)]
    for lane, row in _laid(rows, lanes, handling):
        dealt[lane].append(make_row(len(dealt[lane]), row))
    return dealt


def _laid(rows: list[dict[str, Any]], lanes: int, handling: Handling) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows in the order they are acted on, each with its lane."""
    ordered = sorted(rows, key=lambda row: (row["unit_group"].encode(), row["together"], row["row"]))
    ahead = _canaries(ordered, handling)
    number = lanes // 2 if handling.has_canaries else lanes
    for row in ordered:
        yield lane_of(row["unit_group"], number) + number * ((row["unit_group"], row["together"]) in ahead), row


def _canaries(ordered: list[dict[str, Any]], handling: Handling) -> set[tuple[str, int]]:
    """(unit_group, together) of the rows that go first: with each of them, all that go together with it."""
    ahead: set[tuple[str, int]] = set()
    seen: Counter[Group] = Counter()
    for row in _that_may_lead(ordered) if handling.has_canaries else ():
        group = (row["unit_group"], row["rule_key"] or "")
        if row["action"] in PUTS and seen[group] < handling.canaries(group[1]):
            seen[group] += 1
            ahead.add((row["unit_group"], row["together"]))
    return ahead


def _that_may_lead(ordered: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows that may be canaries (`mqops.act.canary`, rule 1): they overtake none with their order key."""
    fronts: dict[tuple[str, str], str | None] = {}  # a key's only rule so far, None where nothing may follow
    for (unit_group, _together), members in groupby(ordered, key=lambda row: (row["unit_group"], row["together"])):
        rows = list(members)
        keyed = [((unit_group, row["order_key"]), row["rule_key"] or "") for row in rows if row["order_key"]]
        single = len(rows) == 1
        if all(place not in fronts or (single and fronts[place] == rule) for place, rule in keyed):
            yield from rows
        for place, rule in keyed:
            fronts[place] = rule if single and fronts.get(place, rule) == rule else None


def make_row(position: int, row: Mapping[str, Any]) -> Row:
    """A row for the mover from the plan's columns and `twin`."""
    return Row(
        row=row["row"],
        position=position,
        queue=row["queue"],
        msg_key=row["msg_key"],
        msg_id=row["msg_id"],
        correl_id=row["correl_id"],
        body_length=row["body_length"],
        action=row["action"],
        rule_key=row["rule_key"] or "",
        dest_q=row["dest_q"] or "",
        dest_q_mgr=row["dest_q_mgr"] or "",
        header=row["header"],
        alternate_user=row["alternate_user"] or "",
        twin=row["twin"],
        tries=row["tries"],
        body_sha256=bytes(row["body_sha256"]),
        unit_group=row["unit_group"],
        order_key=row["order_key"],
        together=row["together"],
    )


def summarise(order: Order, results: Iterable[LaneResult], seconds: float) -> ActSummary:
    """The summary of an execution from the reports of its lanes."""
    reports = list(results)
    finished = {report.lane for report in reports if report.state == "finished"}
    held = {report.lane for report in reports} - finished
    return ActSummary(
        run=order.plan.run,
        plan=order.plan.digest,
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
