"""What was later seen of the messages that a run moved. Pure: ledger and queues come as values.

1. A message is identified by what it was put with: MsgId, CorrelId, put date and time, and the digest of its body. If
   fewer messages with one identity are found than were put, the missing ones are looked for on the queue that they came
   from.
2. THERE: the message is on the queue that it was put on. RETURNED: the queue that it was taken from has a message with
   its MsgId, CorrelId and body which the run did not leave there. The MQDLH is not compared: the message has a new one,
   and perhaps a new put time.
3. MOVED_AGAIN: it is on neither queue, and a later run or an undo dealt with a message that has its MsgId, and its body
   as in rule 2. The ledger says what was done.
4. CONSUMED: none of these, and its lifetime has not ended. EXPIRED: its lifetime has ended. It may have been consumed
   before that: only an earlier look can say so.
5. A message to another queue manager is THERE while it is on the transmission queue. It is identified by the descriptor
   in its MQXQH, as in rule 2. It is SENT_ON where rule 4 would call it consumed: the other queue manager is not looked
   at.
6. The outcome is unknown while units of work of other programs hide messages of one of its queues, or a queue cannot be
   read. It is unknown, too, if a later run dealt with a message that has its MsgId and can no longer be compared.
7. Every outcome but THERE is final: the message is not looked for again. Only an outcome that changed is recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from mqops.as_json import JsonObject, json_object
from mqops.expiry.core.lifetime import remaining
from mqops.ledger.core.identity import MessageOnQueue
from mqops.ledger.core.marker import Marker, MarkerKind

K = TypeVar("K")
THERE, RETURNED, MOVED_AGAIN = "there", "returned", "moved again"
CONSUMED, EXPIRED, SENT_ON = "consumed", "expired", "sent on"
MEANING: Mapping[str, str] = {
    THERE: "still where it was put",
    RETURNED: "came back to the queue that it was taken from",
    MOVED_AGAIN: "dealt with by a later run",
    CONSUMED: "no longer there, with lifetime left: consumed",
    EXPIRED: "no longer there, its lifetime is over: expired, if not consumed or sent on before that",
    SENT_ON: "sent on to another queue manager",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A message that the run moved.

    Parameters: `row` of the plan; `there` the local queue it went to, blank if it cannot be browsed; `key_there` its
    identity as put; `transmitted` whether that is a transmission queue, where it is known by its `content`; `home` the
    queue it was taken from and `content` what it is known by there (rule 2); `msg_id` hex; `expiry` tenths of a second
    it had at `seen_at`.
    """

    row: int
    there: str
    key_there: str
    home: str
    content: str
    msg_id: str
    expiry: int
    seen_at: datetime
    transmitted: bool = False


@dataclass(slots=True, kw_only=True)
class Seen:
    """What a look found.

    Attributes: `there` (queue, identity) → messages; `home` (queue, content) → messages that the run did not leave
    there; `again` content → how often later runs dealt with it; `hidden` queues, and `unsure` MsgIds (hex), whose
    outcomes are unknown (rule 6).
    """

    there: Counter[MessageOnQueue] = field(default_factory=Counter)
    home: Counter[MessageOnQueue] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    hidden: Set[str] = frozenset()
    unsure: Set[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSummary:
    """A look at a run's messages. `moved` = the sum of `outcomes` + `untold`; `changed` were recorded by this look;
    `open` may still change; all in messages. `ledger_seq` and `ledger_head` as in `RunSummary`."""

    run: str
    queue_manager: str
    plan: str
    looked_at: str
    moved: int
    outcomes: Mapping[str, int]
    changed: int
    untold: int = 0
    remarks: tuple[str, ...] = ()
    ledger_seq: int = 0
    ledger_head: str = ""

    @property
    def open(self) -> int:
        """Messages whose outcome may still change."""
        return self.untold + self.outcomes.get(THERE, 0)

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return json_object(self) | {"open": self.open}


def recorded(markers: Iterable[Marker]) -> dict[int, str]:
    """Row → the outcome recorded last, from a plan's markers in the ledger's order."""
    return {row.row: marker.outcome for marker in markers if marker.kind == MarkerKind.OUTCOME for row in marker.rows}


def absent(moved: Iterable[Moved], seen: Seen) -> list[Moved]:
    """The messages that are not on the queue that they were put on (rule 1); none whose queue cannot be browsed."""
    there = Counter(seen.there)
    return [one for one in moved if one.there and not _take(there, (one.there, one.key_there))]


def outcomes(moved: Iterable[Moved], seen: Seen, now: datetime) -> Iterator[tuple[Moved, str]]:
    """What became of each message, in the order given; "" if that is unknown. Each message of `seen` counts once."""
    for one in moved:
        yield one, _outcome(one, seen, now)


def _outcome(one: Moved, seen: Seen, now: datetime) -> str:
    if not one.there:
        return ""
    if outcome := _found(one, seen):
        return outcome
    if seen.hidden & {one.there, one.home} or one.msg_id in seen.unsure:
        return ""
    if remaining(one.expiry, one.seen_at, now) is None:
        return EXPIRED
    return SENT_ON if one.transmitted else CONSUMED


def _found(one: Moved, seen: Seen) -> str:
    """Where the message is, or that another run dealt with it; "" if it was not seen."""
    if _take(seen.there, (one.there, one.key_there)):
        return THERE
    if _take(seen.home, (one.home, one.content)):
        return RETURNED
    return MOVED_AGAIN if _take(seen.again, one.content) else ""


def _take(counted: Counter[K], key: K) -> bool:
    """Whether a message with this key is left; it is taken off the count."""
    if counted[key] <= 0:
        return False
    counted[key] -= 1
    return True
