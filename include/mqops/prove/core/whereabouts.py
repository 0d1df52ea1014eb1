"""What became of a message that a snapshot has and that no unit of work of ours dealt with afterwards. Pure.

1. It was there when it was last seen. It was gone when an act did not find it, or when a later snapshot of the whole
   queue does not have it, whichever came first.
2. Gone, and its lifetime was over by then: EXPIRED, unless a program got it before that. Also if nobody has looked
   since: a message whose lifetime is over is never given out again (E04).
3. Gone with lifetime left: TAKEN, by another program or by CLEAR QLOCAL. If its queue had uncommitted messages then, or
   that is not known: HELD, because a unit of work may have it, and be backed out. A nonpersistent message may as well
   have been lost with the end of the queue manager: UNKNOWN. If only the plan is there and its snapshot was removed,
   nothing says what its lifetime was: GONE, or NOT_SEEN where a unit of work may have it.
4. Nobody has looked since it was last seen, and its lifetime is not over: SEEN.
5. A line of the ledger cannot be read: it may say that a run dealt with the message, so nothing of this holds: UNREAD.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from mqops.actions import ACTED, Action
from mqops.expiry.core.lifetime import remaining
from mqops.model import AsJson
from mqwire.constants import MQEI_UNLIMITED, MQPER_NOT_PERSISTENT

SEEN, EXPIRED, TAKEN, UNKNOWN, GONE, HELD, UNREAD = "seen", "expired", "taken", "unknown", "gone", "held", "unread"
NOT_SEEN = "not_seen"
WORDS: Mapping[str, str] = {
    SEEN: "it was there, and nobody has looked since",
    EXPIRED: "it expired, unless a program got it before its lifetime ended",
    TAKEN: "another program got it, or the queue was cleared",
    HELD: "a unit of work that was not committed may have had it then, and it may come back; else another program got "
    "it, or the queue was cleared",
    GONE: "gone for an unknown reason: its snapshot was removed, so its lifetime is not known",
    NOT_SEEN: "a unit of work that was not committed may have had it then, and it may come back; else it is gone for "
    "an unknown reason: its snapshot was removed, so its lifetime is not known",
    UNKNOWN: "another program got it, or it was lost when the queue manager ended: it was not persistent",
    UNREAD: "what became of it is not known: the ledger has a line that cannot be read, which may say what a run did",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A message in a snapshot.

    Parameters: `at` when it was seen; `expiry` in tenths of a second as it was then, None where only a
    plan has it, as `persistence`; `action` and `rule_line` of the
    run's plan, blank and None where it has no plan.
    """

    run: str
    at: datetime
    queue: str
    msg_id: str
    msg_key: str
    expiry: int | None
    persistence: int | None
    action: str = ""
    rule_line: int | None = None


class Missed(NamedTuple):
    """A run that did not find a message, and when. Parameters: `certain` whether its queue had no uncommitted messages
    then, which browses do not show."""

    at: datetime
    run: str
    certain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts(AsJson):
    """What is known of a message. Parameters: `became` one of `WORDS`; `missed_at` when a run first did not find
    it, and `missed_by` which run; `tried_at` when a run last tried to move it after it was seen, and could not;
    `ends_at` when its lifetime ends or ended; times are ISO 8601 UTC, blank where there is none."""

    msg_id: str
    msg_key: str
    queue: str
    queue_manager: str
    became: str
    run: str
    seen_at: str
    action: str
    rule_line: int | None
    missed_at: str = ""
    missed_by: str = ""
    tried_at: str = ""
    ends_at: str = ""
    lifetime: int | None = None

    @property
    def absent(self) -> str:
        """The word for a message that a run did not find: gone only where that is known."""
        return "not seen" if self.became in {HELD, NOT_SEEN, UNREAD} else "gone"

    @property
    def since(self) -> str:
        """What became of it since it was last seen, in words."""
        if self.became == SEEN and self.tried_at:
            return f"it was there, and still at {self.tried_at}, when a try to move it failed"
        if self.became != EXPIRED or self.lifetime is None:
            return WORDS[self.became]
        moves = self.action in ACTED and self.action != Action.COPY
        before = "it expired before it was moved" if moves else "it expired"
        return f"{before} (lifetime {self.lifetime / 10} s at {self.seen_at}), unless a program got it before that"


def whereabouts(last: Sighting, queue_manager: str, missed: Missed | None, *, now: datetime) -> Whereabouts:
    """What is known of a message. Parameters: `last` sighting of it; `missed` the first run that did not find
    it after that, None if none has looked."""
    by_then = missed.at if missed else now
    lifetime = None if last.expiry == MQEI_UNLIMITED else last.expiry
    over = lifetime is not None and remaining(lifetime, last.at, by_then) is None
    ends = None if lifetime is None else last.at + timedelta(milliseconds=100 * lifetime)
    return Whereabouts(
        msg_id=last.msg_id,
        msg_key=last.msg_key,
        queue=last.queue,
        queue_manager=queue_manager,
        became=_became(last, missed, over=over),
        run=last.run,
        seen_at=_text(last.at),
        action=last.action,
        rule_line=last.rule_line,
        missed_at=_text(missed.at) if missed else "",
        missed_by=missed.run if missed else "",
        ends_at=_text(ends) if ends else "",
        lifetime=lifetime,
    )


def _became(last: Sighting, missed: Missed | None, *, over: bool) -> str:
    if over:
        return EXPIRED
    if missed is None:
        return SEEN
    if not missed.certain:
        return NOT_SEEN if last.expiry is None else HELD
    if last.expiry is None:
        return GONE
    return UNKNOWN if last.persistence == MQPER_NOT_PERSISTENT else TAKEN


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
