"""The poison guard: what becomes of messages that loop, by the attributes of the queue that they are on. Pure.

It does for programs that do not look at BackoutCount what IBM's classes do for those that use them (IBM MQ, "Handling
poison messages in IBM MQ classes for JMS"; "Reason and feedback codes in ASF"), with the words of
`mqops.backout.core.disposal`:

1. A message with BackoutCount at or above BOTHRESH goes to BOQNAME as it is. BOTHRESH(0): nothing (P13).
2. BOQNAME cannot take it (`way_of`, and the room and MAXMSGL that the queue has): the message is discarded if its
   report options have MQRO_DISCARD_MSG, else it goes to the queue manager's DEADQ behind an MQDLH. The reason, in the
   MQDLH and as Feedback of the exception report, is the MQRC with which a put on BOQNAME fails, and
   MQRC_BACKOUT_THRESHOLD_REACHED where no backout queue is named that a program could put on.
3. In the cases of rule 2 the putter gets the exception report that it asked for, in the same unit of work.
4. No DEADQ: the message stays (STUCK).
5. The messages of an MQ group go together, if one of them is at BOTHRESH: a program that gets a group gets the first
   ones again and again because of one. A group is discarded only if every message of it says so. It is left
   (INCOMPLETE) where messages of it are missing and a unit of work may hide them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mqops.actions import Action
from mqops.backout.core.disposal import last_resort
from mqops.backout.core.misconfigured import backout_queue_of
from mqops.counted import counted
from mqops.ledger.core.replays import TO_BACKOUT_QUEUE
from mqops.model import QueueDefinition
from mqwire import constants as c
from mqwire.names import reason_name

NOT_FOR_PROGRAMS = ("SYSTEM.", "MQOPS.LEDGER")
"""How names begin of queues that no program puts on, whatever BOQNAME says."""
MOST_SHOWN = 3
"""Messages of a queue that are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where the messages of a queue can go.

    Parameters: `queue` BOQNAME, "" where it takes none; `base` the local queue that this stands for; `reason` MQRC_*
    why it takes none, 0 where it does, and `why` in words; `room` messages, and `longest` bytes of a message, that it
    takes, None where that is not known; `dead_letter_queue` "" for none.
    """

    queue: str = ""
    base: str = ""
    reason: int = 0
    why: str = ""
    room: int | None = None
    longest: int | None = None
    dead_letter_queue: str = ""

    def __str__(self) -> str:
        if self.queue:
            return f"to its backout queue {self.queue}"
        symbol = reason_name(self.reason)
        if not self.dead_letter_queue:
            return f"nowhere: {self.why}, and the queue manager has no dead-letter queue to use (DEADQ)"
        return f"to {self.dead_letter_queue} behind an MQDLH with {symbol} (none with MQRO_DISCARD_MSG): {self.why}"


def way_of(
    one: QueueDefinition,
    known: Mapping[str, QueueDefinition],
    *,
    dead_letter_queue: str,
    opened: Mapping[str, int],
) -> Way:
    """Where the messages of a queue can go.

    Parameters: `known` name → definition, of all queues that can be seen; `dead_letter_queue` the base of DEADQ, "" for
    none that takes messages; `opened` BOQNAME → the reason code of an MQOPEN for puts, 0 where that is allowed.
    """
    deadq = "" if dead_letter_queue == one.name else dead_letter_queue
    name = one.backout_queue
    if not name:
        return _none(c.MQRC_BACKOUT_THRESHOLD_REACHED, "it has no BOQNAME", deadq)
    named, target = known.get(name), known.get(backout_queue_of(one, known))
    if why := _no_backout_queue(one, target, dead_letter_queue):
        return _none(c.MQRC_BACKOUT_THRESHOLD_REACHED, f"BOQNAME({name}) is {why}", deadq)
    if reason := opened.get(name, 0):
        return _none(reason, f"BOQNAME({name}) cannot be opened for puts", deadq)
    if not all(each.put_allowed for each in (named, target) if each):
        return _none(c.MQRC_PUT_INHIBITED, f"BOQNAME({name}) has PUT(DISABLED)", deadq)
    room = longest = None
    if target and target.kind == "local":
        room = max(0, target.max_depth - target.depth) if target.max_depth else None
        longest = target.max_length or None
    if room == 0:
        return _none(c.MQRC_Q_FULL, f"BOQNAME({name}) is full", deadq)
    return Way(queue=name, base=target.name if target else name, room=room, longest=longest, dead_letter_queue=deadq)


def _none(reason: int, why: str, dead_letter_queue: str) -> Way:
    return Way(reason=reason, why=why, dead_letter_queue=dead_letter_queue)


def _no_backout_queue(one: QueueDefinition, target: QueueDefinition | None, dead_letter_queue: str) -> str:
    """Why a program finds no backout queue in what BOQNAME names, "" where it does, or where MQOPEN tells."""
    if target is None:
        return ""
    whys = (
        (target.name == one.name, "the queue itself"),
        (target.name == dead_letter_queue, "the dead-letter queue, which takes messages behind an MQDLH"),
        (target.kind == "model", "a model queue"),
        (target.transmission, "a transmission queue"),
        (target.name.startswith(NOT_FOR_PROGRAMS), "a queue of the queue manager or of mqops"),
    )
    return next((why for holds, why in whys if holds), "")


class Candidate(NamedTuple):
    """A message that loops, or one of its MQ group. Parameters: `length` of its body in bytes; `report` MQRO_*; `group`
    what tells its MQ group, "" without; `number` and `last` its place in the group and whether nothing follows."""

    queue: str
    length: int
    report: int
    group: str = ""
    number: int = 1
    last: bool = True


class Placed(NamedTuple):
    """What is done with a message. Parameters: `key` stands in the plan as its rule: `TO_BACKOUT_QUEUE`, or the digits
    of the reason code (rule 2)."""

    action: Action
    queue: str = ""
    key: str = ""


def placed(
    messages: Sequence[Candidate], ways: Mapping[str, Way], settled: Collection[str], *, limit: int = 0
) -> list[Placed]:
    """What is done with each message, in their order.

    Parameters: `ways` of their queues; `settled` queues without uncommitted messages; `limit` most messages of a queue,
    0 for no limit (an MQ group that begins below it goes whole).
    """
    bundles: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(messages):
        bundles.setdefault((one.queue, one.group or f"#{number}"), []).append(number)
    room = {way.base: way.room for way in ways.values() if way.queue}
    taken = dict.fromkeys(ways, 0)
    found = [Placed(Action.IGNORE)] * len(messages)
    for (queue, _group), numbers in bundles.items():
        if limit and taken[queue] >= limit:
            continue
        members = [messages[number] for number in numbers]
        if members[0].group and queue not in settled and _has_gaps(members):
            choice = Placed(Action.INCOMPLETE)
        else:
            choice = _of_bundle(members, ways[queue], room.get(ways[queue].base))
        taken[queue] += len(members)
        if choice.key == TO_BACKOUT_QUEUE and (left := room[ways[queue].base]) is not None:
            room[ways[queue].base] = left - len(members)
        for number in numbers:
            found[number] = choice
    return found


def is_last(flags: int) -> bool:
    """Whether a message is the last of its group, or of its segments where it is in no group. Parameters: MsgFlags."""
    in_group = flags & (c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP)
    return bool(flags & (c.MQMF_LAST_MSG_IN_GROUP if in_group else c.MQMF_LAST_SEGMENT))


def _has_gaps(members: Iterable[Candidate]) -> bool:
    """Whether messages of a group are missing: its first, one between, or its last (IBM MQ, "Message groups")."""
    numbers = {one.number for one in members}
    return not any(one.last for one in members) or numbers != set(range(1, max(numbers) + 1))


def _of_bundle(members: Sequence[Candidate], way: Way, room: int | None) -> Placed:
    reason = way.reason
    if not reason and way.longest is not None and max(one.length for one in members) > way.longest:
        reason = c.MQRC_MSG_TOO_BIG_FOR_Q
    if not reason and room is not None and room < len(members):
        reason = c.MQRC_Q_FULL
    if not reason:
        return Placed(Action.FWD, way.queue, TO_BACKOUT_QUEUE)
    if all(last_resort(one.report) == "discarded" for one in members):
        return Placed(Action.DISPOSE, key=str(reason))
    if not way.dead_letter_queue:
        return Placed(Action.STUCK, key=str(reason))
    return Placed(Action.DEADLETTER, way.dead_letter_queue, str(reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted:
    """A message at or over BOTHRESH. Parameters: identifiers in hex, `group_id` "" where it is in no group; `count` its
    BackoutCount, `rose` how much that rose while it was looked at, `per_minute` how fast; `put_at` ISO 8601, "" where
    its PutDate and PutTime are no time."""

    msg_id: str
    correl_id: str
    group_id: str = ""
    count: int
    rose: int = 0
    per_minute: int = 0
    put_at: str = ""

    def __str__(self) -> str:
        rate = f", {self.per_minute:,} a minute now" if self.rose else ""
        put = f", put {self.put_at}" if self.put_at else ""
        return f"MsgId {self.msg_id}: backed out {counted(self.count, 'time')}{rate}{put}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looping:
    """A queue with messages that loop, as a look of `seconds` saw it. Parameters: `readers` programs that have it open
    for input, None where that cannot be inquired; `behind` other messages of the queue."""

    queue: str
    threshold: int
    messages: tuple[Sighted, ...]
    behind: int
    seconds: float
    readers: tuple[str, ...] | None
    way: Way

    @property
    def per_minute(self) -> int:
        """How often a minute messages of it are backed out."""
        return sum(one.per_minute for one in self.messages)

    def __str__(self) -> str:
        rate = f", {self.per_minute:,} backouts a minute" if self.per_minute else ", no backout while it was looked at"
        since = min((one.put_at for one in self.messages if one.put_at), default="")
        oldest = f", the oldest put {since}" if since else ""
        behind = counted(self.behind, "message waits", "messages wait") if self.behind else "nothing waits"
        return (
            f"{self.queue}: {counted(len(self.messages), 'message')} at or over BOTHRESH({self.threshold}){rate}"
            f"{oldest}; {_who(self.readers)}; {behind} behind. They go {self.way}"
        )

    def remarks(self) -> Iterable[str]:
        """What an approver reads of it."""
        yield str(self)
        for one in self.messages[:MOST_SHOWN]:
            yield f"{self.queue}: {one}"


def _who(readers: Sequence[str] | None) -> str:
    if readers is None:
        return "who reads it cannot be inquired"
    return f"read by {', '.join(readers)}" if readers else "no program has it open for input now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What a look over input queues has found; stored as RUN/guard.json. Parameters: `not_seen` queues that could not
    be browsed; `unseen` queues that the connection's user may not inquire; `notes` sentences about names that are
    aliases."""

    queue_manager: str
    queues: tuple[Looping, ...] = ()
    not_seen: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def remarks(self) -> Iterable[str]:
        """For the approver."""
        yield from self.notes
        for one in self.queues:
            yield from one.remarks()
        if self.not_seen:
            yield f"not looked at for poison: {', '.join(self.not_seen)}"
        if self.queues:
            yield UNDONE


UNDONE = "an undo puts them back with BackoutCount 0, and the program gets them again"
