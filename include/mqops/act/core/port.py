"""What acting needs of a queue manager: one connection, the queues, the ledger queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mqops.act.core.lanes import Row, Target
from mqops.ledger.core.marker import LaneToken, Marker


@dataclass(slots=True, kw_only=True)  # not frozen, which costs a microsecond for each message
class Taken:
    """A message that was got in the unit of work: its MQMD (364 bytes), all that follows, and its identity."""

    md: bytes
    body: bytes
    key: str


class CannotTake(Exception):
    """The queue of a row's message allows no gets. The rows of other queues can go on.

    Attributes: `reason` code, one of `mqops.act.core.scope.SOURCE`.
    """

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


class Port(Protocol):
    """All calls are part of the current unit of work. A failure that a method does not return raises `MQError`."""

    def take_lane_token(self, correl_id: bytes, *, wait_ms: int, fits: Callable[[LaneToken], bool]) -> LaneToken | None:
        """Get the first lane token with this CorrelId that `fits`; None on timeout, after `wait_ms` milliseconds."""

    def put_lane_token(self, correl_id: bytes, body: bytes) -> None:
        """Put a lane token."""

    def put_marker(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        """Put a marker with this MsgId."""

    def marker(self, msg_id: bytes) -> Marker | None:
        """The committed marker with this MsgId, left on the ledger queue; None if it is not there."""

    def open_target(self, target: Target) -> int:
        """Have a handle for the target; returns 0 or the reason code of the MQOPEN."""

    def refuses(self, target: Target) -> str:
        """Why mqops must not put on the target, also if the queue manager would allow it; "" if it may."""

    def depth(self, target: Target) -> int | None:
        """The current depth of the target's queue; None if it is not known, for example of a remote queue."""

    def forget_target(self, target: Target) -> None:
        """Close the target's handle: its definition was changed."""

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """Get the row's message by MsgId and CorrelId; None if it is not there.

        Without `careful` it is the first with these identifiers and its key is for the caller to check; with it, the
        first that has the row's key, found by browsing.

        Raises:
            CannotTake: the queue is one of several, and gives nothing.
        """

    def put(self, row: Row, taken: Taken) -> int:
        """Put the message just taken where the row says; returns 0 or the reason code of the MQPUT."""

    def report_discarded(self, row: Row, taken: Taken) -> int:
        """Send the report that the message just taken asked for where it is discarded (EXPIRE, DISPOSE); returns 0, or
        why that cannot be."""

    def commit(self) -> None:
        """End the unit of work. Raises `OutcomeUnknown` where the connection broke meanwhile."""

    def backout(self) -> None:
        """Undo the unit of work."""
