"""What the mover needs of a queue manager: get from, put to and end units of work, like an application would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from mqwire.structures import MQMD


class Refused(Exception):
    """The queue manager did not do it; reason is its MQRC_ value."""

    def __init__(self, reason: int) -> None:
        super().__init__(f"reason {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """A message as got. token: its message token, which stays the same when it is backed out."""

    md: MQMD
    body: bytes
    token: bytes


class Port(Protocol):
    """One connection to a queue manager. Methods raise Refused."""

    @property
    def queue_manager(self) -> str:
        """Its name."""

    @property
    def ccsid(self) -> int:
        """Its CCSID, for headers."""

    @property
    def encoding(self) -> int:
        """Its encoding, for headers."""

    @property
    def appl_type(self) -> int:
        """MQAT_ value of a message channel agent here."""

    @property
    def appl_name(self) -> str:
        """The name a message channel agent has here."""

    def dead_letter_queue(self) -> str:
        """DEADQ, empty if there is none."""

    def get(self, queue: str, *, wait: float = 0, token: bytes = b"", correl_id: bytes = b"") -> ChannelMessage | None:
        """Get under syncpoint; None if there is no such message within `wait` seconds."""

    def browse(self, queue: str, correl_id: bytes) -> bytes | None:
        """The data of the first message with that CorrelId, left where it is."""

    def browse_all(self, queue: str) -> Iterator[bytes]:
        """The data of every message of a queue, left where it is."""

    def put(
        self, queue: str, queue_manager: str, md: MQMD, body: bytes, *, syncpoint: bool = True, user: str = "",
        alternate: str = "",
    ) -> None:  # fmt: skip
        """Put with all context as the descriptor says, under syncpoint or at once.

        user: whose authority counts, blank for the channel program's own, which is everything. alternate: in whose
        place `user` puts, who needs PUT then, and `user` the authority to set context and to be somebody else.
        """

    def check_report(self, queue: str, queue_manager: str, *, user: str) -> None:
        """Raises Refused unless a message's user may have reports on it put on a queue."""

    def commit(self) -> None:
        """Commit the unit of work."""

    def back_out(self) -> None:
        """Back the unit of work out."""

    def close(self) -> None:
        """Disconnect."""
