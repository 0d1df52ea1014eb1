"""The identity of a message, and the 24-byte identifiers of markers and lane tokens."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias

from mqops.ledger.core.marker import MarkerKind

MessageOnQueue: TypeAlias = tuple[str, str]
"""A queue, and the `message_key` of a message on it."""


def message_key(msg_id: bytes, correl_id: bytes, put_date: bytes, put_time: bytes, body_sha256: bytes) -> str:
    """The frozen identity of a message (law 3), 64 hex digits.

    Parameters: the MQMD fields as they stand there (24, 24, 8, 8 bytes) and the SHA-256 of all that follows the MQMD.
    """
    return identity_key(b"".join((msg_id, correl_id, put_date, put_time, body_sha256)))


def identity_key(identity: bytes) -> str:
    """The same from the parts of `message_key` in their order, 96 bytes."""
    return hashlib.sha256(identity).hexdigest()


def line_id(*parts: str | int) -> str:
    """`unit` of a line that stands in the ledger only and is of no plan, in hex. Parameters: `parts` the kind of the
    line, and what tells it from others of that kind."""
    text = "\0".join(map(str, ("mqops", *parts)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:48]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanIdentity:
    """Which plan: the run's key and the plan's digest (hex). All identifiers follow from it."""

    run: str
    digest: str

    def _identifier(self, *parts: str | int) -> bytes:
        text = "\0".join(map(str, ("mqops", self.run, self.digest, *parts)))
        return hashlib.sha256(text.encode()).digest()[:24]

    def marker_id(self, lane: int, first: int, kind: str) -> bytes:
        """MsgId of the marker of the unit of work that begins at position `first` of a lane."""
        return self._identifier(kind, lane, first)

    def last_id(self, lane: int) -> bytes:
        """MsgId of the marker of a lane's last unit of work. If this marker exists, the lane is finished."""
        return self._identifier("last", lane)

    def issued_id(self) -> bytes:
        """MsgId of the marker that says this plan's lane tokens were issued."""
        return self._identifier(MarkerKind.ISSUED)

    def markers(self) -> bytes:
        """CorrelId of all this plan's markers."""
        return self._identifier("markers")

    def lane_token_id(self, lane: int) -> bytes:
        """CorrelId of a lane's token."""
        return self._identifier("ticket", lane)

    def resumed_id(self, at: str) -> bytes:
        """Identifier of a ledger line that says who went on with this plan."""
        return self._identifier(MarkerKind.RESUMED, at)

    def outcome_id(self, at: str, number: int) -> bytes:
        """Identifier of a ledger line with the outcomes that were seen at a time."""
        return self._identifier(MarkerKind.OUTCOME, at, number)
