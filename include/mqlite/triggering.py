"""Triggering: whether the queue manager writes a trigger message, and for which queue. Within the caller's transaction.

This module has the numbers of the page "Conditions for a trigger event", and can be read beside it.

Events, each with what has to hold for it (EVENTS):

    1     a message is put on a queue                                             2 3 4 5 6 7 8 9 10
    11    a message is put on a queue that had as many as that before             2 11 4 5 6 7 8 9 10
    12    the only application that serves a queue closes it                      12 6 7 8 9 10
    13    triggering is switched on, or its type, priority or depth is changed    12 4 5 6 7 9 10
    13.1  puts to the initiation queue are allowed again                          12 4 5 6 7 8 9 10
    13.2  gets from the queue are allowed again                                   12 4 6 7 8 9 10
    13.3  a trigger monitor is the first to open the initiation queue for input   12 4 5 6 7 9 10

11 and 12 are for the types FIRST and DEPTH. A message put in a unit of work completes its condition there and then, but
the trigger message comes to light with the end of the unit: of type EVERY by its commit, of type FIRST and DEPTH by its
end of whatever kind (T10a). From 12 on trigger messages belong to no unit of work (T15).

A trigger message of type DEPTH switches triggering off, which no back-out undoes.

Shared queues of a queue-sharing group: a message counts when it is committed, which is when it is put as far as events
1 and 11 go (T03b). An event is one for every member of the group, each with the trigger monitor, the process and the
initiation queue that it has itself; an initiation queue that is shared gets one trigger message, not one of each.
Event 12 is the closing member's, and everybody's once nobody in the group has the queue open for input.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from mqlite import sql
from mqlite.attributes import Kind
from mqlite.engine import Engine, LocalQueue
from mqlite.failure import Failure
from mqlite.objects import Attributes
from mqlite.sharing_group import is_shared
from mqlite.standing import LOWEST, Placed, rank_of
from mqlite.store import Store
from mqlite.trigger_message import TriggerMessage, put_on_dead_letter_queue, put_on_initiation_queue
from mqwire import constants as c

FIRST, EVERY, DEPTH = c.MQTT_FIRST, c.MQTT_EVERY, c.MQTT_DEPTH


class Situation:
    """A queue at the moment of an event. What the conditions ask for is looked up when they ask.

    Parameters: `rank` of the message that was put (see `mqlite.sql`); `arrived` how many rows it is, 0 without a put.
    """

    def __init__(self, engine: Engine, queue: LocalQueue, *, rank: int = 0, arrived: int = 0) -> None:
        self.engine = engine
        self.queue = queue
        self.local = queue.local
        self.rank = rank
        self.arrived = arrived

    @cached_property
    def served_elsewhere(self) -> bool:
        """Another queue manager of the group has this shared queue open for input (T04a)."""
        if not is_shared(self.local):
            return False
        return int(self.engine.store.one(sql.OPEN_COUNTS, (self.queue.number,))[0]) > self.open_for_input(self.queue)

    @property
    def held_exclusively(self) -> bool:
        """A queue manager of the group has this shared queue open for exclusive input (T04b)."""
        return is_shared(self.local) and self.engine.store.one(sql.OPEN_COUNTS, (self.queue.number,))[2] > 0

    @property
    def type(self) -> int:
        """TriggerType; for a shared queue that is served elsewhere FIRST, unless it is NONE (T04a)."""
        kind = int(str(self.local["TRIGTYPE"]))
        return FIRST if kind != c.MQTT_NONE and self.served_elsewhere else kind

    @property
    def lowest_rank(self) -> int:
        """The rank of a message whose priority is TriggerMsgPriority; of priority 0 if served elsewhere (T04a)."""
        return LOWEST - (0 if self.served_elsewhere else int(str(self.local["TRIGMPRI"])))

    @property
    def needed(self) -> int:
        """How many messages it takes."""
        return int(str(self.local["TRIGDPTH"])) if self.type == DEPTH else 1

    @cached_property
    def messages(self) -> int:
        """How many messages of sufficient priority are on the queue; no more than matter.

        Committed or not (T03a); on a shared queue only those committed (T03b).
        """
        counted = sql.QUALIFYING_COMMITTED if is_shared(self.local) else sql.QUALIFYING
        limit = self.needed + self.arrived
        return int(self.engine.store.one(counted, (self.queue.number, self.lowest_rank, limit))[0])

    @property
    def before(self) -> int:
        """How many there were before the message that was put."""
        return self.messages - self.arrived

    @property
    def interval_over(self) -> bool:
        """TriggerInterval has passed since the last trigger message for this queue; true if there was none (T11)."""
        since = milliseconds() - int(self.engine.store.one(sql.TRIGGERED_AT, (self.queue.number,))[0])
        return since >= int(str(self.engine.objects.manager()["TRIGINT"]))

    @property
    def process_named(self) -> bool:
        """ProcessName is not blank."""
        return bool(self.local["PROCESS"])

    @cached_property
    def process(self) -> Attributes | None:
        """The process definition that ProcessName names."""
        return self.engine.objects.get(Kind.PROCESS, str(self.local["PROCESS"])) if self.process_named else None

    @cached_property
    def initiation(self) -> LocalQueue | None:
        """The queue that InitiationQName names."""
        name = str(self.local["INITQ"])
        return self.engine.local_queue(name) if name else None

    def open_for_input(self, queue: LocalQueue) -> int:
        """OpenInputCount; of a shared queue that of this queue manager (T04b)."""
        counts = sql.OPEN_COUNTS_HERE if is_shared(queue.local) else sql.OPEN_COUNTS
        return int(self.engine.store.one(counts, (queue.number,))[0])


def initiation_queue_usable(now: Situation) -> bool:
    """Condition 7; a logically deleted queue is not found."""
    queue = now.initiation
    return (
        queue is not None
        and queue.local["GET"] == c.MQQA_GET_ALLOWED
        and queue.local["PUT"] == c.MQQA_PUT_ALLOWED
        and queue.local["USAGE"] == c.MQUS_NORMAL
    )


# fmt: off
CONDITIONS: dict[int, Callable[[Situation], bool]] = {
    # The message has a priority of at least TriggerMsgPriority.
    2: lambda now: now.rank <= now.lowest_rank,
    # Of such messages there were before: none (FIRST), any number (EVERY), TriggerDepth - 1 (DEPTH).
    3: lambda now: now.type == EVERY or now.before < now.needed <= now.messages,
    # FIRST, DEPTH: no program has the queue open for removing messages. No member has a shared one for itself alone.
    4: lambda now: not now.held_exclusively and (now.type == EVERY or not now.open_for_input(now.queue)),
    # z/OS: gets from the queue are not inhibited.
    5: lambda now: now.engine.manager.platform != "zos" or now.local["GET"] == c.MQQA_GET_ALLOWED,
    # The process that is named has been defined; or none is named, and the queue is a transmission queue.
    6: lambda now: now.process is not None if now.process_named else now.local["USAGE"] == c.MQUS_TRANSMISSION,
    # The initiation queue is there, neither puts nor gets are inhibited, and it is no transmission queue.
    7: initiation_queue_usable,
    # A trigger monitor has the initiation queue open for removing messages.
    8: lambda now: now.initiation is not None and now.open_for_input(now.initiation) > 0,
    # TriggerControl is on.
    9: lambda now: now.local["TRIGGER"] == c.MQTC_ON,
    # TriggerType is not NONE.
    10: lambda now: now.type != c.MQTT_NONE,
    # There were as many before already; with FIRST the last trigger message is TriggerInterval ago.
    11: lambda now: now.before >= now.needed and (now.type == DEPTH or now.interval_over),
    # There is at least one message (FIRST, EVERY), or TriggerDepth (DEPTH).
    12: lambda now: now.messages >= now.needed,
}
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that may be a trigger event: for queues of which trigger types, if which conditions hold."""

    types: frozenset[int]
    conditions: tuple[int, ...]

    def completes(self, now: Situation) -> bool:
        """Whether a trigger message is to be written."""
        return now.type in self.types and all(CONDITIONS[number](now) for number in self.conditions)


