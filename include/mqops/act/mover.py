"""The mover: works through a lane, one unit of work after the other (the protocol of `mqops.act`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from mqops.act.identity import PlanIdentity
from mqops.act.lanes import DISCARDS, EXPIRE, Row, Target
from mqops.act.part import Part
from mqops.act.port import Port, Taken
from mqops.act.scope import Scope, scope_of
from mqops.errors import LOST_CONNECTION, MQError, PlanChanged, mq_error
from mqops.ledger.marker import BODY_DIGITS, Kind, Marker, MarkerRow, Ticket
from mqwire.constants import MQRC_SYNCPOINT_LIMIT_REACHED

TICKET_WAIT = 500
"""Milliseconds to wait for a ticket that somebody else holds."""

MOST_RECONNECTS = 3
"""How often in a row a lost connection is made anew."""


@dataclass(slots=True, kw_only=True)
class LaneResult:
    """What one visit to a lane did. It is a report only: the markers are the truth.

    Attributes: `state` "finished" (this visit or an earlier one reached the end), "held" (the ticket was not to be had:
    another process has it, or the lane was finished before); counts of messages, units of work and back-outs.
    """

    lane: int
    state: Literal["finished", "held"] = "held"
    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    units: int = 0
    backouts: int = 0


class _TryAgain(Exception):
    """The try did not come off and was backed out; `part` is the next one."""

    def __init__(self, part: Part) -> None:
        super().__init__()
        self.part = part


class Mover:
    """Moves the messages of one lane.

    Parameters: `connect` gives the port, and a new one when the connection is lost; `plan` whose rows; `lane` number
    and its `length` in rows; `unit_size` most messages a unit of work; `now` gives the UTC time as ISO 8601.
    """

    def __init__(
        self,
        connect: Callable[[], Port],
        plan: PlanIdentity,
        *,
        lane: int,
        length: int,
        unit_size: int,
        now: Callable[[], str],
    ) -> None:
        self._connect = connect
        self._port = connect()
        self._plan = plan
        self._lane = lane
        self._length = length
        self._unit_size = unit_size
        self._now = now
        self._dead: dict[Target, int] = {}
        self._result = LaneResult(lane=lane)

    def run(self, rows: Iterable[Row]) -> LaneResult:
        """Act on the rows of the lane, given in the order of their positions, from where its ticket says.

        Raises:
            MQError: the connection, the queue that is taken from, or the ledger queue failed; the unit of work that was
                under way is backed out, and everything before it is done.
        """
        coming = iter(rows)
        window: deque[Row] = deque()
        pending: Part | None = None
        lost = 0
        while self._result.state != "finished":
            try:
                position = self._take_ticket()
                if position is None:
                    break
                _advance(window, coming, position, self._unit_size)
                if pending is None or pending.first != position:
                    pending = Part(rows=tuple(islice(window, self._unit_size)))
                pending = self._try(pending)
                lost = 0
            except MQError as error:
                pending = None
                lost += 1
                self._after_error(error, lost)
        return self._result

    def _after_error(self, error: MQError, lost: int) -> None:
        """Back out, and make the next try possible; raises the error where there is none.

        After a commit of unknown outcome the next try looks whether the ticket is there, and where it says to go on.
        """
        if error.reason in LOST_CONNECTION and lost <= MOST_RECONNECTS:
            self._port = self._connect()
            return
        self._give_up()
        if error.reason != MQRC_SYNCPOINT_LIMIT_REACHED or self._unit_size == 1:
            raise error
        self._unit_size //= 2

    def _take_ticket(self) -> int | None:
        raw = self._port.take_ticket(self._plan.ticket(self._lane), wait_ms=TICKET_WAIT)
        return None if raw is None else Ticket.unpack(raw).next

    def _give_up(self) -> None:
        try:
            self._port.backout()
        except MQError:
            return  # the connection is gone: the queue manager backs out by itself

    def _try(self, part: Part) -> Part | None:
        """One unit of work: commits it and gives None, or backs it out and gives the part to try next."""
        try:
            self._do(part)
        except _TryAgain as again:
            self._port.backout()
            self._result.backouts += 1
            return again.part
        self._dead |= part.closed
        if part.next == self._length:
            self._result.state = "finished"
        return None

    def _do(self, part: Part) -> None:
        failed = dict(part.failed)
        done: list[Row] = []
        absent: list[Row] = []
        for row in part.rows:
            if row.position in failed:
                continue
            if reason := self._closed_to(row):
                failed[row.position] = reason
            elif (taken := self._take(part, row)) is None:
                absent.append(row)
            else:
                self._dispose(part, row, taken)
                done.append(row)
        self._record(part, done, failed, absent)
        self._port.commit()
        self._count(done, failed, absent)

    def _closed_to(self, row: Row) -> int:
        """Reason code why the row's destination takes nothing at all, 0 where it does. Touches no message."""
        if row.action in DISCARDS:
            return 0
        if row.target in self._dead:
            return self._dead[row.target]
        reason = self._port.open_target(row.target)
        if reason:
            self._raise_unless_target_is_to_blame(row, reason)
            self._dead[row.target] = reason
        return reason

    def _take(self, part: Part, row: Row) -> Taken | None:
        careful = row.twin or row.position in part.careful
        taken = self._port.take(row, careful=careful)
        if taken is not None and taken.key != row.msg_key:
            raise _TryAgain(part.after_other_message(row))
        return taken

    def _dispose(self, part: Part, row: Row, taken: Taken) -> None:
        if row.action == EXPIRE:
            reason = self._port.report_expired(row, taken)
        else:
            reason = 0 if row.action in DISCARDS else self._port.put(row, taken)
        if not reason:
            return
        scope = self._raise_unless_target_is_to_blame(row, reason)
        if scope is Scope.STALE_HANDLE:
            self._port.forget_target(row.target)
        raise _TryAgain(part.after_failure(row, reason, scope))

    def _raise_unless_target_is_to_blame(self, row: Row, reason: int) -> Scope:
        scope = scope_of(reason)
        if scope in {Scope.EVERYTHING, Scope.TOO_MUCH}:
            raise mq_error(2, reason, verb="MQPUT", object_name=row.dest_q)
        return scope

    def _record(self, part: Part, done: list[Row], failed: dict[int, int], absent: list[Row]) -> None:
        last = part.next == self._length
        self._mark(part, "acted", [_marker_row(row, None) for row in done], [row.row for row in absent], last)
        offenders = [_marker_row(row, failed[row.position]) for row in part.rows if row.position in failed]
        if offenders:
            self._mark(part, "failed", offenders, [], last)
        if not last:
            ticket = Ticket(run=self._plan.run, plan=self._plan.digest, lane=self._lane, next=part.next)
            self._port.put_ticket(self._plan.ticket(self._lane), ticket.pack())

    def _mark(self, part: Part, kind: Kind, rows: list[MarkerRow], absent: list[int], last: bool) -> None:
        at_end = last and kind == "acted"
        msg_id = self._plan.last_id(self._lane) if at_end else self._plan.marker_id(self._lane, part.first, kind)
        marker = Marker(
            unit=msg_id.hex(),
            run=self._plan.run,
            plan=self._plan.digest,
            kind=kind,
            at=self._now(),
            lane=self._lane,
            first=part.first,
            next=part.next,
            last=last,
            rows=tuple(rows),
            absent=tuple(absent),
        )
        self._port.put_marker(msg_id, self._plan.markers(), marker.pack())

    def _count(self, done: list[Row], failed: dict[int, int], absent: list[Row]) -> None:
        discarded = sum(row.action in DISCARDS for row in done)
        self._result.discarded += discarded
        self._result.moved += len(done) - discarded
        self._result.failed += len(failed)
        self._result.absent += len(absent)
        self._result.units += 1


def _marker_row(row: Row, reason: int | None) -> MarkerRow:
    body = row.body_sha256.hex()[:BODY_DIGITS]
    return (row.row, row.msg_key, row.msg_id.hex(), row.action, row.rule_key, row.dest_q, row.dest_q_mgr, reason, body)


def _advance(window: deque[Row], coming: Iterator[Row], position: int, size: int) -> None:
    """Let the window begin at a position and hold `size` rows, or what is left of the lane."""
    while window and window[0].position < position:
        window.popleft()
    while len(window) < size:
        row = next(coming, None)
        if row is None:
            break
        if row.position >= position:
            window.append(row)
    if not window or window[0].position != position:
        raise PlanChanged(f"The plan has no row at position {position} of its lane, where the ticket says to go on")
