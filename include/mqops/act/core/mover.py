"""The mover: works through a lane, one unit of work after the other (the protocol of `mqops.act`)."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from mqops.act.core.blocked import BlockedQueues
from mqops.act.core.lanes import Group, Row
from mqops.act.core.port import CannotTake, Port, Taken
from mqops.act.core.progress import COUNTS, UnitDone
from mqops.act.core.rate_limiter import NoLimit, RateLimiter
from mqops.act.core.scope import Scope, scope_of
from mqops.act.core.unit_attempt import GROUP_GONE, GROUP_TOO_LARGE, UnitAttempt
from mqops.actions import SENDS, Action
from mqops.errors import LOST_CONNECTION, MQError, PlanChanged, mq_error
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import BODY_DIGITS, LaneToken, Marker, MarkerKind, MarkerRow
from mqops.model import Destination
from mqwire.constants import MQRC_SYNCPOINT_LIMIT_REACHED
from mqwire.names import reason_name

TOKEN_WAIT = 500
"""Milliseconds to wait for a lane token that somebody else holds."""

MOST_RECONNECTS = 3
"""How often in a row a lost connection is opened again."""

MOST_KEYS = 1000
"""Order keys that stand in a lane token, which is put with each unit of work; behind one more its destination does."""

REPORTED = (Action.EXPIRE, Action.DISPOSE)
"""Discards for which a report is sent, where the message asks for one."""

BEHIND_FAILED = "behind a message that failed"


@dataclass(slots=True, kw_only=True)
class LaneResult:
    """What one visit to a lane did. It is a report only: the markers are the truth.

    Attributes: `state` "finished" (this visit or an earlier one reached the end), "held" (no lane token: another
    process has it, or the lane was finished before), "stopped" (by the kill switch); counts of messages,
    units of work and back-outs.
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
    """The attempt failed and was backed out; `attempt` is the next one."""

    def __init__(self, attempt: UnitAttempt) -> None:
        super().__init__()
        self.attempt = attempt


@dataclass(slots=True)
class _Done:
    """What a unit of work did: `failed` position → reason code, `left` position → why, `behind` waiting order keys."""

    behind: set[str]
    failed: dict[int, int]
    left: dict[int, str]
    acted: list[Row] = field(default_factory=list)
    absent: list[Row] = field(default_factory=list)