ALL_TYPES, NOT_EVERY = frozenset({FIRST, EVERY, DEPTH}), frozenset({FIRST, DEPTH})
PUT = Event(types=ALL_TYPES, conditions=(2, 3, 4, 5, 6, 7, 8, 9, 10))
PUT_AGAIN = Event(types=NOT_EVERY, conditions=(2, 11, 4, 5, 6, 7, 8, 9, 10))
CLOSED = Event(types=NOT_EVERY, conditions=(12, 6, 7, 8, 9, 10))
SWITCHED_ON = Event(types=ALL_TYPES, conditions=(12, 4, 5, 6, 7, 9, 10))
INITIATION_PUTS_ALLOWED = Event(types=ALL_TYPES, conditions=(12, 4, 5, 6, 7, 8, 9, 10))
GETS_ALLOWED = Event(types=ALL_TYPES, conditions=(12, 4, 6, 7, 8, 9, 10))
MONITOR_OPENED = Event(types=ALL_TYPES, conditions=(12, 4, 5, 6, 7, 9, 10))
EVENTS = {
    "1": PUT, "11": PUT_AGAIN, "12": CLOSED, "13": SWITCHED_ON, "13.1": INITIATION_PUTS_ALLOWED,
    "13.2": GETS_ALLOWED, "13.3": MONITOR_OPENED,
}  # fmt: skip


