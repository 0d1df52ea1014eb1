"""The mover: works through a lane, one unit of work after the other (the protocol of `mqops.act`)."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from mqops.act.core.blocked import Closed
from mqops.act.core.lanes import Group, Row
from mqops.act.core.port import CannotTake, Port, Taken
from mqops.act.core.rate_limiter import Gate, Open
from mqops.act.core.scope import Scope, scope_of
from mqops.act.core.unit_attempt import GROUP_GONE, GROUP_TOO_LARGE, Part
from mqops.actions import DISCARDS, EXPIRE, PUTS
from mqops.errors import LOST_CONNECTION, MQError, PlanChanged, mq_error
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import BODY_DIGITS, Kind, Marker, MarkerRow, Ticket
from mqwire.constants import MQRC_SYNCPOINT_LIMIT_REACHED

TICKET_WAIT = 500
"""Milliseconds to wait for a ticket that somebody else holds."""

MOST_RECONNECTS = 3
"""How often in a row a lost connection is made anew."""

MOST_KEYS = 1000
"""Order keys that stand in a ticket, which is put with each unit of work; behind one more its destination does."""

BEHIND = "behind a message that failed"


@dataclass(slots=True, kw_only=True)
class LaneResult:
    """What one visit to a lane did. It is a report only: the markers are the truth.

    Attributes: `state` "finished" (this visit or an earlier one reached the end), "held" (the ticket was not to be had:
    another process has it, or the lane was finished before), "stopped" (by the kill switch); counts of messages, units
    of work and back-outs.
    """

    lane: int
    state: Literal["finished", "held", "stopped"] = "held"
    moved: int = 0
    discarded: int = 0
    failed: int = 0
    absent: int = 0
    left: int = 0
    units: int = 0
    backouts: int = 0


class _TryAgain(Exception):
    """The try did not come off and was backed out; `part` is the next one."""

    def __init__(self, part: Part) -> None:
        super().__init__()
        self.part = part


@dataclass(slots=True)
class _Done:
    """What became of the rows of a unit of work; `failed` and `left` by position; `behind` what waits in vain."""

    behind: set[str]
    failed: dict[int, int]
    left: dict[int, str]
    acted: list[Row] = field(default_factory=list)
    absent: list[Row] = field(default_factory=list)


class Mover:
    """Moves the messages of one lane.

    Parameters: `connect` gives the port, and a new one when the connection is lost; `plan` whose rows; `lane` number
    and its `length` in rows; `unit_size` most messages a unit of work; `now` gives the UTC time as ISO 8601; `clock`
    seconds of a clock that only goes on; `gate` is asked before each unit of work; `stopped` groups whose rows are
    left, and why; `behind` what waits in vain (`place_in_order`) besides what the ticket says; `reached` the position
    that the lane has in the ledger.
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
        clock: Callable[[], float],
        gate: Gate | None = None,
        stopped: Mapping[Group, str] | None = None,
        behind: frozenset[str] = frozenset(),
        reached: int = 0,
    ) -> None:
        self._connect = connect
        self._port = connect()
        self._plan = plan
        self._lane = lane
        self._length = length
        self._unit_size = unit_size
        self._now = now
        self._gate: Gate = gate or Open()
        self._stopped = stopped or {}
        self._closed = Closed(clock)
        self._from_outset = behind
        self._behind = behind
        self._reached = reached
        self._at: int | None = None
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
            if self._gate.stopped():
                self._result.state = "stopped"
                break
            try:
                position = self._take_ticket()
                if position is None:
                    break
                _advance(window, coming, position, self._unit_size)
                if pending is None or pending.first != position:
                    pending = self._admitted(window)
                if pending is None:
                    self._port.backout()  # nothing waits with a unit of work open
                    self._gate.pause()
                else:
                    pending = self._try(pending)
                lost = 0
            except MQError as error:
                lost += 1
                pending = self._after_error(error, lost, pending)
        return self._result

    def _after_error(self, error: MQError, lost: int, tried: Part | None) -> Part | None:
        """Back out, and give the next try (None: whatever the ticket says); raises the error where there is none.

        After a commit of unknown outcome the next try looks whether the ticket is there, and where it says to go on.
        """
        if error.reason in LOST_CONNECTION and lost <= MOST_RECONNECTS:
            self._at = None
            self._port = self._connect()
            return None
        self._give_up()
        if error.reason != MQRC_SYNCPOINT_LIMIT_REACHED:
            raise error
        if tried is not None and len(tried.rows) > 1 and tried.rows[0].bundle == tried.rows[-1].bundle:
            return tried.without(tried.rows[0], GROUP_TOO_LARGE)
        if self._unit_size == 1:
            raise error
        self._unit_size //= 2
        return None

    def _take_ticket(self) -> int | None:
        correl_id = self._plan.ticket(self._lane)
        ticket = self._port.take_ticket(correl_id, wait_ms=TICKET_WAIT, fits=self._is_current)
        if ticket is None:
            return None
        self._behind = self._from_outset.union(ticket.behind)
        self._at = ticket.next
        return ticket.next

    def _is_current(self, ticket: Ticket) -> bool:
        """Whether a ticket stands where the lane stands; if not, it is a copy of an earlier one (rule 11)."""
        if (ticket.run, ticket.plan, ticket.lane) != (self._plan.run, self._plan.digest, self._lane):
            return False
        if self._at is not None:
            return ticket.next == self._at
        if not self._reached <= ticket.next < self._length:
            return False
        used = (self._plan.marker_id(self._lane, ticket.next, "acted"), self._plan.last_id(self._lane))
        return not any(map(self._port.has_marker, used))

    def _give_up(self) -> None:
        try:
            self._port.backout()
        except MQError:
            return  # the connection is gone: the queue manager backs out by itself

    def _admitted(self, window: Sequence[Row]) -> Part | None:
        """The next unit of work, no larger than the gate lets through; None where it must wait."""
        rows = _cut(window, self._unit_size)
        live = [row for row in rows if row.group not in self._stopped and not self._closed.for_good(row.target)]
        if live:
            admitted = self._gate.admit(live, self._port.depth)
            if not admitted:
                return None
            if admitted < len(live):
                rows = _cut(rows, max(1, live[admitted].position - rows[0].position))
        return Part(rows=tuple(rows))

    def _try(self, part: Part) -> Part | None:
        """One unit of work: commits it and gives None, or backs it out and gives the part to try next."""
        try:
            self._do(part)
        except _TryAgain as again:
            self._port.backout()
            self._result.backouts += 1
            return again.part
        if part.next == self._length:
            self._result.state = "finished"
        return None

    def _do(self, part: Part) -> None:
        done = _Done(set(self._behind), dict(part.failed), dict(part.left))
        known = bool(part.failed or part.left)
        for bundle in part.bundles():
            if not (known and any(row.position in done.failed or row.position in done.left for row in bundle)):
                self._do_bundle(part, bundle, done)
            for row in bundle:
                if row.order_key and (row.position in done.failed or row.position in done.left):
                    self._hold_back(row, done)
        self._record(part, done)
        self._port.commit()
        self._at = part.next
        self._behind = frozenset(done.behind)
        self._closed.close(part.closed)
        self._gate.done(done.acted + self._tried_in_vain(part, done))
        self._count(done)

    def _hold_back(self, row: Row, done: _Done) -> None:
        """What comes later with the row's key waits behind it, or all that has a key at its destination."""
        mine, whole = place_in_order(row.unit_group, row.order_key), place_in_order(row.unit_group)
        if done.behind.isdisjoint((mine, whole)):
            shut = self._closed.for_good(row.target) or self._gate.refusal(row) or len(done.behind) >= MOST_KEYS
            done.behind.add(whole if shut else mine)

    def _tried_in_vain(self, part: Part, done: _Done) -> list[Row]:
        """The rows that failed, but for those that nothing was to be tried for any more."""
        failed = [row for row in part.rows if row.position in done.failed] if done.failed else []
        return [row for row in failed if not self._closed.for_good(row.target)]

    def _do_bundle(self, part: Part, bundle: Sequence[Row], done: _Done) -> None:
        if why := next(filter(None, (self._why_left(row, done.behind) for row in bundle)), ""):
            done.left.update((row.position, why) for row in bundle)
        elif reason := self._closed_to(bundle[0]):
            done.failed.update((row.position, reason) for row in bundle)
        else:
            for row in bundle:
                if row is not bundle[0] and (reason := self._closed_to(row)):
                    raise _TryAgain(part.after_failure(row, reason, Scope.MESSAGE))
                taken = self._take(part, row)
                if taken is not None:
                    self._dispose(part, row, taken)
                    done.acted.append(row)
                elif len(bundle) > 1:
                    raise _TryAgain(part.without(row, GROUP_GONE))
                else:
                    done.absent.append(row)

    def _why_left(self, row: Row, behind: set[str]) -> str:
        """Why a row is not even tried, "" where it is."""
        if self._stopped and row.group in self._stopped:
            return self._stopped[row.group]
        if self._closed.for_good(row.target):
            return ""  # it has failed, with its reason
        if refused := self._gate.refusal(row):
            return refused
        if row.action in PUTS and (refused := self._port.refuses(row.target)):
            return refused
        if not (behind and row.order_key):
            return ""
        places = (place_in_order(row.unit_group), place_in_order(row.unit_group, row.order_key))
        return "" if behind.isdisjoint(places) else BEHIND

    def _closed_to(self, row: Row) -> int:
        """Reason code why nothing is tried for the row now, 0 where it is. Touches no message."""
        if reason := self._closed.reason(row.queue):
            return reason
        if row.action in DISCARDS:
            return 0
        if reason := self._closed.reason(row.target):
            return reason
        reason = self._port.open_target(row.target)
        if reason:
            self._raise_unless_target_is_to_blame(row, reason)
            self._closed.close({row.target: reason})
        return reason

    def _take(self, part: Part, row: Row) -> Taken | None:
        careful = row.twin or row.position in part.careful
        try:
            taken = self._port.take(row, careful=careful)
        except CannotTake as error:
            raise _TryAgain(part.after_failure(row, error.reason, Scope.SOURCE)) from error
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

    def _record(self, part: Part, done: _Done) -> None:
        last = part.next == self._length
        numbers = {row.position: row.row for row in part.rows}
        left: dict[str, list[int]] = {}
        for position, why in sorted(done.left.items()):
            left.setdefault(why, []).append(numbers[position])
        absent = [row.row for row in done.absent]
        acted = [_marker_row(row, None) for row in done.acted]
        self._mark(part, "acted", acted, last, absent=absent, left=left)
        failed = [_marker_row(row, done.failed[row.position]) for row in part.rows if row.position in done.failed]
        if failed:
            self._mark(part, "failed", failed, last)
        if not last:
            behind = tuple(sorted(done.behind))
            ticket = Ticket(run=self._plan.run, plan=self._plan.digest, lane=self._lane, next=part.next, behind=behind)
            self._port.put_ticket(self._plan.ticket(self._lane), ticket.pack())

    def _mark(
        self,
        part: Part,
        kind: Kind,
        rows: list[MarkerRow],
        last: bool,
        *,
        absent: Iterable[int] = (),
        left: Mapping[str, list[int]] | None = None,
    ) -> None:
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
            left={why: tuple(numbers) for why, numbers in (left or {}).items()},
        )
        self._port.put_marker(msg_id, self._plan.markers(), marker.pack())

    def _count(self, done: _Done) -> None:
        discarded = sum(row.action in DISCARDS for row in done.acted)
        self._result.discarded += discarded
        self._result.moved += len(done.acted) - discarded
        self._result.failed += len(done.failed)
        self._result.absent += len(done.absent)
        self._result.left += len(done.left)
        self._result.units += 1


