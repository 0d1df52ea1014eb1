"""What acting needs of a queue manager: one connection, the queues, the ledger queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mqops.act.core.lanes import Row, Target
from mqops.ledger.core.marker import Ticket


@dataclass(slots=True, kw_only=True)  # not frozen, which costs a microsecond for each message
class Taken:
    """A message that was got in the unit of work: its MQMD (364 bytes), all that follows, and its identity."""

    md: bytes
    body: bytes
    key: str


class CannotTake(Exception):
    """The queue that a row's message is taken from gives nothing, which is no reason to end the work on others.

    Attributes: `reason` code, one of `mqops.act.core.scope.SOURCE`.
    """

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


class Port(Protocol):
    """All calls are part of the current unit of work. Every method raises `MQError` for what is not said here."""

    def take_ticket(self, correl_id: bytes, *, wait_ms: int, fits: Callable[[Ticket], bool]) -> Ticket | None:
        """Get the first ticket with this CorrelId that `fits`; None on timeout, after `wait_ms` milliseconds."""

    def put_ticket(self, correl_id: bytes, body: bytes) -> None:
        """Put a ticket."""

    def put_marker(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        """Put a marker with this MsgId."""

    def has_marker(self, msg_id: bytes) -> bool:
        """Whether a committed marker with this MsgId is on the ledger queue."""

    def open_target(self, target: Target) -> int:
        """Have a handle for the target; returns 0 or the reason code of the MQOPEN."""

    def refuses(self, target: Target) -> str:
        """Why nothing may be put on the target, whatever the queue manager would say; "" if it may."""

    def depth(self, target: Target) -> int | None:
        """How many messages stand on the target's queue now; None where that cannot be told (it is remote ...)."""

    def forget_target(self, target: Target) -> None:
        """Close the target's handle: its definition was changed."""

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """Get the row's message by MsgId and CorrelId, or None where there is none.

        Without `careful` it is the first with these identifiers and its key is for the caller to check; with it, the
        first that has the row's key, found by browsing.

        Raises:
            CannotTake: the queue is one of several, and gives nothing.
        """

    def put(self, row: Row, taken: Taken) -> int:
        """Put the message just taken where the row says; returns 0 or the reason code of the MQPUT."""

    def report_expired(self, row: Row, taken: Taken) -> int:
        """Send the expiration report that the message just taken asked for; returns 0, or why that cannot be."""

    def commit(self) -> None:
        """End the unit of work. Raises `OutcomeUnknown` where the connection broke meanwhile."""

    def backout(self) -> None:
        """Undo the unit of work."""