def message_put(
    engine: Engine, queue: LocalQueue, *, rank: int, owner: int, arrived: int = 1, last: bool = False
) -> tuple[Placed, ...]:
    """Events 1 and 11, in the transaction of the put. Returns the trigger message, to be announced as the put is.

    Parameters: `owner` the connection in whose unit of work the put is, 0 for none; `arrived` how many segments the
    queue manager has made of the message (T16); `last` whether a trigger message that its initiation queue does not
    take is discarded at once.
    """
    if not is_shared(queue.local):
        return _consider(Situation(engine, queue, rank=rank, arrived=arrived), (PUT, PUT_AGAIN), owner=owner, last=last)
    if owner:
        return ()  # its event is the commit
    return _consider_everywhere(engine, queue, (PUT, PUT_AGAIN), rank=rank, arrived=arrived, last=last)


def committed(engine: Engine, number: int, owner: int) -> tuple[int, tuple[Placed, ...]]:
    """Make a unit of work's puts on a queue available, in their order: events 1 and 11 of a shared queue (T03b).

    Parameters: `number` of the queue; `owner` the connection whose unit of work it is.
    Returns how many messages there were, and the trigger messages.
    """
    row = engine.store.one(sql.QUEUE_BY_ID, (number,))
    queue = engine.local_queue(row[0]) if row else None
    if queue is None or not is_shared(queue.local) or not queue.local["TRIGGER"]:
        return engine.store.execute(sql.COMMIT_PUTS, (number, owner)).rowcount, ()
    rows = engine.store.all(sql.PUTS_OF, (number, owner))
    written: tuple[Placed, ...] = ()
    for seq, rank in rows:
        engine.store.execute(sql.COMMIT_PUT, (seq,))
        queue = engine.local_queue(queue.name) or queue  # DEPTH switches its triggering off
        written += message_put(engine, queue, rank=rank, owner=0)
    return len(rows), written


def closed(engine: Engine, queues: Iterable[int]) -> tuple[Placed, ...]:
    """Event 12: these queues were closed by one who had them open for input, or who died (T12a)."""
    written: tuple[Placed, ...] = ()
    for number in sorted(queues):
        row = engine.store.one(sql.QUEUE_BY_ID, (number,))
        queue = engine.local_queue(row[0]) if row else None
        if queue is None or queue.local["TRIGGER"] != c.MQTC_ON:
            continue
        if is_shared(queue.local) and not engine.store.one(sql.OPEN_COUNTS, (number,))[0]:
            written += _consider_everywhere(engine, queue, (CLOSED,))
        elif not (now := Situation(engine, queue)).open_for_input(queue):
            written += _consider(now, (CLOSED,))
    return written


def altered(engine: Engine, name: str, before: Attributes, after: Attributes) -> tuple[Placed, ...]:
    """Events 13, 13.1 and 13.2: a local queue has other attributes now, by MQSET or a command."""
    events = [event for event, completes in ALTERATIONS if completes(before, after)]
    queue = engine.local_queue(name) if events else None
    written = _consider_everywhere(engine, queue, events) if queue else ()
    if before["PUT"] != after["PUT"] == c.MQQA_PUT_ALLOWED:
        written += _consider_all(engine, name, INITIATION_PUTS_ALLOWED, everywhere=is_shared(after))
    return written


