"""What was later seen of the messages that a run moved. Pure: ledger and queues come as values.

1. A message is known by the identity it was put with: MsgId, CorrelId, put date and time, digest of the body that was
   put. Of k such messages as many are there as are found; the others are looked for on the queue they came from.
2. THERE is found where it went. RETURNED lies on the queue it was taken from: a message with its MsgId, CorrelId and
   body, an MQDLH left aside (it has another one, and perhaps another put time), that the run did not leave there.
3. MOVED_AGAIN is neither, and a later run, or an undo, dealt with it: a message with its MsgId, and its body as in rule
   2. The ledger tells the rest.
4. Of the others, one with lifetime left was CONSUMED. Where the lifetime has ended it is EXPIRED: nobody can tell
   whether it was consumed before that, unless somebody looked in between.
5. What goes to another queue manager is THERE while it waits on the transmission queue, known by the descriptor in its
   MQXQH as rule 2 says. Where rule 4 would call it consumed it is SENT_ON, to where nobody can look.
6. Nothing is said while units of work of others hide messages of a queue that matters, or it cannot be read; nor where
   a later run dealt with a message of its MsgId of which nobody can tell any more whether it was this one.
7. All but THERE are final: they are not looked for again. Only what changed is recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from mqops.expiry.core.lifetime import remaining
from mqops.ledger.core.identity import Place
from mqops.ledger.core.marker import Marker
from mqops.model import with_lists

K = TypeVar("K")
THERE, RETURNED, MOVED_AGAIN = "there", "returned", "moved again"
CONSUMED, EXPIRED, SENT_ON = "consumed", "expired", "sent on"
MEANING: Mapping[str, str] = {
    THERE: "still where it was put",
    RETURNED: "back on the queue it was taken from",
    MOVED_AGAIN: "dealt with by a later run",
    CONSUMED: "no longer there, with lifetime left: consumed",
    EXPIRED: "no longer there, its lifetime is over: expired, if not consumed or sent on before that",
    SENT_ON: "sent on to another queue manager",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A message that the run moved.

    Parameters: `row` of the plan; `there` the local queue it went to, blank where nobody can look, and `key_there` its
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
    there; `again` content → how often later runs dealt with it; `hidden` queues, and `unsure` MsgIds (hex), of which
    nothing can be said (rule 6).
    """

    there: Counter[Place] = field(default_factory=Counter)
    home: Counter[Place] = field(default_factory=Counter)
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

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return with_lists(asdict(self)) | {"open": self.open}


def recorded(markers: Iterable[Marker]) -> dict[int, str]:
    """Row → the outcome recorded last, from a plan's markers in the ledger's order."""
    return {row[0]: marker.outcome for marker in markers if marker.kind == "outcome" for row in marker.rows}


def absent(moved: Iterable[Moved], seen: Seen) -> list[Moved]:
    """Those that are not where they went, as far as anybody can look (rule 1)."""
    there = Counter(seen.there)
    return [one for one in moved if one.there and not _take(there, (one.there, one.key_there))]


def outcomes(moved: Iterable[Moved], seen: Seen, now: datetime) -> Iterator[tuple[Moved, str]]:
    """What became of each message, in the order given; "" where nothing can be said. `seen` is used up."""
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
    """Where it is, or that another run dealt with it; "" if it was not seen."""
    if _take(seen.there, (one.there, one.key_there)):
        return THERE
    if _take(seen.home, (one.home, one.content)):
        return RETURNED
    return MOVED_AGAIN if _take(seen.again, one.content) else ""


def _take(counted: Counter[K], key: K) -> bool:
    """Whether there is one left; it is used up."""
    if counted[key] <= 0:
        return False
    counted[key] -= 1
    return True