class Mover:
    """Moves the messages of one lane.

    Parameters: `connect` gives the port, and a new one when the connection is lost; `plan` whose rows; `lane` number
    and its `length` in rows; `unit_size` most messages a unit of work; `now` gives the UTC time as ISO 8601; `clock`
    seconds of a monotonic clock; `limiter` is asked before each unit of work; `left_groups` groups whose rows are
    left, and why; `behind` order keys that wait (`place_in_order`) besides those in the lane token; `reached` the
    position that the lane has in the ledger; `report` gets each unit of work once it is committed.
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
        limiter: RateLimiter | None = None,
        left_groups: Mapping[Group, str] | None = None,
        behind: frozenset[str] = frozenset(),
        reached: int = 0,
        report: Callable[[UnitDone], None] | None = None,
    ) -> None:
        self._connect = connect
        self._port = connect()
        self._plan = plan
        self._lane = lane
        self._length = length
        self._unit_size = unit_size
        self._now = now
        self._limiter: RateLimiter = limiter or NoLimit()
        self._left_groups = left_groups or {}
        self._blocked = BlockedQueues(clock)
        self._from_outset = behind
        self._behind = behind
        self._reached = reached
        self._report = report
        self._at: int | None = None
        self._result = LaneResult(lane=lane)

    def run(self, rows: Iterable[Row]) -> LaneResult:
        """Act on the rows of the lane, given in the order of their positions, from where its lane token says.

        Raises:
            MQError: the connection, the queue that is taken from, or the ledger queue failed; the unit of work that was
                under way is backed out, and everything before it is done.
        """
        coming = iter(rows)
        window: deque[Row] = deque()
        pending: UnitAttempt | None = None
        lost = 0
        while self._result.state != "finished":
            if self._limiter.stopped():
                self._result.state = "stopped"
                break
            try:
                position = self._take_lane_token()
                if position is None:
                    break
                _advance(window, coming, position, self._unit_size)
                if pending is None or pending.first != position:
                    pending = self._admitted(window)
                if pending is None:
                    self._port.backout()  # nothing waits with a unit of work open
                    self._limiter.pause()
                else:
                    pending = self._try(pending)
                lost = 0
            except MQError as error:
                lost += 1
                pending = self._after_error(error, lost, pending)
        return self._result

    def _after_error(self, error: MQError, lost: int, tried: UnitAttempt | None) -> UnitAttempt | None:
        """Back out, and give the next try (None: whatever the lane token says); raises the error where there is none.

        After a commit of unknown outcome the next try looks whether the lane token is there, and where it says to go
        on.
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

    def _take_lane_token(self) -> int | None:
        correl_id = self._plan.lane_token_id(self._lane)
        lane_token = self._port.take_lane_token(correl_id, wait_ms=TOKEN_WAIT, fits=self._is_current)
        if lane_token is None:
            return None
        self._behind = self._from_outset.union(lane_token.behind)
        self._at = lane_token.next
        return lane_token.next

    def _is_current(self, lane_token: LaneToken) -> bool:
        """Whether a lane token stands where the lane stands; if not, it is a copy of an earlier one (rule 11)."""
        if (lane_token.run, lane_token.plan, lane_token.lane) != (self._plan.run, self._plan.digest, self._lane):
            return False
        if self._at is not None:
            return lane_token.next == self._at
        if not self._reached <= lane_token.next < self._length:
            return False
        used = (self._plan.marker_id(self._lane, lane_token.next, MarkerKind.ACTED), self._plan.last_id(self._lane))
        return not any(map(self._port.marker, used))

    def _give_up(self) -> None:
        try:
            self._port.backout()
        except MQError:
            return  # the connection is gone: the queue manager backs out by itself

    def _admitted(self, window: Sequence[Row]) -> UnitAttempt | None:
        """The next unit of work, no larger than the rate limiter admits; None if it must wait."""
        rows = _cut(window, self._unit_size)
        live = [row for row in rows if not (self._is_left(row) or self._blocked.for_good(row.target))]
        if live:
            admitted = self._limiter.admit(live, self._port.depth)
            if not admitted:
                return None
            if admitted < len(live):
                rows = _cut(rows, max(1, live[admitted].position - rows[0].position))
        return UnitAttempt(rows=tuple(rows))

    def _try(self, attempt: UnitAttempt) -> UnitAttempt | None:
        """One unit of work: commits it and returns None, or backs it out and returns the next attempt."""
        try:
            self._do(attempt)
        except _TryAgain as again:
            self._port.backout()
            self._result.backouts += 1
            return again.attempt
        if attempt.next == self._length:
            self._result.state = "finished"
        return None

    def _do(self, attempt: UnitAttempt) -> None:
        done = _Done(set(self._behind), dict(attempt.failed), dict(attempt.left))
        known = bool(attempt.failed or attempt.left)
        for bundle in attempt.bundles():
            if not (known and any(row.position in done.failed or row.position in done.left for row in bundle)):
                self._do_bundle(attempt, bundle, done)
            for row in bundle:
                if row.order_key and (row.position in done.failed or row.position in done.left):
                    self._hold_back(row, done)
        self._record(attempt, done)
        self._port.commit()
        self._at = attempt.next
        self._behind = frozenset(done.behind)
        self._blocked.block(attempt.blocked)
        self._limiter.done(done.acted + self._tried_in_vain(attempt, done))
        self._count(attempt, done)

    def _hold_back(self, row: Row, done: _Done) -> None:
        """What comes later with the row's key waits behind it, or all that has a key at its destination."""
        mine, whole = place_in_order(row.unit_group, row.order_key), place_in_order(row.unit_group)
        if done.behind.isdisjoint((mine, whole)):
            shut = self._blocked.for_good(row.target) or self._limiter.refusal(row) or len(done.behind) >= MOST_KEYS
            done.behind.add(whole if shut else mine)

    def _tried_in_vain(self, attempt: UnitAttempt, done: _Done) -> list[Row]:
        """The rows that were tried and failed: those of a destination blocked for good were not tried."""
        failed = [row for row in attempt.rows if row.position in done.failed] if done.failed else []
        return [row for row in failed if not self._blocked.for_good(row.target)]

    def _is_left(self, row: Row) -> bool:
        return bool(self._left_groups) and row.group in self._left_groups

    def _do_bundle(self, attempt: UnitAttempt, bundle: Sequence[Row], done: _Done) -> None:
        if why := self._why_one_is_left(bundle, done.behind):
            done.left.update((row.position, why) for row in bundle)
        elif reason := self._blocked_for(bundle[0]):
            done.failed.update((row.position, reason) for row in bundle)
        else:
            for row in bundle:
                if row is not bundle[0] and (reason := self._blocked_for(row)):
                    raise _TryAgain(attempt.after_failure(row, reason, Scope.MESSAGE))
                taken = self._take(attempt, row)
                if taken is not None:
                    self._dispose(attempt, row, taken)
                    done.acted.append(row)
                elif len(bundle) > 1:
                    raise _TryAgain(attempt.without(row, GROUP_GONE))
                else:
                    done.absent.append(row)

    def _why_one_is_left(self, bundle: Sequence[Row], behind: set[str]) -> str:
        for row in bundle:
            if why := self._why_left(row, behind):
                return why
        return ""

    def _why_left(self, row: Row, behind: set[str]) -> str:
        """Why a row is not tried, "" if it is tried."""
        if self._is_left(row):
            return self._left_groups[row.group]
        if self._blocked.for_good(row.target):
            return ""  # it has failed, with its reason
        if refused := self._limiter.refusal(row):
            return refused
        if row.action in SENDS and (refused := self._port.refuses(row.target)):
            return refused
        if not (behind and row.order_key):
            return ""
        places = (place_in_order(row.unit_group), place_in_order(row.unit_group, row.order_key))
        return "" if behind.isdisjoint(places) else BEHIND_FAILED

    def _blocked_for(self, row: Row) -> int:
        """The reason code for which the row is not tried now, 0 if it is tried. Touches no message."""
        if reason := self._blocked.reason(row.queue):
            return reason
        if row.action.discards:
            return 0
        if reason := self._blocked.reason(row.target):
            return reason
        reason = self._port.open_target(row.target)
        if reason:
            self._raise_unless_target_is_to_blame(row, reason)
            self._blocked.block({row.target: reason})
        return reason

    def _take(self, attempt: UnitAttempt, row: Row) -> Taken | None:
        careful = row.duplicate_id or row.position in attempt.careful
        try:
            taken = self._port.take(row, careful=careful)
        except CannotTake as error:
            raise _TryAgain(attempt.after_failure(row, error.reason, Scope.SOURCE)) from error
        if taken is not None and taken.key != row.msg_key:
            raise _TryAgain(attempt.after_other_message(row, careful=careful))
        return taken

    def _dispose(self, attempt: UnitAttempt, row: Row, taken: Taken) -> None:
        if not row.action.discards:
            reason = self._port.put(row, taken)
        else:
            reason = self._port.report_discarded(row, taken) if row.action in REPORTED else 0
        if not reason:
            return
        scope = self._raise_unless_target_is_to_blame(row, reason)
        if scope is Scope.STALE_HANDLE:
            self._port.forget_target(row.target)
        raise _TryAgain(attempt.after_failure(row, reason, scope))

    def _raise_unless_target_is_to_blame(self, row: Row, reason: int) -> Scope:
        scope = scope_of(reason)
        if scope in {Scope.EVERYTHING, Scope.TOO_MUCH}:
            raise mq_error(2, reason, verb="MQPUT", object_name=row.dest_q)
        return scope

    def _record(self, attempt: UnitAttempt, done: _Done) -> None:
        last = attempt.next == self._length
        left: dict[str, list[int]] = {}
        for row in (row for row in attempt.rows if row.position in done.left):
            left.setdefault(done.left[row.position], []).append(row.row)
        absent = [row.row for row in done.absent]
        acted = [_marker_row(row, None) for row in done.acted]
        self._mark(attempt, MarkerKind.ACTED, acted, last, absent=absent, left=left)
        failed = [_marker_row(row, done.failed[row.position]) for row in attempt.rows if row.position in done.failed]
        if failed:
            self._mark(attempt, MarkerKind.FAILED, failed, last)
        if not last:
            behind = tuple(sorted(done.behind))
            lane_token = LaneToken(
                run=self._plan.run, plan=self._plan.digest, lane=self._lane, next=attempt.next, behind=behind
            )
            self._port.put_lane_token(self._plan.lane_token_id(self._lane), lane_token.pack())

    def _mark(
        self,
        attempt: UnitAttempt,
        kind: MarkerKind,
        rows: list[MarkerRow],
        last: bool,
        *,
        absent: Iterable[int] = (),
        left: Mapping[str, list[int]] | None = None,
    ) -> None:
        at_end = last and kind == MarkerKind.ACTED
        msg_id = self._plan.last_id(self._lane) if at_end else self._plan.marker_id(self._lane, attempt.first, kind)
        marker = Marker(
            unit=msg_id.hex(),
            run=self._plan.run,
            plan=self._plan.digest,
            kind=kind,
            at=self._now(),
            lane=self._lane,
            first=attempt.first,
            next=attempt.next,
            last=last,
            rows=tuple(rows),
            absent=tuple(absent),
            left={why: tuple(numbers) for why, numbers in (left or {}).items()},
        )
        self._port.put_marker(msg_id, self._plan.markers(), marker.pack())

    def _count(self, attempt: UnitAttempt, done: _Done) -> None:
        moved = Counter((row.dest_q, row.dest_q_mgr) for row in done.acted if not row.action.discards)
        discarded = len(done.acted) - moved.total()
        unit = UnitDone(
            lane=self._lane,
            first=attempt.first,
            next=attempt.next,
            moved=moved.total(),
            discarded=discarded,
            failed=len(done.failed),
            absent=len(done.absent),
            left=len(done.left),
            held=_held(attempt, done),
            to={str(Destination(*to)): rows for to, rows in moved.items()},
        )
        for name in COUNTS:
            setattr(self._result, name, getattr(self._result, name) + getattr(unit, name))
        self._result.units += 1
        if self._report is not None:
            self._report(unit)


def _held(attempt: UnitAttempt, done: _Done) -> dict[str, str]:
    """The destinations that a unit of work did not serve, and why."""
    if not (done.failed or done.left):
        return {}
    return {
        row.unit_group: done.left.get(row.position) or reason_name(done.failed[row.position])
        for row in attempt.rows
        if row.position in done.failed or row.position in done.left
    }


def _marker_row(row: Row, reason: int | None) -> MarkerRow:
    body = row.body_sha256.hex()[:BODY_DIGITS]
    return MarkerRow(
        row.row, row.msg_key, row.msg_id.hex(), row.action, row.rule_key, row.dest_q, row.dest_q_mgr, reason, body
    )


def place_in_order(unit_group: str, order_key: str = "") -> str:
    """What stands in a lane token for an order key at a destination; for the whole destination without a key."""
    return hashlib.sha256(f"{unit_group}\0{order_key}".encode()).hexdigest()[:16]


def _cut(rows: Sequence[Row], size: int) -> list[Row]:
    """So many of the rows, fewer if an MQ group would be split, more if the first group is larger."""
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
        raise PlanChanged(f"The plan has no row at position {position} of its lane, where the lane token says to go on")