def _marker_row(row: Row, reason: int | None) -> MarkerRow:
    body = row.body_sha256.hex()[:BODY_DIGITS]
    return (row.row, row.msg_key, row.msg_id.hex(), row.action, row.rule_key, row.dest_q, row.dest_q_mgr, reason, body)


def place_in_order(unit_group: str, order_key: str = "") -> str:
    """What stands in a ticket for an order key at a destination; for the whole destination without a key."""
    return hashlib.sha256(f"{unit_group}\0{order_key}".encode()).hexdigest()[:16]


def _cut(rows: Sequence[Row], size: int) -> list[Row]:
    """So many of the rows, fewer where that would part what goes together, more where the first ones go together."""
    if size >= len(rows) or rows[size - 1].bundle != rows[size].bundle:
        return list(islice(rows, size))
    bundle = rows[size].bundle
    before = [row for row in islice(rows, size) if row.bundle != bundle]
    return before or [row for row in rows if row.bundle == bundle]


def _advance(window: deque[Row], coming: Iterator[Row], position: int, size: int) -> None:
    """Let the window begin at a position and hold `size` rows, and what goes with the last, or the lane's rest."""
    while window and window[0].position < position:
        window.popleft()
    while len(window) <= size or window[-1].bundle == window[size - 1].bundle:
        row = next(coming, None)
        if row is None:
            break
        if row.position >= position:
            window.append(row)
    if not window or window[0].position != position:
        raise PlanChanged(f"The plan has no row at position {position} of its lane, where the ticket says to go on")