def switched_on(before: Attributes, after: Attributes) -> bool:
    """TriggerControl is on now, or was and what decides about a trigger event is other than it was."""
    if after["TRIGGER"] != c.MQTC_ON:
        return False
    deciding = ["TRIGGER", "TRIGTYPE", "TRIGMPRI"] + ["TRIGDPTH"] * (after["TRIGTYPE"] == DEPTH)
    return any(before[keyword] != after[keyword] for keyword in deciding)


ALTERATIONS: tuple[tuple[Event, Callable[[Attributes, Attributes], bool]], ...] = (
    (SWITCHED_ON, switched_on),
    (GETS_ALLOWED, lambda before, after: before["GET"] != after["GET"] == c.MQQA_GET_ALLOWED),
)


def opened(engine: Engine, name: str) -> tuple[Placed, ...]:
    """Event 13.3: a queue that nobody had open for input was opened so."""
    return _consider_all(engine, name, MONITOR_OPENED)


def restarted(store: Store) -> None:
    """The queue manager has started: the timers of TriggerInterval with it (T11).

    That is when its service starts, and when an application connects while no other is connected.
    """
    store.execute(sql.FORGET_TRIGGERED)


def _consider_all(engine: Engine, initiation: str, event: Event, *, everywhere: bool = False) -> tuple[Placed, ...]:
    """An event of an initiation queue: one for each queue that it is for; `everywhere` in the queue-sharing group."""
    written: tuple[Placed, ...] = ()
    seen = set[int]()
    for member in engine.members() if everywhere else (engine,):
        with member.acting():
            for (name,) in engine.store.all(sql.TRIGGERED_BY, (initiation,)):
                queue = member.local_queue(name)
                if queue is None or queue.number in seen:
                    continue
                seen.add(queue.number)
                if everywhere:
                    written += _consider_everywhere(member, queue, (event,))
                else:
                    written += _consider(Situation(member, queue), (event,))
    return written


def _consider_everywhere(
    engine: Engine, queue: LocalQueue, events: Iterable[Event], *, rank: int = 0, arrived: int = 0, last: bool = False
) -> tuple[Placed, ...]:
    """An event of a queue: for a shared one the same for every member, whose trigger messages do not affect each other.

    Trigger messages for one shared initiation queue are one, from the first member that would write it.
    """
    completed: list[Situation] = []
    for member in engine.members() if is_shared(queue.local) else (engine,):
        with member.acting():
            now = Situation(member, queue, rank=rank, arrived=arrived)
            initiation = now.initiation
            if initiation is None or any(other.initiation == initiation for other in completed):
                continue
            if any(event.completes(now) for event in events):
                completed.append(now)
    written: tuple[Placed, ...] = ()
    for now in completed:
        with now.engine.acting():
            written += _write_for(now, last=last)
    return written


def _consider(now: Situation, events: Iterable[Event], *, owner: int = 0, last: bool = False) -> tuple[Placed, ...]:
    """Write one trigger message if one of these events has completed the conditions."""
    return _write_for(now, owner=owner, last=last) if any(event.completes(now) for event in events) else ()


def _write_for(now: Situation, *, owner: int = 0, last: bool = False) -> tuple[Placed, ...]:
    if now.initiation is None:
        return ()
    message = TriggerMessage(
        queue=now.queue, initiation=now.initiation, process=now.process, owner=owner,
        stays=bool(owner) and now.type != EVERY,
    )  # fmt: skip
    written = _write(now.engine, message, last=last)
    now.engine.store.execute(sql.TRIGGERED_NOW, (milliseconds(), now.queue.number))
    if now.type == DEPTH:
        now.engine.objects.alter(Kind.QLOCAL, now.queue.name, {"TRIGGER": c.MQTC_OFF})
    return written


def _write(engine: Engine, message: TriggerMessage, *, last: bool) -> tuple[Placed, ...]:
    """On the initiation queue, else on the dead-letter queue, which may be triggered by that itself."""
    try:
        return (put_on_initiation_queue(engine, message),)
    except Failure as failure:
        dead = None if last else put_on_dead_letter_queue(engine, message, failure.reason)
    if dead is None:
        return ()
    queue, placed = dead
    rank = rank_of(queue.local, int(str(message.initiation.local["DEFPRTY"])))
    return (placed, *message_put(engine, queue, rank=rank, owner=message.owner, last=True))


def milliseconds() -> int:
    """Now, since 1970."""
    return int(time.time() * 1000)
